//! The rows of a table, typed, with an index over their first inputs.

use super::shapes::{Tolerance, blocks_of, restored, strip};
use crate::columns::{
    COMMUNICATION_DURATION, EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, MEASURED_DURATION, OUTPUT_SHAPES,
    OUTPUT_TYPES, PROFILED_DURATION,
};
use crate::duration::{is_valid, number};
use crate::error::Error;
use crate::slots::unquoted;
use crate::table::{Scan, ScannedRow};
use perfdb_pycompat::number::parse_float;
use perfdb_pycompat::text::trim;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// One row of a compute table. Slots of absent arguments are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelRow {
    /// Line in the file.
    pub line: u64,
    /// Shapes of the arguments, as they stand in the file.
    pub inputs: Vec<Vec<i64>>,
    /// Data types of the arguments, in the profiler's spelling.
    pub input_types: Arc<[String]>,
    /// Formats of the arguments.
    pub input_formats: Arc<[String]>,
    /// Shapes of the results.
    pub outputs: Vec<Vec<i64>>,
    /// Data types of the results.
    pub output_types: Arc<[String]>,
    /// The duration that counts: measured before profiled; `None` if neither is valid.
    pub duration_us: Option<f64>,
    /// Which duration column it comes from, 0 for the best.
    pub(super) column: usize,
    /// The expert-parallel size, where the table has one.
    pub ep_size: Option<i64>,
    /// Runtime values of an attention row.
    pub(super) runtime: Runtime,
}

/// Runtime values; `Some(None)` is an empty or unusable cell, `None` a column that is not there.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Runtime {
    pub(super) avg_seq_len: Option<f64>,
    pub(super) kv_heads: Option<Option<i64>>,
    pub(super) sparse_mode: Option<Option<i64>>,
    pub(super) layout: Option<Arc<str>>,
}

/// The rows of one kernel type that can answer. What is needed to find some of them at once is made when it is first asked for.
#[derive(Debug)]
pub struct KernelRows {
    pub(super) kernel_type: String,
    pub(super) rows: Vec<KernelRow>,
    pub(super) has_ep_size: bool,
    inputs: OnceLock<Index>,
    outputs: OnceLock<Index>,
    attention: OnceLock<Index>,
}

/// Rows by what they have in common with every query that they can answer.
type Index = FxHashMap<Vec<i64>, Vec<u32>>;

fn add(index: &mut Index, key: Vec<i64>, row: usize) {
    let row = u32::try_from(row).unwrap_or(u32::MAX);
    let rows = index.entry(key).or_default();
    if rows.last() != Some(&row) {
        rows.push(row);
    }
}

impl KernelRows {
    /// Reads a table. Rows whose shapes cannot be read or that have no valid duration are passed over.
    pub(super) fn read(path: &Path, kernel_type: &str) -> Result<KernelRows, Error> {
        let bytes = std::fs::read(path).map_err(|source| Error::io(path, source))?;
        let mut scan = Scan::new(path, &bytes, &WANTED)?;
        let mut reader = RowReader::of(&scan);
        let mut rows = Vec::new();
        while let Some(row) = scan.next_row()? {
            rows.extend(reader.read(row));
        }
        Ok(KernelRows {
            kernel_type: kernel_type.to_owned(),
            rows,
            has_ep_size: scan.has(FIRST_SINGLE),
            inputs: OnceLock::new(),
            outputs: OnceLock::new(),
            attention: OnceLock::new(),
        })
    }

    /// Makes the indexes that queries of this kernel type need.
    pub(super) fn index(&self) {
        if self.rows.iter().any(|row| row.runtime.avg_seq_len.is_some()) {
            self.attention.get_or_init(|| self.index_attention());
        }
        self.inputs.get_or_init(|| self.index_inputs(Tolerance::of(&self.kernel_type)));
    }

