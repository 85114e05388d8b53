//! The rows of a table by the values of their axes.

use super::axes::{Kernel, MESSAGE_BYTES, TOKENS};
use crate::coverage::Error;
use perfdb_store::columns::{
    DURATIONS, EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, OUTPUT_SHAPES, OUTPUT_TYPES, RUNTIME_BLOCK_TABLE,
    RUNTIME_LENGTHS, RUNTIME_OPERATOR_SHAPES, RUNTIME_SOURCE, RUNTIME_VALID_BLOCKS, joined,
};
use perfdb_store::duration::{is_valid, number};
use perfdb_store::slots::{dimensions, normal_shape, split};
use perfdb_store::table::{ReadOptions, Row, Table};
use std::path::Path;

/// A row that belongs to the template of its kernel.
pub(crate) struct PlacedRow {
    /// Its place in the table, from 0.
    pub(crate) row: usize,
    pub(crate) line: u64,
    /// The value on each axis of the kernel; `None` where the row does not tell.
    pub(crate) values: Vec<Option<i64>>,
    /// All that has to be equal for two rows to be of one bucket, besides the axes.
    pub(crate) rest: Vec<(String, String)>,
    /// The duration and the column that it is of.
    pub(crate) measured: Option<(f64, String)>,
}

/// A table, its rows by the values of their axes.
pub(crate) struct PlacedTable {
    pub(crate) table: Table,
    pub(crate) rows: Vec<PlacedRow>,
    /// Rows of other shapes than the template's.
    pub(crate) foreign: usize,
}

/// Runtime columns whose cells go with the axes of attention, or say where a row is from.
const OF_LENGTHS: [&str; 9] = joined(&[
    &[RUNTIME_SOURCE],
    &RUNTIME_LENGTHS,
    &[RUNTIME_BLOCK_TABLE, RUNTIME_VALID_BLOCKS, RUNTIME_OPERATOR_SHAPES],
]);

/// Reads a table.
pub(crate) fn read(path: &Path, kernel: &Kernel<'_>) -> Result<PlacedTable, Error> {
    let table = Table::read(path, &ReadOptions::database())?;
    let (mut rows, mut foreign) = (Vec::new(), 0);
    for row in table.rows() {
        match place(kernel, &table, row) {
            Some(row) => rows.push(row),
            None => foreign += 1,
        }
    }
    Ok(PlacedTable { table, rows, foreign })
}

/// The duration of a row, and its column.
pub(crate) fn duration(row: Row<'_>) -> Option<(f64, String)> {
    let of = |name: &&str| Some((number(row.get(name)?), (*name).to_owned()));
    DURATIONS.iter().filter_map(of).find(|(us, _)| is_valid(*us))
}

/// The shapes of a cell, absent slots empty.
fn shapes(cell: &str) -> Option<Vec<Vec<i64>>> {
    split(cell).into_iter().map(|slot| dimensions(&normal_shape(slot))).collect()
}

fn place(kernel: &Kernel<'_>, table: &Table, row: Row<'_>) -> Option<PlacedRow> {
    let cell = |name: &str| row.get(name).unwrap_or_default();
    let mut rest: Vec<(String, String)> = Vec::new();
    let mut keep = |name: &str, text: &str| rest.push((name.to_owned(), text.trim_matches('"').to_owned()));
    let values = match kernel {
        Kernel::Collective => {
            for name in ["num_devices", "topology_tier", "dtype"] {
                keep(name, cell(name));
            }
            vec![Some(cell(MESSAGE_BYTES).trim().parse().ok()?)]
        }
        Kernel::Template { name, template } => {
            let (mut inputs, outputs) = (shapes(cell(INPUT_SHAPES))?, shapes(cell(OUTPUT_SHAPES))?);
            if *name == "quant_matmul" {
                in_blocks(&mut inputs);
            }
            let values = template.values_of(&inputs, &outputs)?;
            keep_types(&mut keep, table, row, &[]);
            values.into_iter().map(|value| i64::try_from(value).ok()).collect()
        }
        Kernel::Tokens { inputs: of_inputs, outputs: of_outputs, .. } => {
            let (inputs, outputs) = (shapes(cell(INPUT_SHAPES))?, shapes(cell(OUTPUT_SHAPES))?);
            let tokens = *inputs.first()?.first()?;
            let without = |shapes: &[Vec<i64>], of: &[usize]| -> Option<String> {
                let text = |(at, shape): (usize, &Vec<i64>)| {
                    let mut words: Vec<String> = shape.iter().map(i64::to_string).collect();
                    if of.contains(&at) {
                        let first = words.first_mut()?;
                        if *first != tokens.to_string() {
                            return None;
                        }
                        *first = TOKENS.to_owned();
                    }
                    Some(words.join(","))
                };
                Some(shapes.iter().enumerate().map(text).collect::<Option<Vec<_>>>()?.join(";"))
            };
            keep(INPUT_SHAPES, &without(&inputs, of_inputs)?);
            keep(OUTPUT_SHAPES, &without(&outputs, of_outputs)?);
            keep_types(&mut keep, table, row, &[]);
            vec![Some(tokens)]
        }
        Kernel::Attention { .. } => {
            let inputs = shapes(cell(INPUT_SHAPES))?;
            let query = inputs.first()?;
            let lengths = cell("Runtime actual_seq_lengths_values");
            let count = lengths.split([',', ';']).filter(|part| !part.trim().is_empty()).count() as i64;
            let batch = if count > 0 { Some(count) } else { query.first().copied().filter(|_| query.len() == 4) };
            let tokens = query.first().copied().filter(|_| query.len() == 3);
            let per_request = tokens.zip(batch).map(|(tokens, batch)| tokens / batch.max(1));
            let average = cell("Runtime avg_seq_len").trim().parse::<f64>().ok().map(|length| length as i64);
            let heads: Vec<String> = query.iter().skip(1).map(i64::to_string).collect();
            keep("query heads", &heads.join(","));
            keep("phase", if per_request.is_some_and(|tokens| tokens > 1) { "prefill" } else { "decode" });
            keep_types(&mut keep, table, row, &OF_LENGTHS);
            vec![batch, per_request.filter(|tokens| *tokens > 1), average]
        }
    };
    let measured = duration(row);
    rest.push(("duration".to_owned(), measured.as_ref().map(|(_, column)| column.clone()).unwrap_or_default()));
    let line = table.line(row.index()).unwrap_or_default();
    Some(PlacedRow { row: row.index(), line, values, rest, measured })
}

/// Types, formats and runtime values, which are the same in all rows of a bucket.
fn keep_types(keep: &mut impl FnMut(&str, &str), table: &Table, row: Row<'_>, but: &[&str]) {
    for name in [INPUT_TYPES, INPUT_FORMATS, OUTPUT_TYPES, EP_SIZE] {
        keep(name, row.get(name).unwrap_or_default());
    }
    let runtime = table.columns().iter().filter(|name| name.starts_with("Runtime "));
    for name in runtime.filter(|name| !but.contains(&name.as_str())) {
        keep(name, row.get(name).unwrap_or_default());
    }
}

/// A plain weight (N, K) as the template has it, in blocks of 16 × 32.
fn in_blocks(inputs: &mut [Vec<i64>]) {
    if let Some(weight) = inputs.get_mut(1)
        && let [n, k] = weight[..]
        && n % 32 == 0
        && k % 16 == 0
    {
        *weight = vec![n / 32, k / 16, 16, 32];
    }
}
