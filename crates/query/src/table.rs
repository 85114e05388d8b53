//! A table, typed, and the indexes that find the rows that could fit.

pub(crate) mod collective;
pub(crate) mod columns;
pub(crate) mod index;
pub(crate) mod policy;
pub(crate) mod pool;
mod reader;
mod row;

pub use row::KernelRow;

use crate::dtype::{exact_name, is_same_name, one_spelling};
use crate::interpolate::generic_sizes::Plans;
use crate::interpolate::kept::Kept;
use crate::interpolate::points::{IndexName, PointIndex};
use crate::operands::Operand;
use crate::search::type_fit;
use crate::semantics::{ReaderKind, Rules};
use crate::shapes::Tolerance;
use columns::{Column, TextColumns};
use index::{RowIndex, ShapeMatch, block, key, key_of_row};
use perfdb_store::dtype::DType;
use perfdb_store::registry::{KernelClass, TableType};
use policy::KernelPolicy;
use pool::{ListAt, ShapePool};
use rustc_hash::{FxHashMap, FxHashSet};
use std::iter::once;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The rows of one kernel type. What is needed to find some of them at once is made when it is first asked for.
#[derive(Debug)]
pub struct KernelRows {
    pub(crate) kernel_type: Arc<str>,
    path: Arc<Path>,
    pub(crate) policy: KernelPolicy,
    kind: TableType,
    /// Of each reader.
    tolerances: [Tolerance; 3],
    /// Types of inputs, each in its one spelling.
    types: Vec<Box<str>>,
    content: Content,
    /// Rows that are left out, by number.
    left_out: FxHashSet<u32>,
    by_inputs: [OnceLock<RowIndex>; 2],
    /// By the first 0, 1, 2, … inputs.
    by_leading_inputs: Box<[[OnceLock<RowIndex>; 2]]>,
    by_output: OnceLock<RowIndex>,
    by_attention: OnceLock<FxHashMap<(i64, i64), Vec<u32>>>,
    pub(crate) points: Kept<IndexName, PointIndex>,
    pub(crate) sizes: Kept<Option<usize>, Plans>,
}

/// What a table holds.
#[derive(Debug, Clone)]
struct Content {
    /// Not a number where the row only serves interpolation.
    durations_us: Vec<f64>,
    records: Vec<Record>,
    shapes: ShapePool,
    /// The inputs with those in the fractal format as matrices, in tables where any input has that format.
    matrices: Vec<ListAt>,
    texts: Vec<Texts>,
    columns: TextColumns,
    has_input_shapes: bool,
    /// Durations for interpolation where they are not the ones that exact search takes.
    point_durations: FxHashMap<u32, f64>,
    /// Durations that the core envelope replaces.
    envelopes: FxHashMap<u32, f64>,
    /// Standard deviations of durations over their means, not a number where they are not known; empty where the table does not tell.
    spreads: Vec<f32>,
    /// Lines of rows without a valid duration, and whether the first duration they have is zero.
    without_duration: Vec<(u32, bool)>,
}

impl Content {
    /// The types of inputs, each in its one spelling.
    fn types(&self) -> Vec<Box<str>> {
        let mut types: Vec<Box<str>> = Vec::new();
        for name in self.texts.iter().flat_map(|texts| &texts.input_types) {
            let name = one_spelling(name);
            if !types.iter().any(|known| **known == *name) {
                types.push(name.into());
            }
        }
        types
    }
}

/// Types and formats, which repeat from row to row: the slots of each cell.
#[derive(Debug, Clone, Default, PartialEq)]
struct Texts {
    input_types: Box<[Box<str>]>,
    input_formats: Box<[Box<str>]>,
    output_types: Box<[Box<str>]>,
    output_formats: Box<[Box<str>]>,
    /// Whether an input is in the fractal format.
    has_fractal: bool,
}

/// A row: numbers, and where shapes and texts are.
#[derive(Debug, Clone)]
struct Record {
    inputs: ListAt,
    outputs: ListAt,
    line: u32,
    texts: u32,
    priority: u8,
    /// Whether the duration for interpolation is of the preferred column.
    is_preferred: bool,
    /// The number of the column that has the duration for interpolation.
    duration_column: u8,
}

/// Keys of a query: of its first input in every form that a kernel may give it.
pub(crate) type Keys = smallvec::SmallVec<[u64; 3]>;

