//! Reading the measured side: the kernels of a forward-pass CSV.

use super::call::{Call, Calls, Row, Side, Signature};
use super::family::{is_collective, table_family};
use super::operands::{AttentionKey, Operands};
use crate::error::{Error, Warning};
use crate::picoseconds::{PS_PER_US, parse_duration_us, parse_us};
use crate::profile::excerpt;
use perfdb_pycompat::text::trim;
use perfdb_trace::kernels::{Options, Reader, Record};
use perfdb_trace::source::Source;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;
use std::path::Path;

const TYPE: &str = "Type";
const DURATION: &str = "Duration(us)";
const START: &str = "Start Time(us)";
const STEP: &str = "Step Id";

/// The cells of a [`Row`], in the order of its fields.
const ROW: [&str; 6] =
    ["Input Shapes", "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types", "Output Formats"];

/// How many of them tell rows apart; the rest is that of the row that starts first.
const KEY_CELLS: usize = 3;

/// Starts of one collective on several streams lie at most that far apart.
const SAME_START_PS: i64 = PS_PER_US / 2;

/// The measured side of a comparison.
#[derive(Debug, Default)]
pub(super) struct MeasuredSide {
    pub(super) calls: Calls,
    /// Rows of collectives beyond the first of each.
    pub(super) doubled_rows: u64,
    pub(super) aicpu_rows: u64,
    pub(super) aicpu_ps: i128,
    /// Different values of the step column.
    pub(super) steps: usize,
    pub(super) warnings: Vec<Warning>,
}

