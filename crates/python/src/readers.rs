//! Files as streams of Arrow batches.

use crate::arrow::ArrowStream;
use crate::errors::error;
use arrow_array::builder::{Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use perfdb_trace::chrome::{Event, Field as EventField, Item, ReadOptions, Reader};
use perfdb_trace::kernels::{Options as KernelOptions, Reader as KernelReader};
use perfdb_trace::scan::Value;
use perfdb_trace::source::Source;
use pyo3::prelude::*;
use std::path::PathBuf;
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
    let open = move || {
        let mut source = Source::open(&path).map_err(|failure| error(&failure))?;
        let (schema, options) = (to_fill.clone(), options.clone());
        batches(to_fill.clone(), move |sender| read_events(&mut source, &options, &schema, columns, sender))
    };
    Ok(ArrowStream::new(schema, Box::new(open)))
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

/// The rows of a kernel table (kernel_details.csv, op_summary_*.csv, a database's table), as they are read: line, and every column
/// of the file as text. Files may be gzip.
#[pyfunction]
pub(crate) fn read_kernels(py: Python<'_>, path: PathBuf) -> PyResult<ArrowStream> {
    let read_header = || -> Result<Vec<String>, perfdb_trace::Error> {
        let mut source = Source::open(&path)?;
        Ok(KernelReader::new(&mut source, KernelOptions::comparison())?.header().to_vec())
    };
    let header = py.detach(read_header).map_err(|failure| error(&failure))?;
    let mut fields = vec![Field::new("line", DataType::UInt64, false)];
    fields.extend(header.iter().map(|name| Field::new(name, DataType::Utf8, true)));
    let schema = Arc::new(Schema::new(fields));
    let to_fill = schema.clone();
    let open = move || {
        let mut source = Source::open(&path).map_err(|failure| error(&failure))?;
        let schema = to_fill.clone();
        batches(to_fill.clone(), move |sender| read_rows(&mut source, &schema, sender))
    };
    Ok(ArrowStream::new(schema, Box::new(open)))
}

fn read_rows(
    source: &mut Source,
    schema: &SchemaRef,
    sender: &SyncSender<Result<RecordBatch, ArrowError>>,
) -> Result<(), ArrowError> {
    let mut reader = KernelReader::new(source, KernelOptions::comparison()).map_err(external)?;
    let names = schema.fields().iter().skip(1).map(|field| field.name());
    if !names.eq(reader.header()) {
        return Err(ArrowError::SchemaError("the file has other columns than when it was opened".to_owned()));
    }
    let mut line = UInt64Builder::new();
    let mut cells: Vec<StringBuilder> = reader.header().iter().map(|_| StringBuilder::new()).collect();
    let finish = |line: &mut UInt64Builder, cells: &mut Vec<StringBuilder>| {
        let mut columns: Vec<ArrayRef> = vec![Arc::new(line.finish())];
        columns.extend(cells.iter_mut().map(|texts| Arc::new(texts.finish()) as ArrayRef));
        sender.send(RecordBatch::try_new(schema.clone(), columns)).is_ok()
    };
    let mut rows = 0;
    while let Some(record) = reader.next_record().map_err(external)? {
        line.append_value(record.line());
        cells.iter_mut().enumerate().for_each(|(at, texts)| texts.append_option(record.get(at)));
        rows += 1;
        if rows % BATCH_ROWS == 0 && !finish(&mut line, &mut cells) {
            return Ok(());
        }
    }
    if rows % BATCH_ROWS != 0 {
        finish(&mut line, &mut cells);
    }
    Ok(())
}
