//! The rows of a table, typed, with an index over their first inputs.

use super::shapes::{Tolerance, blocks_of, restored, strip};
use crate::columns::{
    COMMUNICATION_DURATION, EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, MEASURED_DURATION, OUTPUT_SHAPES,
    OUTPUT_TYPES, PROFILED_DURATION,
};
use crate::duration::{is_valid, number};
use crate::error::Error;
use crate::slots::unquoted;
use crate::table::{ReadOptions, Row, Table};
use perfdb_pycompat::number::parse_float;
use perfdb_pycompat::text::trim;
use rustc_hash::FxHashMap;
use std::path::Path;

/// One row of a compute table. Slots of absent arguments are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelRow {
    /// Line in the file.
    pub line: u64,
    /// Shapes of the arguments, as they stand in the file.
    pub inputs: Vec<Vec<i64>>,
    /// Data types of the arguments, in the profiler's spelling.
    pub input_types: Vec<String>,
    /// Formats of the arguments.
    pub input_formats: Vec<String>,
    /// Shapes of the results.
    pub outputs: Vec<Vec<i64>>,
    /// Data types of the results.
    pub output_types: Vec<String>,
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
    pub(super) layout: Option<String>,
}

/// The rows of one kernel type that can answer.
#[derive(Debug)]
pub struct KernelRows {
    pub(super) kernel_type: String,
    pub(super) rows: Vec<KernelRow>,
    pub(super) has_ep_size: bool,
    index: FxHashMap<Vec<i64>, Vec<u32>>,
    /// Rows by the blocks of their first output.
    outputs: FxHashMap<Vec<i64>, Vec<u32>>,
}

impl KernelRows {
    /// Reads a table. Rows whose shapes cannot be read or that have no valid duration are passed over.
    pub(super) fn read(path: &Path, kernel_type: &str) -> Result<KernelRows, Error> {
        let table = Table::read(path, &ReadOptions::database())?;
        let rows: Vec<KernelRow> = KernelRow::all_of(&table).filter(|row| row.duration_us.is_some()).collect();
        let tolerance = Tolerance::of(kernel_type);
        let mut index: FxHashMap<Vec<i64>, Vec<u32>> = FxHashMap::default();
        let mut outputs: FxHashMap<Vec<i64>, Vec<u32>> = FxHashMap::default();
        for (at, row) in rows.iter().enumerate() {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            if let Some(first) = row.input(0) {
                for form in [first.as_slice(), strip(&first)] {
                    let key = key(tolerance, form, row.input(1).as_deref());
                    let found = index.entry(key).or_default();
                    if found.last() != Some(&at) {
                        found.push(at);
                    }
                }
            }
            if let Some(first) = row.outputs.first() {
                for form in [first.as_slice(), strip(first)] {
                    let found = outputs.entry(blocks_of(form).collect()).or_default();
                    if found.last() != Some(&at) {
                        found.push(at);
                    }
                }
            }
        }
        let has_ep_size = table.column(EP_SIZE).is_some();
        Ok(KernelRows { kernel_type: kernel_type.to_owned(), rows, has_ep_size, index, outputs })
    }

    /// The rows in file order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &KernelRow> {
        self.rows.iter()
    }

    /// Rows whose first inputs could fit, in file order.
    pub(super) fn candidates(&self, first: &[i64], second: Option<&[i64]>) -> Vec<u32> {
        let tolerance = Tolerance::of(&self.kernel_type);
        let mut found: Vec<u32> = Vec::new();
        for form in tolerance.forms(first) {
            let second_forms = second.map_or(vec![None], |second| vec![Some(second), Some(strip(second))]);
            for second in second_forms {
                found.extend(self.index.get(&key(tolerance, &form, second)).into_iter().flatten());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Rows whose first output could fit one of these forms, in file order.
    pub(super) fn output_candidates(&self, forms: &[&[i64]]) -> Vec<u32> {
        let keys = forms.iter().map(|form| blocks_of(form).collect::<Vec<_>>());
        let mut found: Vec<u32> = keys.filter_map(|key| self.outputs.get(&key)).flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found
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
    /// The rows of a table whose shapes can be read.
    pub(super) fn all_of(table: &Table) -> impl Iterator<Item = KernelRow> {
        let column = |name: &str| table.column(name);
        let columns = [INPUT_SHAPES, INPUT_TYPES, INPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES].map(column);
        let durations = [MEASURED_DURATION, PROFILED_DURATION, COMMUNICATION_DURATION].map(column);
        let ep_size = column(EP_SIZE);
        let runtime = RuntimeColumns::of(table);
        table.rows().filter_map(move |row| {
            let cell = |at: usize| columns[at].map_or("", |column| row.cell(column));
            let valid = |(at, column): (usize, &Option<usize>)| {
                let duration_us = number(row.cell((*column)?));
                is_valid(duration_us).then_some((at, duration_us))
            };
            let duration = durations.iter().enumerate().find_map(valid);
            Some(KernelRow {
                line: row.line().unwrap_or(0),
                inputs: shapes(cell(0))?,
                input_types: texts(cell(1)),
                input_formats: texts(cell(2)),
                outputs: shapes(cell(3)).unwrap_or_default(),
                output_types: texts(cell(4)),
                duration_us: duration.map(|(_, duration_us)| duration_us),
                column: duration.map_or(durations.len(), |(at, _)| at),
                ep_size: ep_size.and_then(|column| integer(row.cell(column))),
                runtime: runtime.read(row),
            })
        })
    }

    /// The shape of an argument as a matrix, whatever its format.
    pub(super) fn input(&self, at: usize) -> Option<Vec<i64>> {
        self.inputs.get(at).map(|shape| restored(shape, self.input_formats.get(at).map(String::as_str)))
    }
}

#[derive(Debug, Clone, Copy)]
struct RuntimeColumns {
    avg_seq_len: Option<usize>,
    kv_heads: Option<usize>,
    sparse_mode: Option<usize>,
    layout: Option<usize>,
}

impl RuntimeColumns {
    fn of(table: &Table) -> Self {
        RuntimeColumns {
            avg_seq_len: table.column("Runtime avg_seq_len").or_else(|| table.column("avg_seq_len")),
            kv_heads: table.column("Runtime num_key_value_heads"),
            sparse_mode: table.column("Runtime sparse_mode"),
            layout: table.column("Runtime input_layout"),
        }
    }

    fn read(&self, row: Row<'_>) -> Runtime {
        let length = self.avg_seq_len.and_then(|column| parse_float(row.cell(column)));
        Runtime {
            avg_seq_len: length.filter(|length| length.is_finite() && *length >= 0.0),
            kv_heads: self.kv_heads.map(|column| integer(row.cell(column))),
            sparse_mode: self.sparse_mode.map(|column| integer(row.cell(column))),
            layout: self.layout.map(|column| trim(row.cell(column)).to_owned()),
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
    let slots = slots(cell);
    let shape = |slot: &str| {
        slot.split(',').map(|dimension| crate::slots::integer(trim(dimension))).collect::<Option<Vec<i64>>>()
    };
    if slots.is_empty() { None } else { slots.into_iter().map(shape).collect() }
}

fn texts(cell: &str) -> Vec<String> {
    slots(cell).into_iter().map(str::to_owned).collect()
}

fn slots(cell: &str) -> Vec<&str> {
    unquoted(cell).split(';').map(trim).filter(|slot| !slot.is_empty()).collect()
}
