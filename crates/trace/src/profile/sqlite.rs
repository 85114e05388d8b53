//! A SQLite file, opened so that nothing appears beside it, with any columns.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use crate::Error;
use crate::source::Source;
use crate::time::Picoseconds;
use perfdb_files::escape::shown;
use perfdb_files::parallel::OrderedMap;

/// How a SQLite file begins.
pub(super) const SQLITE: &[u8] = b"SQLite format 3\0";

/// The most that is inflated: 2 GiB.
const LARGEST_INFLATED: u64 = 2 << 30;

/// Numbers of rows that a thread takes at once.
const RANGE: i64 = 4096;

/// Tables whose numbers are further apart are read by one thread: most ranges would be empty.
const LARGEST_SPAN: i64 = 1 << 28;

/// More threads would wait for the one that takes what they read.
const MOST_THREADS: usize = 4;

/// An open file.
pub(super) struct Database<'a> {
    path: &'a Path,
    connection: Connection,
    /// Tables and their columns.
    tables: BTreeMap<String, Vec<String>>,
    /// Threads that read; one where the file was inflated, which only `connection` has.
    threads: usize,
}

impl<'a> Database<'a> {
    /// Opens a file that nobody writes.
    pub(super) fn open(path: &'a Path, threads: usize) -> Result<Database<'a>, Error> {
        let fault = |error| fault(path, &error);
        let (connection, threads) = if is_compressed(path) {
            let bytes = Source::open_regular(path)?.read_within(LARGEST_INFLATED)?;
            (in_memory(bytes).and_then(careful).map_err(fault)?, 1)
        } else {
            (connect(path)?, threads.min(MOST_THREADS))
        };
        let mut database = Database { path, connection, tables: BTreeMap::new(), threads };
        database.tables = database.read_tables().map_err(fault)?;
        Ok(database)
    }

    fn read_tables(&self) -> rusqlite::Result<BTreeMap<String, Vec<String>>> {
        let mut names = self.connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
        let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let mut tables = BTreeMap::new();
        for name in names {
            let mut columns = self.connection.prepare(&format!("PRAGMA table_info({})", quoted(&name)))?;
            let columns = columns.query_map([], |row| row.get(1))?.collect::<rusqlite::Result<_>>()?;
            tables.insert(name, columns);
        }
        Ok(tables)
    }

    /// An error about this file.
    pub(super) fn fault(&self, reason: impl Into<String>) -> Error {
        Error::Profile { path: self.path.to_owned(), reason: reason.into() }
    }

    /// What is beside the file and not read.
    pub(super) fn note(&self) -> Option<String> {
        let mut name = self.path.as_os_str().to_owned();
        name.push("-wal");
        let has_rows = std::fs::metadata(&name).is_ok_and(|data| data.len() > 0);
        has_rows.then(|| format!("{} beside it is not read: rows may be missing", shown(Path::new(&name))))
    }

    /// Names of the tables.
    pub(super) fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// Whether a table has a column.
    pub(super) fn has(&self, table: &str, column: &str) -> bool {
        self.tables.get(table).is_some_and(|columns| columns.iter().any(|name| name == column))
    }

    /// Goes through the rows of a table in their order; a column that is not there is NULL, a table that is not there is empty.
    pub(super) fn each(&self, table: &str, columns: &[&str], mut take: impl FnMut(Fields<'_>)) -> Result<(), Error> {
        let Some(query) = self.query(table, columns) else { return Ok(()) };
        let mut run = || {
            let mut statement = self.connection.prepare(&query)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                take(Fields(row));
            }
            Ok(())
        };
        run().map_err(|error| fault(self.path, &error))
    }

    /// Like [`each`](Database::each), of columns that hold integers, and on all threads: tables of events have millions of rows.
    pub(super) fn each_of_integers(
        &self,
        table: &str,
        columns: &[&str],
        mut take: impl FnMut(Integers<'_>),
    ) -> Result<(), Error> {
        let Some(query) = self.query(table, columns) else { return Ok(()) };
        let Some((number, first, last)) = self.numbers(table).filter(|_| self.threads > 1) else {
            let mut row = vec![None; columns.len()];
            return self.each(table, columns, |fields| {
                row.iter_mut().enumerate().for_each(|(at, value)| *value = fields.integer(at));
                take(Integers(&row));
            });
        };
        let query = format!("{query} WHERE {number} BETWEEN ?1 AND ?2");
        let mut connections = (0..self.threads).map(|_| connect(self.path)).collect::<Result<Vec<_>, _>>()?;
        let mut next = Some(first);
        let range = || {
            let range = next.map(|from| (from, last.min(from.saturating_add(RANGE - 1))));
            next = range.filter(|(_, to)| *to < last).map(|(_, to)| to + 1);
            Ok(range)
        };
        OrderedMap::new(&mut connections).run(
            range,
            |connection, range| integers(connection, &query, range, columns.len()),
            |rows| {
                let rows = rows.map_err(|error| fault(self.path, &error))?;
                rows.chunks_exact(columns.len()).for_each(|row| take(Integers(row)));
                Ok(ControlFlow::Continue(()))
            },
        )
    }

    /// What asks for columns of a table that is there.
    fn query(&self, table: &str, columns: &[&str]) -> Option<String> {
        let there = self.tables.get(table)?;
        let column =
            |name: &&str| if there.iter().any(|there| there == name) { quoted(name) } else { "NULL".to_owned() };
        let list: Vec<String> = columns.iter().map(column).collect();
        Some(format!("SELECT {} FROM {}", list.join(", "), quoted(table)))
    }

    /// What the numbers of the rows of a table are called, the first and the last one; nothing where it has few rows, none that are
    /// numbered, or numbers that are far apart.
    fn numbers(&self, table: &str) -> Option<(&'static str, i64, i64)> {
        let columns = self.tables.get(table)?;
        let is_free = |name: &&str| !columns.iter().any(|column| column.eq_ignore_ascii_case(name));
        let number = ["rowid", "_rowid_", "oid"].into_iter().find(is_free)?;
        let table = quoted(table);
        let query = format!("SELECT (SELECT min({number}) FROM {table}), (SELECT max({number}) FROM {table})");
        let (first, last): (i64, i64) =
            self.connection.query_row(&query, [], |row| Ok((row.get(0)?, row.get(1)?))).ok()?;
        (RANGE..LARGEST_SPAN).contains(&last.checked_sub(first)?).then_some((number, first, last))
    }
}

/// The rows of a range one after the other, by the query for that.
fn integers(
    connection: &mut Connection,
    query: &str,
    range: (i64, i64),
    columns: usize,
) -> rusqlite::Result<Vec<Option<i64>>> {
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query(range)?;
    let mut values = Vec::with_capacity(RANGE as usize * columns);
    while let Some(row) = rows.next()? {
        let fields = Fields(row);
        values.extend((0..columns).map(|at| fields.integer(at)));
    }
    Ok(values)
}

/// Integers of one row.
#[derive(Clone, Copy)]
pub(super) struct Integers<'a>(&'a [Option<i64>]);

impl Integers<'_> {
    #[inline]
    pub(super) fn integer(&self, at: usize) -> Option<i64> {
        self.0[at]
    }

