//! Reading a table into typed rows.

use crate::packed::{ShapePool, Shapes, slots};
use crate::rows::{Compared, Content, KernelRows, Record, Runtime};
use crate::shapes::restored;
use perfdb_pycompat::number::parse_float;
use perfdb_pycompat::text::trim;
use perfdb_store::Error;
use perfdb_store::columns::{
    COMMUNICATION_DURATION, EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, MEASURED_DURATION, OUTPUT_SHAPES,
    OUTPUT_TYPES, PROFILED_DURATION,
};
use perfdb_store::duration::{is_valid, number};
use perfdb_store::table::{Scan, ScannedRow};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::Arc;

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

impl KernelRows {
    /// Reads a table. Rows whose shapes cannot be read or that have no valid duration are passed over.
    pub(crate) fn read(path: &Path, kernel_type: &str) -> Result<KernelRows, Error> {
        let bytes = std::fs::read(path).map_err(|source| Error::io(path, source))?;
        let mut scan = Scan::new(path, &bytes, &WANTED)?;
        let mut reader = RowReader::of(&scan);
        while let Some(row) = scan.next_row()? {
            reader.read(row);
        }
        Ok(KernelRows::new(kernel_type, reader.content))
    }
}

/// Makes rows of cells.
struct RowReader {
    has: [bool; WANTED.len()],
    has_runtime: bool,
    content: Content,
    /// Places of the texts of a cell. Equal cells share them.
    texts: FxHashMap<String, usize>,
    layouts: FxHashMap<String, Arc<str>>,
}

impl RowReader {
    fn of(scan: &Scan<'_>) -> Self {
        let has: [bool; WANTED.len()] = std::array::from_fn(|wanted| scan.has(wanted));
        let content = Content {
            records: Vec::new(),
            compared: Vec::new(),
            inputs: ShapePool::new(),
            outputs: ShapePool::new(),
            texts: Vec::new(),
            runtimes: Vec::new(),
            has_ep_size: has[FIRST_SINGLE],
        };
        let has_runtime = has[FIRST_RUNTIME..].contains(&true);
        RowReader { has, has_runtime, content, texts: FxHashMap::default(), layouts: FxHashMap::default() }
    }

    /// Takes a row, if its shapes can be read and it has a valid duration.
    fn read(&mut self, row: ScannedRow<'_>) {
        let valid = |column: usize| {
            let duration_us = number(&row.cell(FIRST_DURATION + column));
            is_valid(duration_us).then_some((column, duration_us))
        };
        let Some((column, duration_us)) = (0..DURATIONS).find_map(valid) else { return };
        let Some(inputs) = self.content.inputs.push_cell(&row.slot_cell(0)) else { return };
        let input_formats = self.texts(&row.slot_cell(2));
        let formats = &self.content.texts[input_formats];
        let matrices = matrices(self.content.inputs.list(inputs), formats);
        let compared = Compared {
            matrices: matrices.map_or(inputs, |matrices| self.content.inputs.push(&matrices)),
            types: self.texts(&row.slot_cell(1)),
        };
        let record = Record {
            line: row.line,
            duration_us,
            column,
            ep_size: self.has[FIRST_SINGLE].then(|| integer(&row.cell(FIRST_SINGLE))).flatten(),
            inputs,
            outputs: self.content.outputs.push_cell(&row.slot_cell(3)).unwrap_or(ShapePool::EMPTY),
            input_formats,
            output_types: self.texts(&row.slot_cell(4)),
        };
        self.content.records.push(record);
        self.content.compared.push(compared);
        if self.has_runtime {
            let runtime = self.runtime(row);
            self.content.runtimes.push(runtime);
        }
    }

    fn texts(&mut self, cell: &str) -> usize {
        if let Some(&known) = self.texts.get(cell) {
            return known;
        }
        let at = self.content.texts.len();
        self.content.texts.push(slots(cell).map(str::to_owned).collect());
        self.texts.insert(cell.to_owned(), at);
        at
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

/// The inputs with those in the fractal format as matrices; `None` if none is in it.
fn matrices(inputs: Shapes<'_>, formats: &[String]) -> Option<Vec<Vec<i64>>> {
    let matrix = |at: usize, shape: &[i64]| restored(shape, formats.get(at)?);
    inputs.iter().enumerate().any(|(at, shape)| matrix(at, shape).is_some()).then(|| {
        inputs.iter().enumerate().map(|(at, shape)| matrix(at, shape).unwrap_or_else(|| shape.to_vec())).collect()
    })
}

/// A whole number, also one written with decimals.
fn integer(cell: &str) -> Option<i64> {
    let value = parse_float(cell)?;
    (value.fract() == 0.0 && value.abs() < 9e15).then_some(value as i64)
}
