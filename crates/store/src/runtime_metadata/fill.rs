//! The join.

use super::record::{FILLED, Key, Payload, for_each_line, read};
use super::row::key;
use crate::columns::INPUT_SHAPES;
use crate::error::{CsvFault, Error};
use crate::profile::opened;
use crate::table::{LineEnd, ReadOptions, Table, Written};
use indexmap::IndexMap;
use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_files::paths::parent_of;
use perfdb_files::replace::{self, Parents, Staged};
use perfdb_pycompat::text::trim;
use std::collections::HashMap;
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
    /// The value of `Runtime metadata_completeness` in rows that were filled.
    pub tag: &'a str,
    /// How to take the lock of the output's directory.
    pub lock: LockOptions<'a>,
}

/// What a join did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Rows of the table.
    pub rows: usize,
    /// Rows with at least one record, without those that are left alone.
    pub matched: usize,
    /// Rows that hold just what their records say, and stay as they are.
    pub left_alone: usize,
    /// Rows that were written.
    pub output_rows: usize,
}

const COMPLETENESS: &str = "Runtime metadata_completeness";

/// Where the two lists of lengths stand in a payload.
const LENGTHS: [usize; 2] = [1, 3];

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
    // A table that cannot be used is an error before a long file of records is read.
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
    let Options { tag, .. } = *options;
    let joined = Join { table: &table, columns: &columns, matches: &matches, tag }.rows();
    let order: Vec<usize> = joined.rows.iter().map(|(row, _)| *row).collect();
    table.reorder(&order);
    for (row, (_, payload)) in joined.rows.iter().enumerate() {
        let Some(payload) = payload else { continue };
        for (column, text) in columns.iter().zip(payload.iter().map(String::as_str).chain([options.tag])) {
            table.set(row, *column, text);
        }
    }
    let content = table.to_csv(Written { byte_order_mark: true, line_end: LineEnd::CrLf });
    let staged = Staged::with(options.output, &content, Parents::MustExist)?;
    let Joined { matched, left_alone, .. } = joined;
    Ok(Prepared { summary: Summary { rows, matched, left_alone, output_rows: table.row_count() }, staged, locks })
}

/// The rows of a table with their records.
struct Join<'a, 'r> {
    table: &'a Table,
    /// Those that are filled, the completeness last.
    columns: &'a [usize],
    matches: &'a [Option<&'r Payloads>],
    tag: &'a str,
}

/// The rows of the filled table: which row each is a copy of, and what fills it.
#[derive(Default)]
struct Joined<'r> {
    rows: Vec<(usize, Option<&'r Payload>)>,
    matched: usize,
    left_alone: usize,
}

