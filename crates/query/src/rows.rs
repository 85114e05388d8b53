//! The rows of a table, typed, and the indexes that find the ones that could fit.

use crate::arguments::Argument;
use crate::index::{RowIndex, block, key};
use crate::packed::{ListAt, ShapePool, Shapes};
use crate::shapes::Tolerance;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::fmt;
use std::iter::once;
use std::sync::{Arc, OnceLock};

/// The rows of one kernel type that can answer. What is needed to find some of them at once is made when it is first asked for.
#[derive(Debug)]
pub struct KernelRows {
    pub(crate) kernel_type: String,
    pub(crate) tolerance: Tolerance,
    pub(crate) content: Content,
    by_inputs: OnceLock<RowIndex>,
    /// By the first 0, 1, 2, … inputs.
    by_leading_inputs: Box<[OnceLock<RowIndex>]>,
    by_output: OnceLock<RowIndex>,
    /// By tokens and hidden size, those of a key sorted by average length.
    attention: OnceLock<FxHashMap<(i64, i64), Vec<usize>>>,
}

/// Keys of a query: of its first input in every form that a kernel may give it.
pub(crate) type Keys = SmallVec<[u64; 3]>;

/// What a table holds.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) records: Vec<Record>,
    /// What candidates are compared by, row by row. Apart from the rest, so that little memory is looked at where most of them do not fit.
    pub(crate) compared: Vec<Compared>,
    pub(crate) inputs: ShapePool,
    pub(crate) outputs: ShapePool,
    /// Types and formats, which repeat from row to row: the slots of each cell that occurs.
    pub(crate) texts: Vec<Box<[String]>>,
    /// Row by row, or none at all if the table has no such columns.
    pub(crate) runtimes: Vec<Runtime>,
    pub(crate) has_ep_size: bool,
}

/// Where the inputs of a row are in the [`Content`].
#[derive(Debug)]
pub(crate) struct Compared {
    /// The inputs with those in the fractal format as matrices.
    pub(crate) matrices: ListAt,
    /// Place of the texts.
    pub(crate) types: usize,
}

/// The rest of a row: numbers, and where shapes and texts are.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) line: u64,
    pub(crate) duration_us: f64,
    /// Which duration column it comes from, 0 for the best.
    pub(crate) column: usize,
    pub(crate) ep_size: Option<i64>,
    pub(crate) inputs: ListAt,
    pub(crate) outputs: ListAt,
    /// Places of the texts.
    pub(crate) input_formats: usize,
    pub(crate) output_types: usize,
}

/// Runtime values; `Some(None)` is an empty or unusable cell, `None` a column that is not there.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Runtime {
    pub(crate) avg_seq_len: Option<f64>,
    pub(crate) kv_heads: Option<Option<i64>>,
    pub(crate) sparse_mode: Option<Option<i64>>,
    pub(crate) layout: Option<Arc<str>>,
}

impl KernelRows {
    pub(crate) fn new(kernel_type: &str, content: Content) -> Self {
        let most_inputs = content.records.iter().map(|record| content.inputs.list(record.inputs).len()).max();
        KernelRows {
            kernel_type: kernel_type.to_owned(),
            tolerance: Tolerance::of(kernel_type),
            by_inputs: OnceLock::new(),
            by_leading_inputs: (0..=most_inputs.unwrap_or(0)).map(|_| OnceLock::new()).collect(),
            by_output: OnceLock::new(),
            attention: OnceLock::new(),
            content,
        }
    }

    /// Makes the indexes that most queries of this kernel type need.
    pub(crate) fn index(&self) {
        if self.content.runtimes.iter().any(|runtime| runtime.avg_seq_len.is_some()) {
            self.attention.get_or_init(|| self.index_attention());
        }
        self.by_inputs.get_or_init(|| self.index_inputs());
    }

