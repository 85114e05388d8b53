//! From a file to a report.

use std::collections::TryReserveError;
use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;

use perfdb_files::escape::shown;
use perfdb_trace::chrome::{Field, Item, Part, ReadError, ReadOptions, Reader, read_ordered};
use perfdb_trace::profile::{self, Form, Profile};
use perfdb_trace::scan::Value;
use perfdb_trace::source::{InflatesTooFar, Source};
use rustc_hash::FxHashSet;

use crate::certificate::Certificate;
use crate::code::Code;
use crate::error::Error;
use crate::file::{Text, open};
use crate::finding::{Evidence, Findings};
use crate::gpu::{Collector, report_of_profile};
use crate::input::Input;
use crate::json::{Mender, Plan, Tally};
use crate::report::{Kind, Report, Selection};
use crate::table::{TableMender, check_table};
use crate::tc::TcCollector;

/// Elements among which an event must stand.
const LOOKED_AT: usize = 1_000;
/// Elements among which an operation of the simulator must stand.
const LOOKED_AT_FOR_SHAPES: usize = 400;

/// How to check a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Which findings are looked for, and which count.
    pub selection: Selection,
    /// Threads that read a file that is not compressed; a trace with many kernels is then checked on two. The report is the same for any
    /// number.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Options {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Options { selection: Selection::default(), threads }
    }
}

/// Finds what a file is, what is wrong with it, and how far its numbers can be trusted.
///
/// Every file gives a report: a file that cannot be read as a trace is a finding. Only a file that cannot be
/// opened is an error.
///
/// ```
/// use perfdb_doctor::{Code, Kind, Options, Trust, check};
///
/// # let path = std::env::temp_dir().join(format!("perfdb-doctor-doc-{}.json", std::process::id()));
/// std::fs::write(&path, r#"{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1.5, "dur": 20}, {"#)?;
/// let report = check(&path, &Options::default())?;
/// assert_eq!((report.kind, report.trust), (Kind::GpuTrace, Trust::Low));
/// assert_eq!(report.findings[0].code, Code::TruncatedJson);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(path: &Path, options: &Options) -> Result<Report, Error> {
    let failed = |source| Error::Io { file: path.to_string_lossy().into_owned(), source };
    Input::open(path).map_err(failed)?.check(options)
}

/// [`Input::check`].
pub(crate) fn check_opened(input: &Input, options: &Options) -> Result<Report, Error> {
    let _span = tracing::debug_span!("check", path = %shown(input.name.as_ref())).entered();
    let started = Instant::now();
    let failed = |source| Error::Io { file: input.name.clone(), source };
    let report = check_input(input, options).map_err(failed)?;
    tracing::info!(
        "{}: {}, {} findings and {} notes in {:.3} s",
        shown(input.name.as_ref()),
        report.kind.name(),
        report.findings.len(),
        report.notes.len(),
        started.elapsed().as_secs_f64()
    );
    Ok(report)
}

fn check_input(input: &Input, options: &Options) -> io::Result<Report> {
    let profile = match profile::form(&input.path) {
        // A table is looked at row by row.
        Ok(None | Some(Form::AscendTable)) => Ok(None),
        Ok(Some(_)) => profile::open(&input.path, options.threads),
        Err(error) => Err(error),
    };
    match profile {
        Ok(Some(profile)) => return Ok(check_profile(profile, input, options)),
        Err(perfdb_trace::Error::Profile { reason, .. }) => return Ok(refused(&reason, input, options)),
        // What else cannot be read as a profile is looked at byte by byte.
        Ok(None) | Err(_) => {}
    }
    let opened = open(&input.path)?;
    match opened.text.clone() {
        Text::Empty => {
            let code = Code::EmptyFile;
            without_data(input, opened.reader, opened.oddities, code, Evidence::new(), options)
        }
        Text::LfsPointer(size) => {
            let evidence = size.into_iter().fold(Evidence::new(), |evidence, size| evidence.with("size", size));
            without_data(input, opened.reader, opened.oddities, Code::LfsPointer, evidence, options)
        }
        Text::Json => {
            if opened.oddities.is_plain()
                && let Some(report) = quick(input, options)?
            {
                return Ok(report);
            }
            tracing::info!("{}: something about the text is odd; it is read again, byte by byte", shown(&input.path));
            thorough(input, options)
        }
        Text::Other => {
            let (mender, tally) = TableMender::reader(opened.reader);
            let more = |found: &mut Findings| {
                opened.oddities.report(found);
                tally.lock().unwrap_or_else(std::sync::PoisonError::into_inner).report(found);
            };
            check_table(mender, &input.name, more, &options.selection)
        }
    }
}

