//! The runtime columns of a table, and how their cells are read.

use perfdb_pycompat::number::parse_float;
use perfdb_pycompat::text::trim;
use perfdb_store::slots::integer;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Cells that count as empty, besides those without any text.
const EMPTY_WORDS: [&str; 18] = [
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
    "NaN", "None", "n/a", "nan", "null",
];

/// Whether a cell counts as empty. One of blanks does not.
#[inline]
pub(crate) fn is_empty_cell(cell: &str) -> bool {
    let Some(first) = cell.bytes().next() else { return true };
    matches!(first, b'#' | b'-' | b'1' | b'<' | b'N' | b'n') && cell.len() <= 8 && EMPTY_WORDS.contains(&cell)
}

macro_rules! columns {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// A column beside shapes and durations that queries look at.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Column { $($name),* }

        impl Column {
            pub(crate) const ALL: &[Column] = &[$(Column::$name),*];
            pub(crate) const NAMES: &[&str] = &[$($text),*];

            /// As it stands in the header.
            pub(crate) fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }
    };
}

columns! {
    EpSize = "EP Size",
    AvgSeqLen = "Runtime avg_seq_len",
    OldAvgSeqLen = "avg_seq_len",
    KvHeads = "Runtime num_key_value_heads",
    SparseMode = "Runtime sparse_mode",
    InputLayout = "Runtime input_layout",
    TopK = "Runtime topk",
    BlockSize = "Runtime block_size",
    Phase = "Runtime phase",
    QueryLengths = "Runtime actual_seq_lengths_values",
    KvLengths = "Runtime actual_seq_lengths_kv_values",
    ValidBlocks = "Runtime block_table_valid_blocks",
    NumHeads = "Runtime num_heads",
    CacheLayout = "Runtime cache_layout",
    KvCacheMode = "Runtime kv_cache_mode",
    SparseBlockSize = "Runtime sparse_block_size",
    SparsePattern = "Runtime sparse_indices_pattern",
    SparseValidCount = "Runtime sparse_indices_valid_count",
    BatchSize = "Runtime batch_size",
    QuantMode = "Runtime quant_mode",
    Completeness = "Runtime metadata_completeness",
    NumTokens = "Runtime num_tokens",
    HiddenSize = "Runtime hidden_size",
    LocalNumHeads = "Runtime local_num_heads",
    QLoraRank = "Runtime q_lora_rank",
    KvLoraRank = "Runtime kv_lora_rank",
    QkNopeHeadDim = "Runtime qk_nope_head_dim",
    QkRopeHeadDim = "Runtime qk_rope_head_dim",
    CacheMode = "Runtime cache_mode",
    WeightFormat = "Runtime weight_format",
    EnableInnerOut = "Runtime enable_inner_out",
    WeightQuantized = "Runtime weight_quantized",
    DurationSource = "Duration Source",
}

impl Column {
    /// The sizes of the kernel that prepares latent attention.
    pub(crate) const LATENT_SIZES: [Column; 7] = [
        Column::NumTokens,
        Column::HiddenSize,
        Column::LocalNumHeads,
        Column::QLoraRank,
        Column::KvLoraRank,
        Column::QkNopeHeadDim,
        Column::QkRopeHeadDim,
    ];
}

/// The texts of the columns that a table has. Equal texts are kept once.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextColumns {
    columns: Vec<Option<TextColumn>>,
    texts: Vec<Box<str>>,
    by_text: FxHashMap<Box<str>, u32>,
}

#[derive(Debug, Clone, Default)]
struct TextColumn {
    /// Place of the text plus one; 0 for an empty cell.
    cells: Vec<u32>,
    /// Whether every cell that is not empty is a number.
    is_numeric: bool,
    /// Whether there is an empty cell or one with a fraction.
    has_float: bool,
}

