//! `op_summary` files to samples.

use super::samples::{BaseCells, OperatorSamples, Sample, Samples};
use crate::columns::{EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, METRICS, OUTPUT_SHAPES, OUTPUT_TYPES, base};
use crate::directory::Home;
use crate::duration::is_valid;
use crate::error::{CsvFault, Error};
use crate::kernel::{DISPATCH_FFN_COMBINE, operator_name};
use crate::profile::{Piece, PieceEnd, ProfileFiles, ProfileRow, Wanted};
use crate::signature::{Cells, Rules, Signature, Variant};
use indexmap::map::Entry;
use perfdb_files::parallel::{OrderedMap, states};
use perfdb_pycompat::text::trim;
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// How to aggregate.
#[derive(Debug, Clone, Copy)]
pub struct AggregateOptions {
    /// Expert-parallel size of the replay of fused experts; 0 = unknown.
    pub ep_size: i64,
    /// Refuse measurements that do not belong here; `None` takes them all.
    pub home: Option<Home>,
    /// Keep all durations of a case, not only the shortest.
    pub keep_durations: bool,
    /// Threads that read.
    pub threads: usize,
}

impl Default for AggregateOptions {
    /// An accelerator's profile, on all cores.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        AggregateOptions { ep_size: 16, home: Some(Home::Accelerator), keep_durations: false, threads }
    }
}

const REQUIRED: [&str; 2] = ["OP Type", "Task Duration(us)"];
const TYPE: usize = 0;
const DURATION: usize = 1;
/// Behind the required columns: the base columns (the core is the task type), the expert-parallel size, the metrics.
const OPTIONAL: [&str; 9] = [
    "OP State",
    "Task Type",
    INPUT_SHAPES,
    INPUT_TYPES,
    INPUT_FORMATS,
    OUTPUT_SHAPES,
    OUTPUT_TYPES,
    "Output Formats",
    EP_SIZE,
];
const FIRST_BASE: usize = REQUIRED.len();
const ROW_EP_SIZE: usize = FIRST_BASE + OPTIONAL.len() - 1;
const FIRST_METRIC: usize = ROW_EP_SIZE + 1;

/// Reads summaries, in order. A measurement is a row with a valid duration; sums run in row order, for any number of threads.
pub fn aggregate(summaries: &[PathBuf], options: &AggregateOptions) -> Result<Samples, Error> {
    let _span = tracing::info_span!("read op_summary files", files = summaries.len()).entered();
    let optional = [OPTIONAL.as_slice(), METRICS.as_slice()].concat();
    let mut source = ProfileFiles::new(summaries, Wanted { required: &REQUIRED, optional: &optional });
    let pool: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
    let workers = AtomicUsize::new(0);
    let mut merger =
        Merger { options, summaries, file: 0, lines: 0, operators: Vec::new(), samples: Samples::default() };
    let mut worker_states = states(options.threads, Worker::default);
    // A piece per thread that is worked on, and one that waits.
    let pieces = 2 * worker_states.len();
    OrderedMap::new(&mut worker_states).tasks_ahead(pieces).run(
        || source.next_piece(pool.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()),
        |worker: &mut Worker, piece| worker.read(piece, summaries, || workers.fetch_add(1, Ordering::Relaxed)),
        |part: Result<Part, Error>| {
            let mut part = part?;
            let text = std::mem::take(&mut part.text);
            merger.merge(part)?;
            pool.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            Ok(ControlFlow::Continue(()))
        },
    )?;
    Ok(merger.samples)
}

/// The measurements of a piece.
struct Part {
    file: usize,
    worker: usize,
    /// Operators that this worker had not seen before.
    new_operators: Vec<String>,
    rows: Vec<Measurement>,
    ignored: u64,
    too_long: Option<u64>,
    end: PieceEnd,
    text: Vec<u8>,
}

struct Measurement {
    /// By the worker's count.
    operator: u32,
    line: u64,
    signature: Signature,
    /// Where the signature takes different cells for one case.
    exact: Option<Signature>,
    base: BaseCells,
    duration_us: f64,
    metrics: [f64; METRICS.len()],
}

#[derive(Default)]
struct Worker {
    number: Option<usize>,
    /// By the bytes of the cell; `None` for those that name no operator.
    operators: FxHashMap<Box<[u8]>, Option<(u32, Rules)>>,
    count: u32,
}

impl Worker {
    fn read(&mut self, piece: Piece, summaries: &[PathBuf], number: impl Fn() -> usize) -> Result<Part, Error> {
        let mut part = Part {
            file: piece.file,
            worker: *self.number.get_or_insert_with(number),
            new_operators: Vec::new(),
            rows: Vec::new(),
            ignored: 0,
            too_long: None,
            end: PieceEnd::default(),
            text: Vec::new(),
        };
        part.end = piece.for_each_row(&summaries[piece.file], |row| self.row(row, &mut part))?;
        part.text = piece.text;
        Ok(part)
    }