fn check_profile(mut profile: Profile, input: &Input, options: &Options) -> Report {
    let mut report = report_of_profile(&mut profile, &input.name, &options.selection);
    report.kind = Kind::Profile(profile.kind);
    report
}

/// A form that no tool reads, with what makes a readable file of it.
fn refused(reason: &str, input: &Input, options: &Options) -> Report {
    let mut found = Findings::default();
    found.error(Code::NotATrace, 1.0, Evidence::new().with("reason", reason));
    Report::new(&input.name, Kind::Unknown, found, Certificate::default(), 0, &options.selection)
}

fn without_data(
    input: &Input,
    mut reader: impl Read,
    oddities: crate::file::Oddities,
    code: Code,
    evidence: Evidence,
    options: &Options,
) -> io::Result<Report> {
    // What is odd about the compression shows at the end.
    io::copy(&mut reader, &mut io::sink())?;
    let mut found = Findings::default();
    oddities.report(&mut found);
    found.error(code, 1.0, evidence);
    Ok(Report::new(&input.name, Kind::Unknown, found, Certificate::default(), 0, &options.selection))
}

/// Reads a file that may well be in order; `None` if anything about its text is odd.
fn quick(input: &Input, options: &Options) -> io::Result<Option<Report>> {
    let Some((mut source, kind)) = plain_trace(input) else { return Ok(None) };
    match read(&mut source, kind, options).map_err(plain) {
        Ok(Collected::Gpu(collector)) if !collector.needs_a_closer_look() => {
            Ok(Some(collector.report_with(&input.name, Findings::default(), &options.selection)))
        }
        Ok(Collected::Tc(collector)) if !collector.lint.is_suspicious() => {
            Ok(Some(collector.report_with(&input.name, Findings::default(), &options.selection)?))
        }
        // Another look would need as much.
        Err(error) if error.kind() == io::ErrorKind::OutOfMemory || InflatesTooFar::is_why(&error) => Err(error),
        _ => Ok(None),
    }
}

/// A file that begins as a trace does.
fn plain_trace(input: &Input) -> Option<(Source, Kind)> {
    let kind = kind_of(&mut Source::open(&input.path).ok()?).ok()??;
    Some((Source::open(&input.path).ok()?, kind))
}

/// Reads a file with any damage of its text, and reports the damage.
fn thorough(input: &Input, options: &Options) -> io::Result<Report> {
    let mended = || -> io::Result<_> {
        let opened = open(&input.path)?;
        let (mender, progress) = Mender::new(opened.reader, Plan::Check);
        let source = Source::from_reader(&input.name, mender).map_err(plain)?;
        Ok((source, opened.oddities, progress))
    };
    let (mut source, _, _) = mended()?;
    let kind = kind_of(&mut source).map_err(plain)?;
    drop(source);
    let (mut source, oddities, progress) = mended()?;
    let collected = read(&mut source, kind.unwrap_or(Kind::GpuTrace), options).map_err(plain)?;
    let tally = progress.tally();
    let mut found = Findings::default();
    oddities.report(&mut found);
    if kind.is_none() {
        return Ok(no_trace(input, found, &tally, options));
    }
    tally.report(&mut found);
    Ok(match collected {
        Collected::Gpu(collector) => collector.report_with(&input.name, found, &options.selection),
        Collected::Tc(collector) => collector.report_with(&input.name, found, &options.selection)?,
    })
}

fn no_trace(input: &Input, mut found: Findings, tally: &Tally, options: &Options) -> Report {
    let mut evidence = Evidence::new().with("keys", tally.top_keys.iter().take(20).cloned().collect::<Vec<_>>());
    if let Some(truncated) = tally.truncated {
        evidence = evidence.with("at_byte", truncated.at);
    }
    found.error(Code::NotATrace, 1.0, evidence);
    Report::new(&input.name, Kind::Unknown, found, Certificate::default(), 0, &options.selection)
}

