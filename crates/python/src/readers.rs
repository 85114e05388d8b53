//! Files as streams of Arrow batches.

use crate::arrow::{ArrowStream, Origin};
use crate::errors::error;
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use perfdb_files::tables::Kind;
use perfdb_store::numeric::{ColumnKind, integer, real};
use perfdb_store::table::{LineEnd, push_csv_row};
use perfdb_trace::chrome::{Event, Field as EventField, Item, ReadOptions, Reader};
use perfdb_trace::kernels::{Options as KernelOptions, Reader as KernelReader};
use perfdb_trace::scan::Value;
use perfdb_trace::source::Source;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Rows of a batch: small enough to stream, large enough that its cost is not felt.
const BATCH_ROWS: usize = 16_384;

/// Batches that a thread reads ahead.
struct Batches {
    schema: SchemaRef,
    batches: Receiver<Result<RecordBatch, ArrowError>>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.recv().ok()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Reads on a thread of its own, two batches ahead of whoever takes them. It ends when nobody does.
fn batches(
    schema: SchemaRef,
    read: impl FnOnce(&SyncSender<Result<RecordBatch, ArrowError>>) -> Result<(), ArrowError> + Send + 'static,
) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    let (sender, batches) = sync_channel(2);
    let thread = std::thread::Builder::new().name("perfdb-reader".to_owned());
    thread.spawn(move || {
        if let Err(failure) = read(&sender) {
            // Nobody may be left to hear it.
            let _ = sender.send(Err(failure));
        }
    })?;
    Ok(Box::new(Batches { schema, batches }))
}

fn external(failure: perfdb_trace::Error) -> ArrowError {
    ArrowError::ExternalError(Box::new(failure))
}

/// The events of a chrome trace, as they are read: event, name, category, phase, pid, tid, start_us, duration_us, and a column
/// `args.<name>` for each of args. Files may be gzip. profiler: whether names that are not UTF-8 are fixed, as in traces of GPU profilers.
#[pyfunction]
#[pyo3(signature = (path, *, args = Vec::new(), profiler = true))]
pub(crate) fn read_trace(py: Python<'_>, path: PathBuf, args: Vec<String>, profiler: bool) -> PyResult<ArrowStream> {
    // Whoever named a file that is not there hears of it here.
    py.detach(|| Source::open(&path)).map_err(|failure| error(&failure))?;
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let number = |name: &str| Field::new(name, DataType::Float64, true);
    let mut fields = vec![Field::new("event", DataType::UInt64, false)];
    fields.extend(["name", "category", "phase", "pid", "tid"].map(text));
    fields.extend(["start_us", "duration_us"].map(number));
    fields.extend(args.iter().map(|name| text(&format!("args.{name}"))));
    let schema = Arc::new(Schema::new(fields));
    let preset = if profiler { ReadOptions::profiler() } else { ReadOptions::simulator() };
    let options = Arc::new(preset.args(args.iter().map(String::as_str)));
    let (to_fill, columns) = (schema.clone(), args.len());
    let origin = Origin::Trace { path: path.clone(), args, profiler };
    let open = move || {
        let mut source = Source::open(&path).map_err(|failure| error(&failure))?;
        let (schema, options) = (to_fill.clone(), options.clone());
        batches(to_fill.clone(), move |sender| read_events(&mut source, &options, &schema, columns, sender))
    };
    Ok(ArrowStream::new(schema, Box::new(open), origin))
}

fn read_events(
    source: &mut Source,
    options: &ReadOptions,
    schema: &SchemaRef,
    args: usize,
    sender: &SyncSender<Result<RecordBatch, ArrowError>>,
) -> Result<(), ArrowError> {
    let mut reader = Reader::new(source, options);
    let mut events = EventBuilders::new(args);
    while let Some(item) = reader.next_item().map_err(external)? {
        let Item::Event(event) = item else { continue };
        events.push(&event);
        if events.rows == BATCH_ROWS && sender.send(events.finish(schema)).is_err() {
            return Ok(());
        }
    }
    if events.rows > 0 {
        let _ = sender.send(events.finish(schema));
    }
    Ok(())
}

