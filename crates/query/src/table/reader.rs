//! Reading a table into typed rows.

use super::columns::{Column, TextColumns, is_empty_cell};
use super::policy::KernelPolicy;
use super::pool::{ListAt, ShapePool, Shapes, slots};
use super::{Content, KernelRows, Record, Texts};
use crate::shapes::restored;
use perfdb_pycompat::text::trim;
use perfdb_store::columns::{
    COMMUNICATION_DURATION, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, MEASURED_DURATION, OUTPUT_FORMATS, OUTPUT_SHAPES,
    OUTPUT_TYPES, PROFILED_DURATION,
};
use perfdb_store::duration::{is_valid, number};
use perfdb_store::table::{Scan, ScannedRow};
use perfdb_store::{Error, columns};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::Arc;

/// Columns of every table, in the order in which the code below counts them; [`Column::NAMES`] follow.
const FIXED: [&str; 14] = [
    INPUT_SHAPES,
    INPUT_TYPES,
    INPUT_FORMATS,
    OUTPUT_SHAPES,
    OUTPUT_TYPES,
    OUTPUT_FORMATS,
    MEASURED_DURATION,
    PROFILED_DURATION,
    COMMUNICATION_DURATION,
    columns::PROFILED[1],
    "Median Duration(us)",
    "Accelerator Core",
    "Profiling Average aicore_time(us)",
    "Profiling Average aiv_time(us)",
];
const FIRST_DURATION: usize = 6;
const MEASURED: usize = 6;
const PROFILED: usize = 7;
const PLAIN: usize = 8;
const PROFILED_MEDIAN: usize = 9;
const MEDIAN: usize = 10;
const CORE: usize = 11;
const CORE_TIMES: [usize; 2] = [12, 13];
/// The priority of a duration that the core envelope gave.
const ENVELOPE: u8 = 3;

impl KernelRows {
    /// Reads a table. Rows whose input shapes cannot be read or that have no valid duration are passed over.
    pub(crate) fn read(path: Arc<Path>, kernel_type: Arc<str>, policy: KernelPolicy) -> Result<KernelRows, Error> {
        let bytes = std::fs::read(&*path).map_err(|source| Error::io(&*path, source))?;
        if u32::try_from(bytes.len()).is_err() {
            return Err(Error::input(&*path, None, "larger than 4 GiB"));
        }
        let wanted: Vec<&str> = FIXED.iter().chain(Column::NAMES).copied().collect();
        let mut scan = Scan::new(&path, &bytes, &wanted)?;
        let mut reader = RowReader::of(&scan, &policy);
        while let Some(row) = scan.next_row()? {
            reader.read(row);
        }
        let content = reader.finished();
        Ok(KernelRows::new(kernel_type, path, policy, content))
    }
}