    /// The rows in file order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = KernelRow<'_>> {
        (0..self.content.records.len()).map(|number| self.row(number))
    }

    pub(crate) fn row(&self, number: usize) -> KernelRow<'_> {
        KernelRow { content: &self.content, number }
    }

    /// Rows that could fit these arguments, if only so many of each are compared: those of some keys of an index.
    pub(crate) fn candidates(&self, arguments: &[Argument<'_>], count: Option<usize>) -> Option<(&RowIndex, Keys)> {
        if let Some(first) = arguments.first().filter(|_| self.tolerance.flattens) {
            let mut keys: Keys = smallvec![key(once(&*first.shape))];
            keys.extend(self.tolerance.matrices(&first.shape).map(|matrix| key(once(&matrix[..]))));
            return Some((self.inputs_index(), keys));
        }
        let keys = smallvec![key(arguments.iter().map(|argument| &*argument.shape))];
        // Rows with more inputs count, too, if the arguments are as many as are compared.
        match count == Some(arguments.len()) {
            true => Some((self.leading_index(arguments.len())?, keys)),
            false => Some((self.inputs_index(), keys)),
        }
    }

    fn inputs_index(&self) -> &RowIndex {
        self.by_inputs.get_or_init(|| self.index_inputs())
    }

    /// Kernels that flatten may do so with each input, which as a rule are one shape or follow from the first: it alone is the key of theirs.
    fn index_inputs(&self) -> RowIndex {
        let counted = if self.tolerance.flattens { 1 } else { usize::MAX };
        RowIndex::new(self.content.records.len(), |number| Some(key(self.row(number).matrices().iter().take(counted))))
    }

    /// `None` if no row has so many inputs.
    fn leading_index(&self, count: usize) -> Option<&RowIndex> {
        let key_of = |number| {
            let inputs = self.row(number).matrices();
            (inputs.len() >= count).then(|| key(inputs.iter().take(count)))
        };
        let slot = self.by_leading_inputs.get(count)?;
        Some(slot.get_or_init(|| RowIndex::new(self.content.records.len(), key_of)))
    }

    /// Rows whose first output could fit this shape, in file order.
    pub(crate) fn output_candidates(&self, shape: &[i64]) -> impl Iterator<Item = KernelRow<'_>> {
        let key_of = |number| self.row(number).outputs().iter().next().map(|shape| key(once(shape)));
        let index = self.by_output.get_or_init(|| RowIndex::new(self.content.records.len(), key_of));
        index.rows(key(once(shape))).map(|number| self.row(number))
    }

    /// Attention rows with so many tokens, rounded up, and so many numbers per token, whose average length lies in a range. By length, those of
    /// one length in file order.
    pub(crate) fn attention_candidates(
        &self,
        tokens: i64,
        hidden: i64,
        shortest: f64,
        longest: f64,
    ) -> impl Iterator<Item = KernelRow<'_>> {
        let index = self.attention.get_or_init(|| self.index_attention());
        let rows = index.get(&(block(tokens), hidden)).map(Vec::as_slice).unwrap_or_default();
        let begin = rows.partition_point(|&row| self.length(row) < shortest);
        let end = rows.partition_point(|&row| self.length(row) <= longest);
        rows.get(begin..end).unwrap_or_default().iter().map(|&number| self.row(number))
    }

    fn index_attention(&self) -> FxHashMap<(i64, i64), Vec<usize>> {
        let mut numbers: Vec<usize> = (0..self.content.runtimes.len()).collect();
        numbers.retain(|&number| self.content.runtimes[number].avg_seq_len.is_some());
        numbers.sort_by(|&a, &b| self.length(a).total_cmp(&self.length(b)));
        let mut index: FxHashMap<(i64, i64), Vec<usize>> = FxHashMap::default();
        for number in numbers {
            if let Some((tokens, hidden)) = self.row(number).inputs().iter().next().and_then(tokens_and_hidden) {
                index.entry((block(tokens), hidden)).or_default().push(number);
            }
        }
        index
    }

    fn length(&self, number: usize) -> f64 {
        self.content.runtimes.get(number).and_then(|runtime| runtime.avg_seq_len).unwrap_or(f64::INFINITY)
    }
}

/// Tokens and numbers per token of an attention query in any of its forms.
fn tokens_and_hidden(shape: &[i64]) -> Option<(i64, i64)> {
    match *shape {
        [tokens, heads, size] | [tokens, heads, 1, size] => Some((tokens, heads.saturating_mul(size))),
        [tokens, hidden] => Some((tokens, hidden)),
        _ => None,
    }
}

/// One row of a compute table. Slots of absent arguments are left out.
#[derive(Clone, Copy)]
pub struct KernelRow<'t> {
    content: &'t Content,
    number: usize,
}

impl<'t> KernelRow<'t> {
    fn record(self) -> &'t Record {
        &self.content.records[self.number]
    }

    fn compared(self) -> &'t Compared {
        &self.content.compared[self.number]
    }

    /// Line in the file.
    pub fn line(self) -> u64 {
        self.record().line
    }

    /// Shapes of the arguments, as they stand in the file.
    pub fn inputs(self) -> Shapes<'t> {
        self.content.inputs.list(self.record().inputs)
    }

    /// Data types of the arguments, in the profiler's spelling.
    pub fn input_types(self) -> &'t [String] {
        &self.content.texts[self.compared().types]
    }

    /// Formats of the arguments.
    pub fn input_formats(self) -> &'t [String] {
        &self.content.texts[self.record().input_formats]
    }

    /// Shapes of the results.
    pub fn outputs(self) -> Shapes<'t> {
        self.content.outputs.list(self.record().outputs)
    }

    /// Data types of the results.
    pub fn output_types(self) -> &'t [String] {
        &self.content.texts[self.record().output_types]
    }

    /// The duration that counts: measured before profiled.
    pub fn duration_us(self) -> f64 {
        self.record().duration_us
    }

    /// The expert-parallel size, where the table has one.
    pub fn ep_size(self) -> Option<i64> {
        self.record().ep_size
    }

    /// Its place among the rows that can answer.
    pub(crate) fn number(self) -> usize {
        self.number
    }

    /// Which duration column counts, 0 for the best.
    pub(crate) fn column(self) -> usize {
        self.record().column
    }

    /// Shapes of the arguments as matrices, whatever their format.
    pub(crate) fn matrices(self) -> Shapes<'t> {
        self.content.inputs.list(self.compared().matrices)
    }

    /// Runtime values of an attention row, where the table has any.
    pub(crate) fn runtime(self) -> Option<&'t Runtime> {
        self.content.runtimes.get(self.number)
    }
}

impl fmt::Debug for KernelRow<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KernelRow")
            .field("line", &self.line())
            .field("inputs", &self.inputs())
            .field("input_types", &self.input_types())
            .field("input_formats", &self.input_formats())
            .field("outputs", &self.outputs())
            .field("output_types", &self.output_types())
            .field("duration_us", &self.duration_us())
            .field("ep_size", &self.ep_size())
            .finish_non_exhaustive()
    }
}