    fn row(&mut self, row: &ProfileRow<'_>, part: &mut Part) -> bool {
        if row.has_long_cell() {
            part.too_long = Some(row.line);
            return false;
        }
        let Some((operator, rules)) = self.operator(row, part) else { return true };
        let duration_us = row.number(DURATION);
        if !is_valid(duration_us) {
            part.ignored += 1;
            return true;
        }
        let cell = |at: usize| row.text(FIRST_BASE + at);
        let (input_shapes, input_types) = (cell(base::INPUT_SHAPES), cell(base::INPUT_TYPES));
        let input_formats = cell(base::INPUT_FORMATS);
        let (output_shapes, output_types) = (cell(base::OUTPUT_SHAPES), cell(base::OUTPUT_TYPES));
        let ep_size = row.text(ROW_EP_SIZE);
        let cells = Cells {
            input_shapes: &input_shapes,
            input_types: &input_types,
            input_formats: &input_formats,
            output_shapes: &output_shapes,
            output_types: &output_types,
            ep_size: &ep_size,
        };
        let (signature, exact) = (rules.signature(&cells), rules.exact(&cells));
        part.rows.push(Measurement {
            operator,
            line: row.line,
            signature,
            exact,
            base: BaseCells::new(std::array::from_fn(cell)),
            duration_us,
            metrics: std::array::from_fn(|metric| {
                let value = row.number(FIRST_METRIC + metric);
                if value.is_finite() { value } else { 0.0 }
            }),
        });
        true
    }

    fn operator(&mut self, row: &ProfileRow<'_>, part: &mut Part) -> Option<(u32, Rules)> {
        let raw = row.raw(TYPE);
        if let Some(known) = self.operators.get(raw) {
            return *known;
        }
        let text = row.text(TYPE);
        let name = trim(&text);
        let operator = (!name.is_empty() && name != "N/A").then(|| {
            part.new_operators.push(name.to_owned());
            self.count += 1;
            (self.count - 1, Rules::new(name, Variant::Database))
        });
        self.operators.insert(raw.into(), operator);
        operator
    }
}

/// Merges parts in row order.
struct Merger<'a> {
    options: &'a AggregateOptions,
    summaries: &'a [PathBuf],
    file: usize,
    lines: u64,
    /// For each worker, its operators as positions in the samples.
    operators: Vec<Vec<String>>,
    samples: Samples,
}

impl Merger<'_> {
    fn merge(&mut self, part: Part) -> Result<(), Error> {
        if self.file != part.file {
            self.file = part.file;
            self.lines = 0;
        }
        let path = &self.summaries[part.file];
        if self.operators.len() <= part.worker {
            self.operators.resize(part.worker + 1, Vec::new());
        }
        self.operators[part.worker].extend(part.new_operators);
        for row in part.rows {
            if self.options.home.is_some_and(|home| !home.takes(row.base.get(1))) {
                let (path, line) = (path.clone(), self.lines + row.line);
                return Err(Error::ForeignTime { path, line, origin: row.base.get(1).to_owned() });
            }
            let operator = &self.operators[part.worker][row.operator as usize];
            let ep_size = (operator_name(operator) == DISPATCH_FFN_COMBINE)
                .then_some(self.options.ep_size)
                .filter(|size| *size != 0);
            add(&mut self.samples, operator, row, ep_size, self.options.keep_durations);
        }
        self.samples.ignored_rows += part.ignored;
        if let Some(line) = part.too_long {
            return Err(Error::csv_line(path, self.lines + line, CsvFault::CellTooLong));
        }
        if let Some(line) = part.end.open_quote {
            self.samples.open_quotes.push((path.clone(), self.lines + line));
        }
        self.lines += part.end.lines;
        Ok(())
    }
}

fn add(samples: &mut Samples, operator: &str, row: Measurement, ep_size: Option<i64>, keep_durations: bool) {
    if !samples.by_operator.contains_key(operator) {
        samples.by_operator.insert(operator.to_owned(), Default::default());
    }
    let Some(of_operator) = samples.by_operator.get_mut(operator) else { return };
    let mut one = Sample {
        base: row.base,
        minimum_us: row.duration_us,
        // Adding to zero turns a negative zero into a plain one, as the sum of the original does.
        metric_sums: row.metrics.map(|value| 0.0 + value),
        count: 1,
        durations_us: Vec::from_iter(keep_durations.then_some(row.duration_us)),
        ep_size,
        variants: OperatorSamples::default(),
    };
    let variant = row.exact.map(|exact| (exact, one.clone()));
    match of_operator.entry(row.signature) {
        Entry::Occupied(known) => {
            let known = known.into_mut();
            known.add(&one);
            if let Some((exact, one)) = variant {
                known.variants.entry(exact).and_modify(|known| known.add(&one)).or_insert(one);
            }
        }
        Entry::Vacant(new) => {
            one.variants.extend(variant);
            new.insert(one);
        }
    }
}
