//! A SQLite file, opened so that nothing appears beside it, with any columns.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use crate::Error;
use crate::source::Source;
use crate::time::Picoseconds;
use perfdb_files::escape::shown;

/// How a SQLite file begins.
pub(super) const SQLITE: &[u8] = b"SQLite format 3\0";

/// The most that is inflated: 2 GiB.
const LARGEST_INFLATED: u64 = 2 << 30;

/// An open file.
pub(super) struct Database<'a> {
    path: &'a Path,
    connection: Connection,
    /// Tables and their columns.
    tables: BTreeMap<String, Vec<String>>,
}

impl<'a> Database<'a> {
    /// Opens a file that nobody writes.
    pub(super) fn open(path: &'a Path) -> Result<Database<'a>, Error> {
        let fault = |error| fault(path, &error);
        let connection = if is_compressed(path) {
            in_memory(Source::open_regular(path)?.read_within(LARGEST_INFLATED)?).map_err(fault)?
        } else {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Connection::open_with_flags(address(path)?, flags).map_err(fault)?
        };
        connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON").map_err(fault)?;
        let mut database = Database { path, connection, tables: BTreeMap::new() };
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
        if !self.tables.contains_key(table) {
            return Ok(());
        }
        let list: Vec<String> = columns
            .iter()
            .map(|column| if self.has(table, column) { quoted(column) } else { "NULL".to_owned() })
            .collect();
        let query = format!("SELECT {} FROM {}", list.join(", "), quoted(table));
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
        let (start, end) = (self.integer(start)?, self.integer(end)?);
        let duration = end.checked_sub(start).filter(|duration| *duration >= 0)?;
        Some((Picoseconds::from(start).checked_mul(1000)?, Picoseconds::from(duration).checked_mul(1000)?))
    }
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