    /// As [`Fields::span`].
    #[inline]
    pub(super) fn span(&self, start: usize, end: usize) -> Option<(Picoseconds, Picoseconds)> {
        span(self.integer(start)?, self.integer(end)?)
    }
}

/// One row.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(&'a Row<'a>);

impl Fields<'_> {
    /// An integer, however it is stored.
    pub(super) fn integer(&self, at: usize) -> Option<i64> {
        match self.0.get_ref(at).ok()? {
            ValueRef::Integer(number) => Some(number),
            ValueRef::Real(number) => whole(number),
            ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
            ValueRef::Null | ValueRef::Blob(_) => None,
        }
    }

    pub(super) fn text(&self, at: usize) -> Option<String> {
        match self.0.get_ref(at).ok()? {
            ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        }
    }

    /// What a text gives, without a copy of it; nothing where there is none.
    pub(super) fn with_text<T>(&self, at: usize, take: impl FnOnce(&str) -> T) -> Option<T> {
        match self.0.get_ref(at).ok()? {
            ValueRef::Text(text) => Some(take(&String::from_utf8_lossy(text))),
            _ => None,
        }
    }

    /// Start and duration of an event from two columns in nanoseconds.
    pub(super) fn span(&self, start: usize, end: usize) -> Option<(Picoseconds, Picoseconds)> {
        span(self.integer(start)?, self.integer(end)?)
    }
}

/// Start and duration from nanoseconds.
#[inline]
fn span(start: i64, end: i64) -> Option<(Picoseconds, Picoseconds)> {
    let duration = end.checked_sub(start).filter(|duration| *duration >= 0)?;
    Some((Picoseconds::from(start) * 1000, Picoseconds::from(duration) * 1000))
}

/// Opens a file that nobody writes.
fn connect(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(address(path)?, flags).and_then(careful);
    opened.map_err(|error| fault(path, &error))
}

/// Damaged files are found out, and nothing in them is run.
fn careful(connection: Connection) -> rusqlite::Result<Connection> {
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")?;
    Ok(connection)
}

/// Whether a file is a gzip stream.
fn is_compressed(path: &Path) -> bool {
    let mut first = [0; 2];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == [0x1f, 0x8b]
}

/// A database from the bytes of its file.
fn in_memory(bytes: Vec<u8>) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    connection.deserialize_read_exact("main", bytes.as_slice(), bytes.len(), true)?;
    Ok(connection)
}

/// A double that is an integer and exact.
fn whole(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The file as an address that says: read-only, and nobody else writes it, so there is nothing to lock.
fn address(path: &Path) -> Result<String, Error> {
    let whole = std::path::absolute(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    let mut address = "file://".to_owned();
    for byte in whole.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => address.push(char::from(*byte)),
            // Writing to a text does not fail.
            _ => drop(write!(address, "%{byte:02X}")),
        }
    }
    address.push_str("?mode=ro&immutable=1");
    Ok(address)
}

fn fault(path: &Path, error: &rusqlite::Error) -> Error {
    Error::Profile { path: path.to_owned(), reason: format!("this SQLite file cannot be read: {error}") }
}