/// Reads a forward-pass CSV, which also needs these columns.
///
/// # Errors
/// When the file can't be read, lacks a needed column, or a duration or a start is not a finite number.
pub(super) fn read_measured(profile: &Path, also_needed: &[&'static str]) -> Result<MeasuredSide, Error> {
    let mut source = Source::open(profile)?;
    let mut reader = Reader::new(&mut source, Options::comparison())?;
    let needed = [TYPE, DURATION, START].iter().chain(also_needed);
    let missing: Vec<&'static str> = needed.copied().filter(|name| reader.column(name).is_none()).collect();
    let (Some(kernel_type), Some(duration), Some(start), true) =
        (reader.column(TYPE), reader.column(DURATION), reader.column(START), missing.is_empty())
    else {
        return Err(Error::MissingColumns { path: profile.to_owned(), columns: missing });
    };
    let row = ROW.map(|name| reader.column(name));
    let step = reader.column(STEP);
    let mut rows = Rows { columns: Columns { kernel_type, duration, start, step, row }, ..Rows::default() };
    while let Some(record) = reader.next_record()? {
        rows.add(&record).map_err(|(column, reason)| Error::Cell {
            path: profile.to_owned(),
            line: record.line(),
            column,
            reason,
        })?;
    }
    rows.order();
    rows.leave_out_doubled();
    let mut side = rows.side;
    side.steps = rows.steps.len();
    if rows.negative_rows > 0 {
        side.warnings.push(Warning::NegativeDurations { path: profile.to_owned(), rows: rows.negative_rows });
    }
    Ok(side)
}

#[derive(Debug, Default)]
struct Columns {
    kernel_type: usize,
    duration: usize,
    start: usize,
    step: Option<usize>,
    row: [Option<usize>; 6],
}

#[derive(Debug, Default)]
struct Rows {
    columns: Columns,
    side: MeasuredSide,
    /// By what tells rows apart.
    signatures: FxHashMap<Box<[u8]>, u32>,
    /// Per signature, the start of the row that its cells are from.
    first_starts: Vec<i64>,
    key: Vec<u8>,
    steps: FxHashSet<Box<str>>,
    /// The step of the row before, as it stands in the file.
    last_step: String,
    origin_ps: Option<i128>,
    negative_rows: u64,
}

type Refusal = (&'static str, String);

impl Rows {
    fn add(&mut self, record: &Record<'_>) -> Result<(), Refusal> {
        let Some(kernel_type) = record.get(self.columns.kernel_type) else { return Ok(()) };
        let kernel_type = trim(&kernel_type);
        if kernel_type.is_empty() {
            return Ok(());
        }
        let cell = record.get(self.columns.duration).unwrap_or_default();
        let not_finite = |cell: &str| format!("{} is not a finite number", excerpt(cell));
        let mut duration_ps = parse_duration_us(&cell).ok_or_else(|| (DURATION, not_finite(&cell)))?;
        if duration_ps < 0 {
            self.negative_rows += 1;
            duration_ps = 0;
        }
        if kernel_type.ends_with("AicpuKernel") {
            self.side.aicpu_rows += 1;
            self.side.aicpu_ps += i128::from(duration_ps);
            return Ok(());
        }
        let cell = record.get(self.columns.start).unwrap_or_default();
        let start_ps = parse_us(&cell).ok_or_else(|| (START, not_finite(&cell)))?;
        let origin_ps = *self.origin_ps.get_or_insert(start_ps);
        let relative_ps = i64::try_from(start_ps - origin_ps).ok().filter(|ps| ps.abs() < i64::MAX / 4);
        let relative_ps =
            relative_ps.ok_or_else(|| (START, format!("{} is too far from the first row", excerpt(&cell))))?;
        self.step(record);
        let signature = self.signature(kernel_type, record, relative_ps);
        self.side.calls.calls.push(Call { signature, event: 0, start_ps: relative_ps, duration_ps });
        Ok(())
    }

    /// Brings calls into the order of their starts, and signatures into that of their first calls, in any order of the rows.
    fn order(&mut self) {
        let mut keys: Vec<(&[u8], u32)> = self.signatures.iter().map(|(key, at)| (key.as_ref(), *at)).collect();
        keys.sort_unstable();
        let mut ranks = vec![0_u32; keys.len()];
        (0..).zip(&keys).for_each(|(rank, (_, at))| ranks[*at as usize] = rank);
        let Calls { calls, signatures, .. } = &mut self.side.calls;
        let place = |call: &Call| (call.start_ps, ranks[call.signature as usize], call.duration_ps);
        if !calls.is_sorted_by_key(place) {
            calls.sort_by_key(place);
        }
        let mut numbers: Vec<Option<u32>> = vec![None; signatures.len()];
        let mut ordered = Vec::with_capacity(signatures.len());
        for call in calls.iter_mut() {
            call.signature = *numbers[call.signature as usize].get_or_insert_with(|| {
                ordered.push(signatures[call.signature as usize].clone());
                ordered.len() as u32 - 1
            });
        }
        *signatures = ordered;
    }

    /// Keeps the longest row of each collective that is listed on several streams.
    fn leave_out_doubled(&mut self) {
        let Calls { calls, signatures, .. } = &mut self.side.calls;
        let is_collective: Vec<bool> =
            signatures.iter().map(|signature| is_collective(&signature.kernel_type)).collect();
        // By signature, the first start of the collective that was met last, and the place of its longest row.
        let mut listed: FxHashMap<u32, (i64, usize)> = FxHashMap::default();
        let mut kept: Vec<Call> = Vec::with_capacity(calls.len());
        for call in calls.iter().copied() {
            if is_collective[call.signature as usize] {
                match listed.entry(call.signature) {
                    Entry::Occupied(known) if call.start_ps - known.get().0 <= SAME_START_PS => {
                        self.side.doubled_rows += 1;
                        let longest = &mut kept[known.get().1];
                        if call.duration_ps > longest.duration_ps {
                            *longest = call;
                        }
                        continue;
                    }
                    entry => {
                        entry.insert_entry((call.start_ps, kept.len()));
                    }
                }
            }
            kept.push(call);
        }
        kept.sort_by_key(|call| call.start_ps);
        *calls = kept;
    }

    /// Takes note of the step that a row belongs to, if it belongs to one.
    fn step(&mut self, record: &Record<'_>) {
        let Some(written) = self.columns.step.and_then(|column| record.written(column)) else { return };
        if written != self.last_step {
            written.clone_into(&mut self.last_step);
            let step = self.columns.step.and_then(|column| record.get(column)).unwrap_or_default();
            let step = trim(&step);
            if !step.is_empty() && step != "N/A" {
                self.steps.insert(step.into());
            }
        }
    }

    /// The position of a row's signature. Collectives have one per type: their rows do not say how large they are.
    fn signature(&mut self, kernel_type: &str, record: &Record<'_>, start_ps: i64) -> u32 {
        self.key.clear();
        self.key.extend_from_slice(kernel_type.as_bytes());
        if !is_collective(kernel_type) {
            for column in self.columns.row[..KEY_CELLS].iter().copied() {
                self.key.push(0x1f);
                self.key
                    .extend_from_slice(column.and_then(|column| record.written(column)).unwrap_or_default().as_bytes());
            }
        }
        let known = self.signatures.get(self.key.as_slice()).copied();
        if let Some(at) = known
            && self.first_starts[at as usize] <= start_ps
        {
            return at;
        }
        let cell = |column: Option<usize>| column.and_then(|column| record.get(column)).unwrap_or_default();
        let [input_shapes, input_types, input_formats, output_shapes, output_types, output_formats] =
            self.columns.row.map(|column| cell(column).as_ref().into());
        let row = Row { input_shapes, input_types, input_formats, output_shapes, output_types, output_formats };
        let found = signature(kernel_type, row);
        if let Some(at) = known {
            self.side.calls.signatures[at as usize] = found;
            self.first_starts[at as usize] = start_ps;
            return at;
        }
        let at = self.side.calls.signatures.len() as u32;
        self.side.calls.signatures.push(found);
        self.first_starts.push(start_ps);
        self.signatures.insert(self.key.as_slice().into(), at);
        at
    }
}

fn signature(kernel_type: &str, row: Row) -> Signature {
    let formats: Vec<&str> = match row.input_formats.as_ref() {
        "" | "N/A" => Vec::new(),
        formats => trim(formats).trim_matches('"').split(';').map(trim).collect(),
    };
    let operands = if is_collective(kernel_type) { None } else { Operands::parse_cell(&row.input_shapes) };
    let is_attention = table_family(kernel_type) == Some("attention");
    Signature {
        kernel_type: kernel_type.into(),
        attention: operands.as_ref().filter(|_| is_attention).and_then(AttentionKey::measured),
        operands: operands.and_then(|operands| operands.canonical(&formats)),
        bytes: None,
        side: Side::Measured(Box::new(row)),
    }
}