impl<'r> Join<'_, 'r> {
    fn rows(&self) -> Joined<'r> {
        let mut joined = Joined::default();
        let mut row = 0;
        while row < self.matches.len() {
            let end = self.end_of_copies(row);
            match self.matches[row] {
                None => joined.rows.extend((row..end).map(|row| (row, None))),
                Some(payloads) if self.is_filled(row, end, payloads) => {
                    joined.left_alone += end - row;
                    joined.rows.extend((row..end).map(|row| (row, None)));
                }
                Some(payloads) => {
                    joined.matched += end - row;
                    joined
                        .rows
                        .extend((row..end).flat_map(|row| payloads.values().map(move |payload| (row, Some(payload)))));
                }
            }
            row = end;
        }
        joined
    }

    /// Whether a run with the same records has filled these copies of one row: each holds a record, and all records come equally often.
    fn is_filled(&self, row: usize, end: usize, payloads: &Payloads) -> bool {
        let mut counts = vec![0_usize; payloads.len()];
        for copy in row..end {
            let found = payloads.get_index_of(&self.lengths(copy));
            match found.filter(|at| self.holds(copy, &payloads[*at])) {
                Some(at) => counts[at] += 1,
                None => return false,
            }
        }
        counts.iter().all(|count| *count == counts[0])
    }

    /// Whether a row has the values of a record, and the tag.
    fn holds(&self, row: usize, payload: &Payload) -> bool {
        let texts = payload.iter().map(String::as_str).chain([self.tag]);
        self.columns.iter().zip(texts).all(|(column, text)| self.table.cell(row, *column) == text)
    }

    /// One past the rows from `row` on that are alike but for what is filled.
    fn end_of_copies(&self, row: usize) -> usize {
        let is_copy = |other: &usize| {
            let mut columns = (0..self.table.columns().len()).filter(|column| !self.columns.contains(column));
            columns.all(|column| self.table.cell(row, column) == self.table.cell(*other, column))
        };
        row + (row..self.matches.len()).take_while(is_copy).count()
    }

    /// The texts of a row's two lists of lengths.
    fn lengths(&self, row: usize) -> [String; 2] {
        LENGTHS.map(|at| self.table.cell(row, self.columns[at]).to_owned())
    }
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
    let source = opened(path)?;
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
        let lengths = LENGTHS.map(|at| payload[at].clone());
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::time::Duration;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    /// The summary, and number of heads and note of each row.
    type Filled = (Summary, Vec<[String; 2]>);

    const ROWS: &str = "Input Shapes,note\r\n\"1;1;1;;;;2\",a\r\n\"9;9;9;;;;2\",b\r\n";

    fn record(first: u32, heads: u32) -> String {
        format!(
            "{{\"query_shape\": [1], \"key_shape\": [1], \"value_shape\": [1], \"actual_seq_lengths_kv\": [{first}, 2], \"num_heads\": {heads}}}\n"
        )
    }

    /// Fills the table in a folder with these records.
    fn fill_with(folder: &Path, records: &str) -> Result<Filled, Box<dyn std::error::Error>> {
        let (table, file): (PathBuf, PathBuf) = (folder.join("Fia.csv"), folder.join("records.jsonl"));
        std::fs::write(&file, records)?;
        let lock = LockOptions { tool: "test", timeout: Duration::ZERO, notice: &|_| {} };
        let summary = fill(&Options { table: &table, records: &file, output: &table, tag: "dumped", lock })?;
        let table = Table::read(&table, &ReadOptions::database())?;
        let cells = |row: crate::table::Row<'_>| {
            ["Runtime num_heads", "note"].map(|name| row.get(name).unwrap_or_default().to_owned())
        };
        Ok((summary, table.rows().map(cells).collect()))
    }

    #[test]
    fn rows_that_are_filled_are_left_alone() -> TestResult {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("Fia.csv"), ROWS)?;
        let records = record(1, 16) + &record(5, 16);
        let (first, rows) = fill_with(folder.path(), &records)?;
        assert_eq!(first, Summary { rows: 2, matched: 1, left_alone: 0, output_rows: 3 });
        assert_eq!(rows, [["16", "a"], ["16", "a"], ["", "b"]]);
        let written = std::fs::read(folder.path().join("Fia.csv"))?;
        let (again, _) = fill_with(folder.path(), &records)?;
        assert_eq!(again, Summary { rows: 3, matched: 0, left_alone: 2, output_rows: 3 });
        assert_eq!(std::fs::read(folder.path().join("Fia.csv"))?, written);
        Ok(())
    }

    #[test]
    fn other_records_fill_rows_again_as_the_original_does() -> TestResult {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("Fia.csv"), ROWS)?;
        fill_with(folder.path(), &(record(1, 16) + &record(5, 16)))?;
        let (again, rows) = fill_with(folder.path(), &(record(5, 32) + &record(7, 32)))?;
        assert_eq!(again, Summary { rows: 3, matched: 2, left_alone: 0, output_rows: 5 });
        assert_eq!(rows, [["32", "a"], ["32", "a"], ["32", "a"], ["32", "a"], ["", "b"]]);
        Ok(())
    }

    #[test]
    fn values_of_another_dump_are_replaced() -> TestResult {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("Fia.csv"), ROWS)?;
        fill_with(folder.path(), &record(1, 16))?;
        let (again, rows) = fill_with(folder.path(), &record(1, 32))?;
        assert_eq!((again.matched, again.left_alone), (1, 0));
        assert_eq!(rows, [["32", "a"], ["", "b"]]);
        Ok(())
    }
}