fn plain(error: perfdb_trace::Error) -> io::Error {
    match error {
        perfdb_trace::Error::Io { source, .. } => source,
        error => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}

/// What kind of trace a JSON document is, from its first events.
fn kind_of(source: &mut Source) -> Result<Option<Kind>, perfdb_trace::Error> {
    let options = ReadOptions::profiler().args(["simulation_shapes"]);
    let mut reader = Reader::new(source, &options);
    let (mut seen, mut is_trace) = (0, false);
    while let Some(item) = reader.next_item()? {
        let Item::Event(event) = item else {
            (seen, is_trace) = (0, false);
            continue;
        };
        seen += 1;
        let has = |field| event.field(field).is_some();
        let timed = has(Field::Phase) || has(Field::Timestamp);
        is_trace |= timed && (has(Field::Name) || has(Field::Category));
        if seen <= LOOKED_AT_FOR_SHAPES && event.has_phase("X") && event.arg(0).is_some() {
            return Ok(Some(Kind::TcTrace));
        }
        if seen >= LOOKED_AT || (seen >= LOOKED_AT_FOR_SHAPES && is_trace) {
            break;
        }
    }
    Ok(is_trace.then_some(Kind::GpuTrace))
}

enum Collected {
    Gpu(Box<Collector>),
    Tc(Box<TcCollector>),
}

fn read(source: &mut Source, kind: Kind, options: &Options) -> Result<Collected, perfdb_trace::Error> {
    if kind == Kind::TcTrace {
        Ok(Collected::Tc(Box::new(read_tc(source, options)?)))
    } else {
        Ok(Collected::Gpu(Box::new(read_gpu(source, options)?)))
    }
}

fn read_gpu(source: &mut Source, options: &Options) -> Result<Collector, perfdb_trace::Error> {
    let read_options = ReadOptions::profiler().args(Collector::ARGS).all_members().with_forms();
    let path = source.path().to_owned();
    let mut collector = Collector::default();
    let mut members = Members::default();
    read_ordered(
        source,
        &read_options,
        options.threads.max(1),
        |piece: &mut Collector, event| {
            piece.take(event);
            Ok::<(), TryReserveError>(())
        },
        |part| {
            match part {
                Part::Chunk(piece) => {
                    collector.reserve(&piece)?;
                    collector.append(piece);
                }
                Part::Restart => {
                    collector = Collector::default();
                    collector.lint.suspect();
                }
                Part::Member { name, value } => {
                    members.look_at(name.raw(), &value, &mut collector);
                    if Collector::MEMBERS.iter().any(|member| name.is(member)) {
                        collector.take_member(&name, &value);
                    }
                }
            }
            Ok::<(), TryReserveError>(())
        },
    )
    .map_err(|error| read_error(&path, error))?;
    Ok(collector)
}

fn read_tc(source: &mut Source, options: &Options) -> Result<TcCollector, perfdb_trace::Error> {
    let read_options = ReadOptions::profiler().args(TcCollector::ARGS).all_members().with_forms();
    let path = source.path().to_owned();
    let mut collector = TcCollector::default();
    let mut rest = Collector::default();
    let mut members = Members::default();
    read_ordered(source, &read_options, options.threads.max(1), TcCollector::take, |part| {
        match part {
            Part::Chunk(piece) => collector.append(piece)?,
            Part::Restart => {
                collector = TcCollector::default();
                rest.lint.suspect();
            }
            Part::Member { name, value } => members.look_at(name.raw(), &value, &mut rest),
        }
        Ok::<(), TryReserveError>(())
    })
    .map_err(|error| read_error(&path, error))?;
    collector.lint.join(rest.lint);
    Ok(collector)
}

/// Refused memory is an error of the system's.
fn read_error(path: &Path, error: ReadError<TryReserveError, TryReserveError>) -> perfdb_trace::Error {
    match error {
        ReadError::Read(error) => error,
        ReadError::Event { reason, .. } | ReadError::Merge(reason) => {
            perfdb_trace::Error::Io { path: path.to_owned(), source: reason.into() }
        }
    }
}

/// The members at the top of a document.
#[derive(Default)]
struct Members {
    names: FxHashSet<Vec<u8>>,
}

impl Members {
    /// Whether a member is odd is noted in the collector.
    fn look_at(&mut self, name: &[u8], value: &Value<'_>, collector: &mut Collector) {
        let lint = &mut collector.lint;
        if !self.names.insert(name.to_vec()) || name.contains(&b'\\') || std::str::from_utf8(name).is_err() {
            lint.suspect();
        }
        match value {
            Value::Object(raw) | Value::List(raw) => lint.look_at_value(raw.text()),
            Value::Number(number) if !number.to_f64().is_finite() => lint.suspect(),
            Value::Text(text) if std::str::from_utf8(text.raw()).is_err() => lint.suspect(),
            _ => {}
        }
    }
}