impl KernelRows {
    fn new(kernel_type: Arc<str>, kind: TableType, path: Arc<Path>, policy: KernelPolicy, content: Content) -> Self {
        let most_inputs = content.records.iter().map(|record| content.shapes.list(record.inputs).len()).max();
        KernelRows {
            tolerances: [ReaderKind::Own, ReaderKind::Upstream, ReaderKind::Upstream2025]
                .map(|reader| Tolerance::of(&kernel_type, kind.class, reader)),
            types: content.types(),
            kind,
            kernel_type,
            path,
            policy,
            by_inputs: Default::default(),
            by_leading_inputs: (0..=most_inputs.unwrap_or(0)).map(|_| Default::default()).collect(),
            by_output: OnceLock::new(),
            by_attention: OnceLock::new(),
            points: Kept::default(),
            sizes: Kept::default(),
            left_out: FxHashSet::default(),
            content,
        }
    }

    /// The table as it would be without the rows of some lines.
    pub(crate) fn without(&self, lines: &FxHashSet<u32>) -> KernelRows {
        let mut content = self.content.clone();
        let mut left_out = FxHashSet::default();
        for (number, record) in (0..).zip(&content.records) {
            if lines.contains(&record.line) {
                left_out.insert(number);
                content.durations_us[number as usize] = f64::NAN;
            }
        }
        let (kernel_type, path, policy) = (self.kernel_type.clone(), self.path.clone(), self.policy.clone());
        KernelRows { left_out, ..KernelRows::new(kernel_type, self.kind.clone(), path, policy, content) }
    }

    /// The kernel type.
    pub fn kernel_type(&self) -> &str {
        &self.kernel_type
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The rows that can answer, in file order.
    pub fn iter(&self) -> impl Iterator<Item = KernelRow<'_>> {
        self.rows().filter(|row| row.is_measured())
    }