struct EventBuilders {
    rows: usize,
    event: UInt64Builder,
    texts: [StringBuilder; 5],
    times: [Float64Builder; 2],
    args: Vec<StringBuilder>,
}

impl EventBuilders {
    fn new(args: usize) -> EventBuilders {
        EventBuilders {
            rows: 0,
            event: UInt64Builder::new(),
            texts: std::array::from_fn(|_| StringBuilder::new()),
            times: std::array::from_fn(|_| Float64Builder::new()),
            args: (0..args).map(|_| StringBuilder::new()).collect(),
        }
    }

    fn push(&mut self, event: &Event<'_>) {
        self.rows += 1;
        self.event.append_value(event.index());
        let [name, category, phase, process, thread] = &mut self.texts;
        name.append_option(event.name());
        category.append_option(event.category());
        phase.append_option(event.field(EventField::Phase).map(written));
        process.append_option(event.process().map(written));
        thread.append_option(event.thread().map(written));
        let [start, duration] = &mut self.times;
        start.append_option(event.timestamp().map(|number| number.to_f64()));
        duration.append_option(event.duration().map(|number| number.to_f64()));
        for (at, texts) in self.args.iter_mut().enumerate() {
            texts.append_option(event.arg(at).map(written));
        }
    }

    fn finish(&mut self, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
        self.rows = 0;
        let mut columns: Vec<ArrayRef> = vec![Arc::new(self.event.finish())];
        columns.extend(self.texts.iter_mut().map(|texts| Arc::new(texts.finish()) as ArrayRef));
        columns.extend(self.times.iter_mut().map(|times| Arc::new(times.finish()) as ArrayRef));
        columns.extend(self.args.iter_mut().map(|texts| Arc::new(texts.finish()) as ArrayRef));
        RecordBatch::try_new(schema.clone(), columns)
    }
}

/// A text as it is; anything else as it is written.
fn written(value: Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => String::from_utf8_lossy(number.raw()).into_owned(),
        Value::Text(text) => text.decode_lossy().into_owned(),
        Value::List(raw) | Value::Object(raw) => String::from_utf8_lossy(raw.text()).into_owned(),
    }
}

/// The rows of a kernel table (kernel_details.csv, op_summary_*.csv, a database's table), as they are read: line, every column of the file,
/// as numbers where all its cells are, and as_written, the cells as they are written. Files may be gzip.
#[pyfunction]
pub(crate) fn read_kernels(py: Python<'_>, path: PathBuf) -> PyResult<ArrowStream> {
    let columns = py.detach(|| kinds(&path)).map_err(|failure| error(&failure))?;
    let mut fields = vec![Field::new("line", DataType::UInt64, false)];
    fields.extend(columns.iter().map(|(name, kind)| Field::new(name, data_type(*kind), true)));
    if columns.iter().all(|(name, _)| name != AS_WRITTEN) {
        fields.push(Field::new(AS_WRITTEN, DataType::Utf8, false));
    }
    let schema = Arc::new(Schema::new(fields));
    let to_fill = schema.clone();
    let origin = Origin::Kernels { path: path.clone() };
    let open = move || {
        let mut source = Source::open(&path).map_err(|failure| error(&failure))?;
        let (schema, columns) = (to_fill.clone(), columns.clone());
        batches(to_fill.clone(), move |sender| read_rows(&mut source, &schema, &columns, sender))
    };
    Ok(ArrowStream::new(schema, Box::new(open), origin))
}

const AS_WRITTEN: &str = "as_written";