/// Makes rows of cells.
struct RowReader<'p> {
    policy: &'p KernelPolicy,
    has: [bool; FIXED.len()],
    /// The columns in which a duration is looked for: for exact search, then for interpolation. The preferred one is the first of both.
    search_order: [usize; 3],
    point_order: [usize; 6],
    content: Content,
    has_columns: bool,
    /// Places of the texts of a row's four cells. Equal cells share them.
    texts: FxHashMap<[Box<str>; 4], u32>,
    /// The cells of the row before, which mostly are those of the next.
    last_texts: Option<([Box<str>; 4], u32)>,
    outputs: FxHashMap<Box<str>, ListAt>,
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
            has_columns: !columns.is_empty(),
            content: Content {
                records: Vec::new(),
                inputs: ShapePool::new(),
                outputs: ShapePool::new(),
                texts: Vec::new(),
                columns,
                has_input_shapes: has[0],
                point_durations: FxHashMap::default(),
                envelopes: FxHashMap::default(),
            },
            texts: FxHashMap::default(),
            last_texts: None,
            outputs: FxHashMap::default(),
        }
    }

    fn finished(mut self) -> Content {
        self.content.records.shrink_to_fit();
        self.content.inputs.shrink();
        self.content.outputs.shrink();
        self.content.columns.close();
        self.content
    }

    /// Takes a row, if its inputs can be read and it has a valid duration.
    fn read(&mut self, row: ScannedRow<'_>) {
        let duration = |column: usize| Some(number(&row.cell(column))).filter(|duration_us| is_valid(*duration_us));
        let find = |order: &[usize]| order.iter().find_map(|column| Some((*column, duration(*column)?)));
        let measured = find(&self.search_order);
        let point = measured.filter(|(column, _)| *column == self.search_order[0]).or_else(|| find(&self.point_order));
        let Some((point_column, point_us)) = point else { return };
        let Some(inputs) = self.inputs(&row) else { return };
        let texts = self.texts(&row);
        let formats = &self.content.texts[texts as usize].input_formats;
        let matrices = matrices(self.content.inputs.list(inputs), formats);
        let number = self.content.records.len() as u32;
        if measured.is_some_and(|(_, measured_us)| measured_us != point_us) || measured.is_none() {
            self.content.point_durations.insert(number, point_us);
        }
        let envelope = measured.and_then(|measured| self.envelope(&row, measured));
        if let Some(envelope_us) = envelope {
            self.content.envelopes.insert(number, envelope_us);
        }
        let column = measured.map_or(0, |(column, _)| column);
        let outputs = self.outputs(&row);
        self.content.records.push(Record {
            line: u32::try_from(row.line).unwrap_or(u32::MAX),
            duration_us: measured.map_or(f64::NAN, |(_, duration_us)| duration_us),
            inputs,
            matrices: matrices.map_or(inputs, |matrices| self.content.inputs.push(&matrices)),
            outputs,
            texts,
            priority: match (self.policy.prefers_profiled, envelope) {
                (true, envelope) => u8::from(column != PROFILED || envelope.is_some()),
                (false, Some(_)) => ENVELOPE,
                (false, None) => column.saturating_sub(FIRST_DURATION) as u8,
            },
            is_preferred: point_column == self.search_order[0],
        });
        if self.has_columns {
            for (at, &column) in Column::ALL.iter().enumerate() {
                if self.content.columns.has(column) {
                    self.content.columns.push(column, &row.cell(FIXED.len() + at));
                }
            }
        }
    }

    fn inputs(&mut self, row: &ScannedRow<'_>) -> Option<ListAt> {
        match self.has[0] {
            true => self.content.inputs.push_cell(&row.slot_cell(0)),
            false => Some(ShapePool::EMPTY),
        }
    }

    /// Results repeat more than arguments do.
    fn outputs(&mut self, row: &ScannedRow<'_>) -> ListAt {
        if !self.has[3] {
            return ShapePool::EMPTY;
        }
        let cell = row.slot_cell(3);
        if let Some(&known) = self.outputs.get(&*cell) {
            return known;
        }
        let at = self.content.outputs.push_cell(&cell).unwrap_or(ShapePool::UNREADABLE);
        self.outputs.insert((*cell).into(), at);
        at
    }

    fn texts(&mut self, row: &ScannedRow<'_>) -> u32 {
        let cells = [1, 2, 4, 5].map(|column| row.slot_cell(column));
        if let Some((last, at)) = &self.last_texts
            && last.iter().zip(&cells).all(|(last, cell)| **last == **cell)
        {
            return *at;
        }
        let cells = cells.map(|cell| Box::<str>::from(&*cell));
        let known = self.texts.get(&cells).copied();
        let at = known.unwrap_or_else(|| {
            let list = |column: usize, cell: &str| match self.has[column] {
                true => texts(cell),
                false => Box::default(),
            };
            self.content.texts.push(Texts {
                input_types: list(1, &cells[0]),
                input_formats: list(2, &cells[1]),
                output_types: list(4, &cells[2]),
                output_formats: list(5, &cells[3]),
            });
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
        let [aicore, aiv] = CORE_TIMES.map(|column| number(&row.cell(column)));
        let busiest = aicore.max(aiv);
        (is_valid(aicore) && is_valid(aiv) && duration_us / busiest > ratio).then_some(busiest)
    }
}

/// The slots of a cell of types or formats; one that is empty has the word for it.
fn texts(cell: &str) -> Box<[Box<str>]> {
    match is_empty_cell(cell) {
        true => [Box::from("nan")].into(),
        false => slots(cell).map(Box::from).collect(),
    }
}

/// The inputs with those in the fractal format as matrices; `None` if none is in it.
fn matrices(inputs: Shapes<'_>, formats: &[Box<str>]) -> Option<Vec<Vec<i64>>> {
    let matrix = |at: usize, shape: &[i64]| restored(shape, formats.get(at)?);
    inputs.iter().enumerate().any(|(at, shape)| matrix(at, shape).is_some()).then(|| {
        inputs.iter().enumerate().map(|(at, shape)| matrix(at, shape).unwrap_or_else(|| shape.to_vec())).collect()
    })
}
