//! Reading a table into typed rows.

use super::columns::{Column, TextColumns, is_empty_cell};
use super::policy::KernelPolicy;
use super::pool::{ListAt, ShapePool, Shapes, slots};
use super::{Content, KernelRows, Record, Texts};
use crate::shapes::{is_fractal, restored};
use perfdb_pycompat::number::parse_float;
use perfdb_pycompat::text::trim;
use perfdb_store::columns::{COMMUNICATION_DURATION, MEASURED_DURATION, PROFILED_DURATION, TENSORS, joined};
use perfdb_store::duration::is_valid;
use perfdb_store::registry::TableType;
use perfdb_store::table::{Scan, ScannedRow};
use perfdb_store::{Error, columns};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::Arc;

/// Columns of every table, in the order in which the code below counts them; [`Column::NAMES`] follow.
const FIXED: [&str; 16] = joined(&[
    &TENSORS,
    &[
        MEASURED_DURATION,
        PROFILED_DURATION,
        COMMUNICATION_DURATION,
        columns::PROFILED[1],
        "Median Duration(us)",
        "Accelerator Core",
        "Profiling Average aicore_time(us)",
        "Profiling Average aiv_time(us)",
        columns::PROFILED[2],
        "Std Duration(us)",
    ],
]);
const INPUTS: usize = 0;
const OUTPUTS: usize = 3;
/// Types and formats of inputs, then of outputs.
const TEXTS: [usize; 4] = [1, 2, 4, 5];
const FIRST_DURATION: usize = 6;
const MEASURED: usize = 6;
const PROFILED: usize = 7;
const PLAIN: usize = 8;
const PROFILED_MEDIAN: usize = 9;
const MEDIAN: usize = 10;
const CORE: usize = 11;
const CORE_TIMES: [usize; 2] = [12, 13];
/// A standard deviation with the mean that it is of; the second pair in tables that name profiled durations as old ones do.
const PROFILED_SPREAD: [usize; 2] = [14, PROFILED];
const OLD_SPREAD: [usize; 2] = [15, MEASURED];
/// Of imported tables, whose durations have no other column.
const IMPORTED_SPREAD: [usize; 2] = [14, MEASURED];
/// Rows have 32-bit numbers.
const MOST_ROWS: usize = u32::MAX as usize / 2;
/// The priority of a duration that the core envelope gave.
const ENVELOPE: u8 = 3;

impl KernelRows {
    /// Reads a table. Rows whose input shapes cannot be read or that have no valid duration are passed over.
    pub(crate) fn read(
        path: Arc<Path>,
        kernel_type: Arc<str>,
        kind: TableType,
        policy: KernelPolicy,
    ) -> Result<KernelRows, Error> {
        let wanted: Vec<&str> = FIXED.iter().chain(Column::NAMES).copied().collect();
        let mut scan = Scan::open(&path, &wanted)?;
        let mut reader = RowReader::of(&scan, &policy);
        while let Some(row) = scan.next_row()? {
            if reader.content.records.len() >= MOST_ROWS {
                return Err(Error::input(&*path, None, "more rows than a table may have"));
            }
            reader.read(row);
        }
        let content = reader.finished();
        Ok(KernelRows::new(kernel_type, kind, path, policy, content))
    }
}

/// The name of a duration column by its number.
pub(super) fn duration_column(number: u8) -> &'static str {
    FIXED.get(usize::from(number)).copied().unwrap_or_default()
}

/// Makes rows of cells.
struct RowReader<'p> {
    policy: &'p KernelPolicy,
    has: [bool; FIXED.len()],
    /// The columns in which a duration is looked for: for exact search, then for interpolation. The preferred one is the first of both.
    search_order: [usize; 3],
    point_order: [usize; 6],
    content: Content,
    /// The runtime columns that the table has, with their places in the scan.
    columns: Vec<(Column, usize)>,
    /// Places of the texts of a row's four cells. Equal cells share them.
    texts: FxHashMap<[Box<[u8]>; 4], u32>,
    /// The cells of the row before, which mostly are those of the next.
    last_texts: Option<([Box<[u8]>; 4], u32)>,
}