/// The columns of a kernel table and what they are: the whole file is read for it.
fn kinds(path: &Path) -> Result<Vec<(String, Kind)>, perfdb_trace::Error> {
    let mut source = Source::open(path)?;
    let mut reader = KernelReader::new(&mut source, KernelOptions::comparison())?;
    let names = reader.header().to_vec();
    let mut columns: Vec<ColumnKind> = names.iter().map(|name| ColumnKind::new(name)).collect();
    while let Some(record) = reader.next_record()? {
        columns.iter_mut().enumerate().for_each(|(at, column)| column.add(&record.get(at).unwrap_or_default()));
    }
    Ok(names.into_iter().zip(columns.iter().map(ColumnKind::kind)).collect())
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Integer => DataType::Int64,
        Kind::Real => DataType::Float64,
        Kind::Text | Kind::Truth => DataType::Utf8,
    }
}

/// The cells of a column.
enum Cells {
    Integers(Int64Builder),
    Reals(Float64Builder),
    Texts(StringBuilder),
}

impl Cells {
    fn new(kind: Kind) -> Cells {
        match kind {
            Kind::Integer => Cells::Integers(Int64Builder::new()),
            Kind::Real => Cells::Reals(Float64Builder::new()),
            Kind::Text | Kind::Truth => Cells::Texts(StringBuilder::new()),
        }
    }

    /// Adds a cell; whether it is of the column's kind.
    fn push(&mut self, cell: Option<&str>) -> bool {
        let is_empty = cell.is_none_or(|cell| cell.trim().is_empty());
        match self {
            Cells::Texts(texts) => {
                texts.append_option(cell);
                true
            }
            Cells::Integers(numbers) => {
                let number = cell.and_then(integer);
                numbers.append_option(number);
                is_empty || number.is_some()
            }
            Cells::Reals(numbers) => {
                let number = cell.and_then(real);
                numbers.append_option(number);
                is_empty || number.is_some()
            }
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Cells::Integers(numbers) => Arc::new(numbers.finish()),
            Cells::Reals(numbers) => Arc::new(numbers.finish()),
            Cells::Texts(texts) => Arc::new(texts.finish()),
        }
    }
}

fn read_rows(
    source: &mut Source,
    schema: &SchemaRef,
    columns: &[(String, Kind)],
    sender: &SyncSender<Result<RecordBatch, ArrowError>>,
) -> Result<(), ArrowError> {
    let mut reader = KernelReader::new(source, KernelOptions::comparison()).map_err(external)?;
    if !columns.iter().map(|(name, _)| name).eq(reader.header()) {
        return Err(ArrowError::SchemaError("the file has other columns than when it was opened".to_owned()));
    }
    let has_record = schema.fields().len() > columns.len() + 1;
    let mut line = UInt64Builder::new();
    let mut cells: Vec<Cells> = columns.iter().map(|(_, kind)| Cells::new(*kind)).collect();
    let mut records = StringBuilder::new();
    let finish = |line: &mut UInt64Builder, cells: &mut Vec<Cells>, records: &mut StringBuilder| {
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(line.finish())];
        arrays.extend(cells.iter_mut().map(Cells::finish));
        if has_record {
            arrays.push(Arc::new(records.finish()));
        }
        sender.send(RecordBatch::try_new(schema.clone(), arrays)).is_ok()
    };
    let mut rows = 0;
    let mut written = Vec::new();
    while let Some(record) = reader.next_record().map_err(external)? {
        line.append_value(record.line());
        for (at, cells) in cells.iter_mut().enumerate() {
            if !cells.push(record.get(at).as_deref()) {
                let reason = format!("line {}: {} is not a number any more", record.line(), columns[at].0);
                return Err(ArrowError::SchemaError(reason));
            }
        }
        if has_record {
            written.clear();
            let texts: Vec<_> = (0..columns.len()).map(|at| record.get(at).unwrap_or_default()).collect();
            push_csv_row(&mut written, texts.iter().map(|text| &**text), LineEnd::Lf);
            records.append_value(String::from_utf8_lossy(&written).trim_end_matches('\n'));
        }
        rows += 1;
        if rows % BATCH_ROWS == 0 && !finish(&mut line, &mut cells, &mut records) {
            return Ok(());
        }
    }
    if rows % BATCH_ROWS != 0 {
        finish(&mut line, &mut cells, &mut records);
    }
    Ok(())
}
