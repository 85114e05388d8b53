//! What a file is, by its first bytes and its tables.

use std::io::{self, Read};
use std::path::Path;

use perfdb_files::input::{self, Kind};

use super::model::Profile;
use super::sqlite::{Database, SQLITE};
use super::{ascend_table, ascend_timeline, nsys, refused, rocpd, rpd};
use crate::Error;
use crate::kernel_table::{Places, Record};
use crate::records::Splitter;
use crate::source::Source;

/// How much of a file is looked at.
const FIRST_BYTES: u64 = 64 * 1024;

/// How a profile of another form than Kineto's JSON is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A SQLite database.
    Database,
    /// A table with a row per kernel.
    AscendTable,
    /// A JSON list of events whose times are texts, in all likelihood Ascend's.
    AscendTimeline,
}

/// The form of a profile, by its first bytes; nothing where the file is none, or Kineto's JSON.
///
/// # Errors
/// When the file cannot be opened, or has a form that must be exported first.
pub fn form(path: &Path) -> Result<Option<Form>, Error> {
    // What can be read only once is a JSON trace or nothing.
    if !std::fs::metadata(path).is_ok_and(|data| data.is_file()) {
        return Ok(None);
    }
    let first = first_bytes(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    if first.starts_with(SQLITE) {
        return Ok(Some(Form::Database));
    }
    if is_text(&first, b"{") || is_text(&first, b"[") {
        let is_timeline = is_text(&first, b"[") && has_times_as_texts(&first);
        return Ok(is_timeline.then_some(Form::AscendTimeline));
    }
    match refused::reason(path, &first) {
        Some(reason) => Err(Error::Profile { path: path.to_owned(), reason }),
        None => Ok(is_table(&first).then_some(Form::AscendTable)),
    }
}

/// Reads a profile of another form than Kineto's JSON, a database with that many threads; nothing where the file is none.
///
/// # Errors
/// When the file cannot be read, is a database or a table that holds no profile, or has a form that must be exported first.
pub fn open(path: &Path, threads: usize) -> Result<Option<Profile>, Error> {
    let profile = match form(path)? {
        Some(Form::Database) => database(&Database::open(path, threads)?).map(Some),
        Some(Form::AscendTable) => ascend_table::read(Source::open_regular(path)?).map(Some),
        Some(Form::AscendTimeline) => open_ascend_timeline(path),
        None => Ok(None),
    };
    profile.map(|profile| profile.map(with_notes))
}

/// What was left out is said.
fn with_notes(mut profile: Profile) -> Profile {
    let rows = |count: u64| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
    if profile.repeated > 0 {
        profile.notes.push(format!("{} of collectives listed twice: counted once", rows(profile.repeated)));
    }
    if profile.skipped > 0 {
        profile.notes.push(format!("{} without a usable start and end: left out", rows(profile.skipped)));
    }
    profile
}

/// The first bytes of a file, inflated where that is needed. What is wrong with it is reported by whoever reads it.
fn first_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    input::open(path, Kind::RegularFile)?.take(FIRST_BYTES).read_to_end(&mut first)?;
    if first.starts_with(&[0x1f, 0x8b]) {
        let mut inflated = Vec::new();
        let _ = flate2::read::GzDecoder::new(first.as_slice()).take(FIRST_BYTES).read_to_end(&mut inflated);
        return Ok(inflated);
    }
    Ok(first)
}

/// Reads `trace_view.json` of Ascend's profiler; nothing where it is another JSON trace.
///
/// # Errors
/// When the file cannot be read or is not a JSON trace.
pub fn open_ascend_timeline(path: &Path) -> Result<Option<Profile>, Error> {
    ascend_timeline::read(Source::open_regular(path)?)
}

/// Whether the text of an event of a JSON trace names a process that only Ascend's profiler writes.
pub fn names_ascend(event: &[u8]) -> bool {
    let text = |name: &str| memchr::memmem::find(event, format!("\"{name}\"").as_bytes()).is_some();
    ascend_timeline::PROCESSES.into_iter().any(text)
}

fn database(database: &Database<'_>) -> Result<Profile, Error> {
    let has = |wanted: &dyn Fn(&str) -> bool| database.tables().any(wanted);
    let found = if has(&nsys::has_table) {
        Some(nsys::read(database))
    } else if rpd::has_tables(|table| has(&|name| name == table)) {
        Some(rpd::read(database))
    } else if has(&rocpd::has_table) {
        Some(rocpd::read(database))
    } else {
        None
    };
    if let Some(found) = found {
        return found.map(|mut profile| {
            profile.notes.extend(database.note());
            profile
        });
    }
    let reason = if has(&|name| name == "TASK") && has(&|name| name == "STRING_IDS") {
        refused::ASCEND_DATABASE
    } else {
        "a SQLite file, but no table of nsys, RPD or rocpd in it"
    };
    Err(database.fault(reason))
}

fn is_text(first: &[u8], start: &[u8]) -> bool {
    let first = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
    first.trim_ascii_start().starts_with(start)
}

/// Kineto writes times as numbers, Ascend's profiler as texts.
fn has_times_as_texts(first: &[u8]) -> bool {
    let behind = memchr::memmem::find(first, b"\"ts\"").and_then(|at| first.get(at + 4..));
    let behind = behind.and_then(|behind| behind.trim_ascii_start().strip_prefix(b":"));
    behind.is_some_and(|value| value.trim_ascii_start().starts_with(b"\""))
}

/// Whether a file begins with the header of a table of kernels.
fn is_table(first: &[u8]) -> bool {
    let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
    let mut cells = Vec::new();
    let found = Splitter::new(text).next_record(&mut cells).is_some();
    found && Places::new(&Record { text, cells: &cells }.names()).is_table()
}