impl<'p> RowReader<'p> {
    fn of(scan: &Scan<'_>, policy: &'p KernelPolicy) -> Self {
        let has: [bool; FIXED.len()] = std::array::from_fn(|wanted| scan.has(wanted));
        let preferred = [MEASURED, PROFILED, PLAIN].into_iter().find(|column| has[*column]).unwrap_or(PLAIN);
        let mut search_order = [MEASURED, PROFILED, PLAIN];
        search_order.sort_by_key(|column| *column != preferred);
        let columns = TextColumns::new((0..Column::ALL.len()).map(|column| scan.has(FIXED.len() + column)));
        RowReader {
            policy,
            has,
            search_order,
            point_order: [preferred, PROFILED, PROFILED_MEDIAN, MEASURED, MEDIAN, PLAIN],
            columns: (0..)
                .zip(Column::ALL)
                .map(|(at, column)| (*column, FIXED.len() + at))
                .filter(|(column, _)| columns.has(*column))
                .collect(),
            content: Content {
                durations_us: Vec::new(),
                records: Vec::new(),
                shapes: ShapePool::new(),
                matrices: Vec::new(),
                texts: Vec::new(),
                columns,
                has_input_shapes: has[INPUTS],
                point_durations: FxHashMap::default(),
                envelopes: FxHashMap::default(),
                spreads: Vec::new(),
                without_duration: Vec::new(),
            },
            texts: FxHashMap::default(),
            last_texts: None,
        }
    }

    fn finished(mut self) -> Content {
        self.content.durations_us.shrink_to_fit();
        self.content.records.shrink_to_fit();
        self.content.shapes.shrink();
        self.content.matrices.shrink_to_fit();
        self.content.spreads.shrink_to_fit();
        self.content.without_duration.shrink_to_fit();
        self.content.columns.close();
        self.content
    }

    /// Takes a row, if its inputs can be read and it has a valid duration.
    fn read(&mut self, row: ScannedRow<'_>) {
        let duration = |column: usize| Some(row.number(column)).filter(|duration_us| is_valid(*duration_us));
        let find = |order: &[usize]| order.iter().find_map(|column| Some((*column, duration(*column)?)));
        let measured = find(&self.search_order);
        // The preferred column is the first of both orders, and behind it the profiled one is the next of points.
        let [preferred, next, ..] = self.point_order;
        let is_point = |(column, _): &(usize, f64)| *column == preferred || *column == next;
        let point = measured.filter(is_point).or_else(|| find(&self.point_order));
        let Some((point_column, point_us)) = point else {
            let first = self.point_order.iter().find(|column| self.has[**column]);
            let is_zero = first.is_some_and(|column| parse_float(trim(&row.cell(*column))) == Some(0.0));
            self.content.without_duration.push((u32::try_from(row.line).unwrap_or(u32::MAX), is_zero));
            return;
        };
        let Some(inputs) = self.shapes(&row, INPUTS) else { return };
        let outputs = self.shapes(&row, OUTPUTS).unwrap_or(ShapePool::UNREADABLE);
        let texts = self.texts(&row);
        self.matrices(inputs, texts);
        let number = self.content.records.len() as u32;
        if measured.is_some_and(|(_, measured_us)| measured_us != point_us) || measured.is_none() {
            self.content.point_durations.insert(number, point_us);
        }
        let envelope = measured.and_then(|measured| self.envelope(&row, measured));
        if let Some(envelope_us) = envelope {
            self.content.envelopes.insert(number, envelope_us);
        }
        let column = measured.map_or(0, |(column, _)| column);
        self.content.durations_us.push(measured.map_or(f64::NAN, |(_, duration_us)| duration_us));
        self.content.records.push(Record {
            line: u32::try_from(row.line).unwrap_or(u32::MAX),
            inputs,
            outputs,
            texts,
            priority: match (self.policy.prefers_profiled, envelope) {
                (true, envelope) => u8::from(column != PROFILED || envelope.is_some()),
                (false, Some(_)) => ENVELOPE,
                (false, None) => column.saturating_sub(FIRST_DURATION) as u8,
            },
            is_preferred: point_column == self.search_order[0],
            duration_column: point_column as u8,
        });
        if let Some([deviation, mean]) = self.spread() {
            let (deviation, mean) = (row.number(deviation), row.number(mean));
            let is_known = is_valid(deviation) && is_valid(mean);
            self.content.spreads.push(if is_known { (deviation / mean) as f32 } else { f32::NAN });
        }
        for &(column, place) in &self.columns {
            self.content.columns.push(column, &row.cell(place));
        }
    }

