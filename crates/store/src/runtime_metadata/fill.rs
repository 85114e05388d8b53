//! The join.

use super::record::{FILLED, Key, Payload, for_each_line, read};
use super::row::key;
use crate::columns::INPUT_SHAPES;
use crate::error::{CsvFault, Error};
use crate::table::{LineEnd, ReadOptions, Table, Written};
use indexmap::IndexMap;
use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_files::paths::parent_of;
use perfdb_files::replace::{self, Parents, Staged};
use perfdb_pycompat::text::trim;
use perfdb_trace::source::Source;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// What to join, and where to write it.
#[derive(Debug)]
pub struct Options<'a> {
    /// The table of the attention kernel.
    pub table: &'a Path,
    /// The records, one JSON object per line.
    pub records: &'a Path,
    /// The table to write; may be the same.
    pub output: &'a Path,
    /// What `Runtime metadata_completeness` says in rows that were filled.
    pub tag: &'a str,
    /// How to take the lock of the output's directory.
    pub lock: LockOptions<'a>,
}

/// What a join did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Rows of the table.
    pub rows: usize,
    /// Rows with at least one record.
    pub matched: usize,
    /// Rows that were written.
    pub output_rows: usize,
}

const COMPLETENESS: &str = "Runtime metadata_completeness";

/// The payloads of a key, by the texts of their two lists of lengths.
type Payloads = IndexMap<[String; 2], Payload>;

/// Fills the table from the records. On an error every file is as it was.
pub fn fill(options: &Options<'_>) -> Result<Summary, Error> {
    let prepared = prepare(options)?;
    let summary = *prepared.summary();
    prepared.commit()?;
    Ok(summary)
}

/// A filled table that waits for its [`commit`](Prepared::commit). The directory of the output stays locked.
#[derive(Debug)]
#[must_use = "nothing has changed before `commit`"]
pub struct Prepared {
    summary: Summary,
    staged: Staged,
    locks: DirectoryLocks,
}

impl Prepared {
    /// What the run does.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Replaces the output.
    pub fn commit(self) -> Result<(), Error> {
        Ok(self.locks.commit(vec![self.staged])?)
    }
}

/// Fills the table from the records, and stages it.
pub fn prepare(options: &Options<'_>) -> Result<Prepared, Error> {
    replace::refuse_inputs([options.output], [options.records])?;
    // A table that cannot be used is told before a long file of records is read.
    let mut table = read_table(options.table)?;
    let records = records(options.records)?;
    // A pipe or a device needs no lock of its folder, and most of their folders take none.
    let locks = if replace::is_replaced(options.output) {
        DirectoryLocks::acquire([parent_of(options.output)], &options.lock)?
    } else {
        DirectoryLocks::default()
    };
    // Another run may have changed it while this one waited. A pipe gives its content once.
    if options.table.is_file() {
        table = read_table(options.table)?;
    }
    let rows = table.row_count();
    let matches = matches(&table, &records)?;
    let columns = columns(&mut table);
    let matched = matches.iter().filter(|payloads| payloads.is_some()).count();
    let copies = |row: usize| matches[row].map_or(1, IndexMap::len);
    let order: Vec<usize> = (0..rows).flat_map(|row| std::iter::repeat_n(row, copies(row))).collect();
    table.reorder(&order);
    let mut output_row = 0;
    for (row, payloads) in matches.iter().enumerate() {
        for (offset, payload) in payloads.iter().flat_map(|payloads| payloads.values()).enumerate() {
            for (column, text) in columns.iter().zip(payload.iter().map(String::as_str).chain([options.tag])) {
                table.set(output_row + offset, *column, text);
            }
        }
        output_row += copies(row);
    }
    let content = table.to_csv(Written { mark: true, line_end: LineEnd::CrLf });
    let staged = Staged::with(options.output, &content, Parents::MustExist)?;
    Ok(Prepared { summary: Summary { rows, matched, output_rows: table.row_count() }, staged, locks })
}

fn read_table(path: &Path) -> Result<Table, Error> {
    let table = Table::read(path, &ReadOptions::database())?;
    match table.column(INPUT_SHAPES) {
        Some(_) => Ok(table),
        None => Err(Error::csv(path, CsvFault::MissingColumns(vec![INPUT_SHAPES.to_owned()]))),
    }
}

fn records(path: &Path) -> Result<HashMap<Key, Payloads>, Error> {
    let failed = |source| Error::io(path, source);
    let file = File::open(path).map_err(failed)?;
    let source = Source::from_reader(path, file).map_err(|error| match error {
        perfdb_trace::Error::Io { source, .. } => failed(source),
        _ => Error::csv(path, CsvFault::LfsPointer),
    })?;
    let mut records: HashMap<Key, Payloads> = HashMap::new();
    let mut first = true;
    let result = for_each_line(BufReader::with_capacity(1 << 16, source.into_reader()), |number, line| {
        let line = if std::mem::take(&mut first) { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        let bad = |reason: String| BadLine::Content(number, reason);
        let text = std::str::from_utf8(line).map_err(|_| bad("not valid UTF-8".to_owned()))?;
        if trim(text).is_empty() {
            return Ok(());
        }
        let (key, payload) = read(line).map_err(bad)?;
        let lengths = [payload[1].clone(), payload[3].clone()];
        // A later record with the same lengths takes the place of the earlier one.
        records.entry(key).or_default().insert(lengths, payload);
        Ok(())
    });
    match result {
        Ok(()) => Ok(records),
        Err(BadLine::Io(source)) => Err(failed(source)),
        Err(BadLine::Content(number, reason)) => Err(Error::input(path, Some(number), reason)),
    }
}

enum BadLine {
    Io(io::Error),
    Content(u64, String),
}

impl From<io::Error> for BadLine {
    fn from(error: io::Error) -> Self {
        BadLine::Io(error)
    }
}

fn matches<'r>(table: &Table, records: &'r HashMap<Key, Payloads>) -> Result<Vec<Option<&'r Payloads>>, Error> {
    let shapes = table.column(INPUT_SHAPES);
    let find = |row: crate::table::Row<'_>| {
        let cell = shapes.map_or("", |column| row.cell(column));
        let key = key(cell).map_err(|reason| Error::input(table.path(), row.line(), reason))?;
        Ok(records.get(&key))
    };
    table.rows().map(find).collect()
}

/// The positions of the filled columns; missing ones are appended.
fn columns(table: &mut Table) -> Vec<usize> {
    for name in FILLED.iter().chain([&COMPLETENESS]) {
        if table.column(name).is_none() {
            table.push_column(name, "");
        }
    }
    FILLED.iter().chain([&COMPLETENESS]).filter_map(|name| table.column(name)).collect()
}