    /// All rows with a duration of any kind.
    pub(crate) fn rows(&self) -> impl Iterator<Item = KernelRow<'_>> {
        let is_known = |number: &u32| self.left_out.is_empty() || !self.left_out.contains(number);
        (0..self.content.records.len() as u32).filter(is_known).map(|number| self.row(number))
    }

    #[inline]
    pub(crate) fn row(&self, number: u32) -> KernelRow<'_> {
        KernelRow::new(self, number)
    }

    /// The row that starts on a line.
    pub(crate) fn at_line(&self, line: u32) -> Option<KernelRow<'_>> {
        let number = self.content.records.binary_search_by_key(&line, |record| record.line).ok()?;
        Some(self.row(number as u32))
    }

    /// What its kernel does, as the rules have it.
    #[inline]
    pub(crate) fn class(&self, rules: &Rules) -> KernelClass {
        rules.class_of(self.kind.class, &self.kernel_type)
    }

    /// Whether an input of any row is of a type.
    #[inline]
    pub(crate) fn has_type(&self, dtype: DType) -> bool {
        exact_name(dtype).is_some_and(|wanted| self.types.iter().any(|name| is_same_name(name, wanted)))
    }

    /// Whether the types of the operands, as they stand, fit those of any row.
    pub(crate) fn may_fit_types(&self, rules: &Rules, operands: &[Operand<'_>]) -> bool {
        let tolerance = self.tolerance(rules);
        self.content.texts.iter().any(|texts| {
            let types = &texts.input_types;
            let fits = |operand: &Operand<'_>, name: &str| {
                operand.dtype.is_some_and(|dtype| type_fit(rules, tolerance, dtype, name).is_some())
            };
            operands.len() <= types.len() && operands.iter().zip(types).all(|(operand, name)| fits(operand, name))
        })
    }

    /// The tokens that a query of attention sees at most; 0 for all.
    pub(crate) fn window(&self) -> f64 {
        self.kind.window.unwrap_or(0) as f64
    }

    #[inline]
    pub(crate) fn tolerance(&self, rules: &Rules) -> &Tolerance {
        &self.tolerances[rules.reader as usize]
    }

    /// Whether rows are found by their first input alone, which a kernel may flatten.
    #[inline]
    pub(crate) fn is_found_by_first(&self) -> bool {
        self.tolerances.iter().any(|tolerance| tolerance.flattens)
    }

    pub(crate) fn has(&self, column: Column) -> bool {
        self.content.columns.has(column)
    }

    pub(crate) fn has_input_shapes(&self) -> bool {
        self.content.has_input_shapes
    }

    /// Lines of rows without a valid duration, which do not count as rows, and whether the first duration they have is zero.
    pub(crate) fn without_duration(&self) -> &[(u32, bool)] {
        &self.content.without_duration
    }

    /// Makes the indexes that most queries of this kernel type need.
    pub(crate) fn index(&self) {
        if self.has(Column::AvgSeqLen) || self.has(Column::OldAvgSeqLen) {
            self.attention_index();
        }
        self.inputs_index(ShapeMatch::Same);
    }

    /// Rows of the case of this one, itself among them: of the same shapes, types, formats and runtime columns.
    pub(crate) fn repeats<'t>(&'t self, of: KernelRow<'t>) -> impl Iterator<Item = KernelRow<'t>> {
        let counted = if self.is_found_by_first() { 1 } else { usize::MAX };
        let same = self.inputs_index(ShapeMatch::Same).rows(key_of_row(ShapeMatch::Same, of.matrices(), counted));
        same.map(|number| self.row(number)).filter(move |row| row.is_case_of(of))
    }

    /// The index of the inputs, or of the first `count`; `None` if no row has this many.
    #[inline]
    pub(crate) fn input_index(&self, matching: ShapeMatch, count: Option<usize>) -> Option<&RowIndex> {
        match count {
            None => Some(self.inputs_index(matching)),
            Some(count) => self.leading_index(matching, count),
        }
    }

    fn inputs_index(&self, matching: ShapeMatch) -> &RowIndex {
        self.by_inputs[matching as usize].get_or_init(|| {
            let counted = if self.is_found_by_first() { 1 } else { usize::MAX };
            RowIndex::new(self.content.records.len(), |number| {
                let row = self.row(number);
                row.is_measured().then(|| key_of_row(matching, row.matrices(), counted))
            })
        })
    }

    fn leading_index(&self, matching: ShapeMatch, count: usize) -> Option<&RowIndex> {
        let slot = &self.by_leading_inputs.get(count)?[matching as usize];
        let counted = if self.is_found_by_first() { count.min(1) } else { count };
        Some(slot.get_or_init(|| {
            RowIndex::new(self.content.records.len(), |number| {
                let row = self.row(number);
                let inputs = row.matrices();
                (row.is_measured() && inputs.len() >= count).then(|| key_of_row(matching, inputs, counted))
            })
        }))
    }

    /// Rows whose first output could fit this shape, in file order.
    pub(crate) fn output_candidates(&self, shape: &[i64]) -> impl Iterator<Item = KernelRow<'_>> {
        let index = self.by_output.get_or_init(|| {
            RowIndex::new(self.content.records.len(), |number| {
                let row = self.row(number);
                let outputs = row.outputs();
                (row.is_measured() && !outputs.is_empty()).then(|| key_of_row(ShapeMatch::Padded, outputs, 1))
            })
        });
        index.rows(key(ShapeMatch::Padded, once(shape))).map(|number| self.row(number))
    }

    /// Attention rows with this many tokens, rounded up, and this many numbers per token, whose average length lies in a range. By length, those of
    /// one length in file order.
    pub(crate) fn attention_candidates(
        &self,
        tokens: i64,
        hidden: i64,
        shortest: i64,
        longest: i64,
    ) -> impl Iterator<Item = KernelRow<'_>> {
        let rows = self.attention_index().get(&(block(tokens), hidden)).map(Vec::as_slice).unwrap_or_default();
        let length = |&row: &u32| self.row(row).average_length().unwrap_or(i64::MAX);
        let begin = rows.partition_point(|row| length(row) < shortest);
        let end = rows.partition_point(|row| length(row) <= longest);
        rows.get(begin..end).unwrap_or_default().iter().map(|&number| self.row(number))
    }

    fn attention_index(&self) -> &FxHashMap<(i64, i64), Vec<u32>> {
        self.by_attention.get_or_init(|| {
            let usable = self.rows().filter(|row| row.is_measured() && row.average_length().is_some());
            let mut numbers: Vec<u32> = usable.map(KernelRow::number).collect();
            numbers.sort_by_key(|&number| self.row(number).average_length());
            let mut index: FxHashMap<(i64, i64), Vec<u32>> = FxHashMap::default();
            for number in numbers {
                if let Some((tokens, hidden)) =
                    self.row(number).inputs().get(0).and_then(|shape| tokens_and_hidden(&shape))
                {
                    index.entry((block(tokens), hidden)).or_default().push(number);
                }
            }
            index
        })
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