impl TextColumns {
    /// For a table that has these of [`Column::ALL`].
    pub(crate) fn new(has: impl Iterator<Item = bool>) -> Self {
        let column = |has: bool| has.then(|| TextColumn { is_numeric: true, ..TextColumn::default() });
        TextColumns { columns: has.map(column).collect(), ..TextColumns::default() }
    }

    pub(crate) fn has(&self, column: Column) -> bool {
        self.columns.get(column as usize).is_some_and(Option::is_some)
    }

    /// Adds the cell of the next row.
    pub(crate) fn push(&mut self, column: Column, cell: &str) {
        let Some(Some(own)) = self.columns.get_mut(column as usize) else { return };
        if is_empty_cell(cell) {
            own.has_float = true;
            return own.cells.push(0);
        }
        let known = self.by_text.get(cell).copied();
        let at = known.unwrap_or_else(|| {
            self.texts.push(cell.into());
            let at = self.texts.len() as u32;
            self.by_text.insert(cell.into(), at);
            at
        });
        own.cells.push(at);
        own.is_numeric = own.is_numeric && parse_float(cell).is_some();
        own.has_float |= integer(trim(cell)).is_none();
    }

    /// No more rows follow.
    pub(crate) fn close(&mut self) {
        self.by_text = FxHashMap::default();
        self.texts.shrink_to_fit();
        self.columns.iter_mut().flatten().for_each(|column| column.cells.shrink_to_fit());
    }

    /// The cell of a row; `None` if it is empty or the table has no such column.
    #[inline]
    pub(crate) fn cell(&self, column: Column, row: u32) -> Option<&str> {
        let at = *self.columns.get(column as usize)?.as_ref()?.cells.get(row as usize)?;
        self.texts.get((at as usize).checked_sub(1)?).map(|text| &**text)
    }

    /// Whether two rows have the same cells.
    pub(crate) fn are_equal(&self, one: u32, other: u32) -> bool {
        self.columns.iter().flatten().all(|column| column.cells.get(one as usize) == column.cells.get(other as usize))
    }

    /// The cell cut to an integer; `None` if it is empty or no number.
    pub(crate) fn cut(&self, column: Column, row: u32) -> Option<i64> {
        number(self.cell(column, row)?).map(|number| number as i64)
    }

    /// The cell as an integer; `None` if it is empty, no number or has a fraction.
    pub(crate) fn whole(&self, column: Column, row: u32) -> Option<i64> {
        number(self.cell(column, row)?).filter(|number| number.fract() == 0.0).map(|number| number as i64)
    }

    /// The cell as a text, as the original reads it again where `float_texts`: a number of a column with gaps or fractions has a fraction.
    pub(crate) fn text(&self, column: Column, row: u32, float_texts: bool) -> Option<Cow<'_, str>> {
        let cell = self.cell(column, row)?;
        let own = self.columns.get(column as usize)?.as_ref()?;
        if float_texts && own.is_numeric && own.has_float {
            return Some(Cow::Owned(format!("{:?}", parse_float(cell)?)));
        }
        Some(Cow::Borrowed(cell))
    }

    /// Whether the cell says so.
    pub(crate) fn flag(&self, column: Column, row: u32) -> bool {
        let cell = self.cell(column, row).map(trim);
        cell.is_some_and(|cell| cell.eq_ignore_ascii_case("true") || number(cell) == Some(1.0))
    }
}

/// Whether a cell is read as a number where one is looked for. An empty cell is none.
pub(crate) fn is_number(cell: &str) -> bool {
    number(cell).is_some()
}

/// A finite number of a size that integers hold exactly.
fn number(cell: &str) -> Option<f64> {
    parse_float(cell).filter(|number| number.abs() < 9e15)
}

/// Integers between `,` or `;`; `None` if one is none.
pub(crate) fn integers(cell: &str) -> Option<Vec<i64>> {
    let parts = cell.split([',', ';']).map(trim).filter(|part| !part.is_empty());
    parts.map(integer).collect()
}