    /// The rows in file order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &KernelRow> {
        self.rows.iter()
    }

    /// Rows whose first inputs could fit, in file order.
    pub(super) fn candidates(&self, first: &[i64], second: Option<&[i64]>) -> Vec<u32> {
        let tolerance = Tolerance::of(&self.kernel_type);
        let index = self.inputs.get_or_init(|| self.index_inputs(tolerance));
        let mut found: Vec<u32> = Vec::new();
        // Keys leave out one leading 1 of the second input; of a query it may be two.
        let stripped = second.map(strip).filter(|second| strip(second).len() < second.len());
        for form in tolerance.forms(first) {
            for second in [second].into_iter().chain(stripped.map(Some)) {
                found.extend(index.get(&key(tolerance, &form, second)).into_iter().flatten());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn index_inputs(&self, tolerance: Tolerance) -> Index {
        let mut index = Index::default();
        for (at, row) in self.rows.iter().enumerate() {
            let Some(first) = row.input(0) else { continue };
            let second = row.input(1);
            add(&mut index, key(tolerance, &first, second.as_deref()), at);
            if strip(&first).len() < first.len() {
                add(&mut index, key(tolerance, strip(&first), second.as_deref()), at);
            }
        }
        index
    }

    /// Rows whose first output could fit one of these forms, in file order.
    pub(super) fn output_candidates(&self, forms: &[&[i64]]) -> Vec<u32> {
        let index = self.outputs.get_or_init(|| {
            let mut index = Index::default();
            for (at, first) in self.rows.iter().enumerate().filter_map(|(at, row)| Some((at, row.outputs.first()?))) {
                for form in [first.as_slice(), strip(first)] {
                    add(&mut index, blocks_of(form).collect(), at);
                }
            }
            index
        });
        let keys = forms.iter().map(|form| blocks_of(form).collect::<Vec<_>>());
        let mut found: Vec<u32> = keys.filter_map(|key| index.get(&key)).flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Attention rows with so many tokens, rounded up, and so many numbers per token, whose average length lies in a range. By length, those of
    /// one length in file order.
    pub(super) fn attention_candidates(
        &self,
        tokens: i64,
        hidden: i64,
        shortest: f64,
        longest: f64,
    ) -> impl Iterator<Item = &KernelRow> {
        let index = self.attention.get_or_init(|| self.index_attention());
        let rows = index.get(&attention_key(tokens, hidden)).map(Vec::as_slice).unwrap_or_default();
        let length = |row: u32| self.rows[row as usize].runtime.avg_seq_len.unwrap_or(f64::INFINITY);
        let begin = rows.partition_point(|&row| length(row) < shortest);
        let end = rows.partition_point(|&row| length(row) <= longest);
        rows.get(begin..end).unwrap_or_default().iter().map(|&row| &self.rows[row as usize])
    }

    fn index_attention(&self) -> Index {
        let length = |(_, row): &(usize, &KernelRow)| row.runtime.avg_seq_len.unwrap_or(f64::INFINITY);
        let mut rows: Vec<(usize, &KernelRow)> =
            self.rows.iter().enumerate().filter(|(_, row)| row.runtime.avg_seq_len.is_some()).collect();
        rows.sort_by(|a, b| length(a).total_cmp(&length(b)));
        let mut index = Index::default();
        for (at, row) in rows {
            if let Some((tokens, hidden)) = row.inputs.first().and_then(|shape| tokens_and_hidden(shape)) {
                add(&mut index, attention_key(tokens, hidden), at);
            }
        }
        index
    }
}

fn attention_key(tokens: i64, hidden: i64) -> Vec<i64> {
    blocks_of(&[tokens]).chain([hidden]).collect()
}

/// Tokens and numbers per token of an attention query in any of its forms.
fn tokens_and_hidden(shape: &[i64]) -> Option<(i64, i64)> {
    match *shape {
        [tokens, heads, size] | [tokens, heads, 1, size] => Some((tokens, heads.saturating_mul(size))),
        [tokens, hidden] => Some((tokens, hidden)),
        _ => None,
    }
}

/// What a row and every query that it fits have in common: the blocks of the first input and, for matrix products, those of the second in
/// either order.
fn key(tolerance: Tolerance, first: &[i64], second: Option<&[i64]>) -> Vec<i64> {
    let mut key: Vec<i64> = blocks_of(first).collect();
    if tolerance.is_matmul {
        let mut blocks: Vec<i64> = second.map(strip).into_iter().flat_map(blocks_of).collect();
        blocks.sort_unstable();
        key.push(-1);
        key.extend(blocks);
    }
    key
}

impl KernelRow {
    /// The shape of an argument as a matrix, whatever its format.
    pub(super) fn input(&self, at: usize) -> Option<Cow<'_, [i64]>> {
        self.inputs.get(at).map(|shape| restored(shape, self.input_formats.get(at).map(String::as_str)))
    }
}

/// The columns that are read, in the order in which the code below counts them: durations, the best first, and runtime columns.
const WANTED: [&str; 14] = [
    INPUT_SHAPES,
    INPUT_TYPES,
    INPUT_FORMATS,
    OUTPUT_SHAPES,
    OUTPUT_TYPES,
    MEASURED_DURATION,
    PROFILED_DURATION,
    COMMUNICATION_DURATION,
    EP_SIZE,
    "Runtime avg_seq_len",
    "avg_seq_len",
    "Runtime num_key_value_heads",
    "Runtime sparse_mode",
    "Runtime input_layout",
];
const FIRST_DURATION: usize = 5;
const DURATIONS: usize = 3;
const FIRST_SINGLE: usize = FIRST_DURATION + DURATIONS;
const FIRST_RUNTIME: usize = FIRST_SINGLE + 1;

/// Makes rows of cells. Types and formats repeat from row to row, so that equal cells share their texts.
struct RowReader {
    has: [bool; WANTED.len()],
    texts: FxHashMap<String, Arc<[String]>>,
    layouts: FxHashMap<String, Arc<str>>,
}

impl RowReader {
    fn of(scan: &Scan<'_>) -> Self {
        let has = std::array::from_fn(|wanted| scan.has(wanted));
        RowReader { has, texts: FxHashMap::default(), layouts: FxHashMap::default() }
    }

    /// A row, if its shapes can be read and it has a valid duration.
    fn read(&mut self, row: ScannedRow<'_>) -> Option<KernelRow> {
        let valid = |column: usize| {
            let duration_us = number(&row.cell(FIRST_DURATION + column));
            is_valid(duration_us).then_some((column, duration_us))
        };
        let (column, duration_us) = (0..DURATIONS).find_map(valid)?;
        Some(KernelRow {
            line: row.line,
            inputs: shapes(&row.cell(0))?,
            input_types: self.texts(&row.cell(1)),
            input_formats: self.texts(&row.cell(2)),
            outputs: shapes(&row.cell(3)).unwrap_or_default(),
            output_types: self.texts(&row.cell(4)),
            duration_us: Some(duration_us),
            column,
            ep_size: integer(&row.cell(FIRST_SINGLE)),
            runtime: self.runtime(row),
        })
    }

    fn texts(&mut self, cell: &str) -> Arc<[String]> {
        if let Some(known) = self.texts.get(cell) {
            return known.clone();
        }
        let texts: Arc<[String]> = slots(cell).map(str::to_owned).collect();
        self.texts.insert(cell.to_owned(), texts.clone());
        texts
    }

    fn runtime(&mut self, row: ScannedRow<'_>) -> Runtime {
        let [length, old_length, kv_heads, sparse_mode, layout]: [usize; 5] =
            std::array::from_fn(|at| FIRST_RUNTIME + at);
        let length = if self.has[length] { length } else { old_length };
        let whole = |column: usize| self.has[column].then(|| integer(&row.cell(column)));
        Runtime {
            avg_seq_len: parse_float(&row.cell(length)).filter(|length| length.is_finite() && *length >= 0.0),
            kv_heads: whole(kv_heads),
            sparse_mode: whole(sparse_mode),
            layout: self.has[layout].then(|| {
                let cell = row.cell(layout);
                let known = self.layouts.get(trim(&cell)).cloned();
                known.unwrap_or_else(|| {
                    self.layouts.insert(trim(&cell).to_owned(), trim(&cell).into());
                    trim(&cell).into()
                })
            }),
        }
    }
}

/// A whole number, also one written with decimals.
fn integer(cell: &str) -> Option<i64> {
    let value = parse_float(cell)?;
    (value.fract() == 0.0 && value.abs() < 9e15).then_some(value as i64)
}

/// The shapes of a cell; `None` if there is none or one cannot be read.
fn shapes(cell: &str) -> Option<Vec<Vec<i64>>> {
    let shape = |slot: &str| {
        slot.split(',').map(|dimension| crate::slots::integer(trim(dimension))).collect::<Option<Vec<i64>>>()
    };
    slots(cell).map(shape).collect::<Option<Vec<_>>>().filter(|shapes| !shapes.is_empty())
}

fn slots(cell: &str) -> impl Iterator<Item = &str> {
    unquoted(cell).split(';').map(trim).filter(|slot| !slot.is_empty())
}