    /// The columns that show how far the durations of a row spread. A deviation of zero is that of one call alone, which tells nothing.
    fn spread(&self) -> Option<[usize; 2]> {
        let pairs = [PROFILED_SPREAD, OLD_SPREAD, IMPORTED_SPREAD];
        let pairs = &pairs[..if self.has[PROFILED] { 1 } else { pairs.len() }];
        pairs.iter().copied().find(|pair| pair.iter().all(|column| self.has[*column]))
    }

    /// The shapes of a cell; none where the table lacks the column.
    fn shapes(&mut self, row: &ScannedRow<'_>, column: usize) -> Option<ListAt> {
        if !self.has[column] {
            return Some(ShapePool::EMPTY);
        }
        let plain = self.content.shapes.push_plain(row.bytes(column));
        plain.or_else(|| self.content.shapes.push_cell(&row.slot_cell(column)))
    }

    /// Notes the inputs as matrices, if one of them is in the fractal format.
    fn matrices(&mut self, inputs: ListAt, texts: u32) {
        let content = &mut self.content;
        let own = &content.texts[texts as usize];
        if own.has_fractal
            && let Some(matrices) = matrices(content.shapes.list(inputs), &own.input_formats)
        {
            // All rows before this one have none.
            content.matrices.extend(content.records[content.matrices.len()..].iter().map(|record| record.inputs));
            content.matrices.push(content.shapes.push(&matrices));
        } else if !content.matrices.is_empty() {
            content.matrices.push(inputs);
        }
    }

    fn texts(&mut self, row: &ScannedRow<'_>) -> u32 {
        if let Some((last, at)) = &self.last_texts
            && last.iter().zip(TEXTS).all(|(last, column)| **last == *row.bytes(column))
        {
            return *at;
        }
        let cells = TEXTS.map(|column| Box::<[u8]>::from(row.bytes(column)));
        let known = self.texts.get(&cells).copied();
        let at = known.unwrap_or_else(|| {
            let list = |column: usize| if self.has[column] { texts(&row.slot_cell(column)) } else { Box::default() };
            let [input_types, input_formats, output_types, output_formats] = TEXTS.map(list);
            let has_fractal = input_formats.iter().any(|format| is_fractal(format));
            self.content.texts.push(Texts { input_types, input_formats, output_types, output_formats, has_fractal });
            let at = self.content.texts.len() as u32 - 1;
            self.texts.insert(cells.clone(), at);
            at
        });
        self.last_texts = Some((cells, at));
        at
    }

    /// The duration of the busiest core, where a profiled one is out of proportion to it.
    fn envelope(&self, row: &ScannedRow<'_>, (column, duration_us): (usize, f64)) -> Option<f64> {
        let ratio = self.policy.max_duration_to_core_ratio?;
        if column != PROFILED || trim(&row.cell(CORE)) != "MIX_AIC" {
            return None;
        }
        let [aicore, aiv] = CORE_TIMES.map(|column| row.number(column));
        let busiest = aicore.max(aiv);
        (is_valid(aicore) && is_valid(aiv) && duration_us / busiest > ratio).then_some(busiest)
    }
}

/// The slots of a cell of types or formats; one that is empty has the word for it.
fn texts(cell: &str) -> Box<[Box<str>]> {
    if is_empty_cell(cell) { [Box::from("nan")].into() } else { slots(cell).map(Box::from).collect() }
}

/// The inputs with those in the fractal format as matrices; `None` if none is in it.
fn matrices(inputs: Shapes<'_>, formats: &[Box<str>]) -> Option<Vec<Vec<i64>>> {
    let matrix = |at: usize, shape: &[i64]| restored(shape, formats.get(at)?);
    inputs.iter().enumerate().any(|(at, shape)| matrix(at, &shape).is_some()).then(|| {
        inputs.iter().enumerate().map(|(at, shape)| matrix(at, &shape).unwrap_or_else(|| shape.to_vec())).collect()
    })
}
