//! Writes the rows of a run into the tables of a database: under the lock, all or nothing.

use crate::aggregate::Row;
use crate::collective::Collective;
use crate::error::Error;
use indexmap::IndexMap;
use perfdb_files::escape::shown;
use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_files::replace::{Parents, Staged, commit};
use perfdb_pycompat::float::push_repr;
use perfdb_store::{CsvFault, Error as StoreError};
use perfdb_trace::records::{Cell, Splitter};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The columns of a communication table.
pub const COLUMNS: [&str; 6] =
    ["message_bytes", "num_devices", "dtype", "topology_tier", "Duration(us)", "bandwidth_gbps"];

/// Where rows go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// One table per operator in this folder, which is made if missing.
    Directory(PathBuf),
    /// All into this file.
    File(PathBuf),
}

impl Destination {
    /// The folder that the tables lie in.
    pub fn folder(&self) -> PathBuf {
        match self {
            Self::Directory(folder) => folder.clone(),
            Self::File(file) => match file.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
                _ => PathBuf::from("."),
            },
        }
    }

    /// The table of an operator.
    pub fn table(&self, op: Collective) -> PathBuf {
        match self {
            Self::Directory(folder) => folder.join(op.table_file()),
            Self::File(file) => file.clone(),
        }
    }
}

/// What happens to rows that are there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Rows with the same size, devices, dtype and tier as a new one go; new ones follow the rest. Readers take the first row
    /// that fits, so an old one that stays would hide the new one.
    #[default]
    Merge,
    /// New ones follow, nothing goes.
    Append,
    /// An existing table is an error.
    Error,
}

/// A table that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenTable {
    /// The file.
    pub path: PathBuf,
    /// Rows of this run.
    pub new_rows: usize,
    /// Rows of earlier runs that this run replaced.
    pub replaced_rows: usize,
    /// Rows in the file now.
    pub total_rows: usize,
}

/// Checks, without a lock and without changing anything, that rows of these operators could be written: what is there can be
/// extended. Run before hours of measuring, not instead of the check that [`write()`] makes.
pub fn check(destination: &Destination, ops: &[Collective], existing: Existing) -> Result<(), Error> {
    check_folder(&destination.folder())?;
    for op in ops {
        compose(&destination.table(*op), &[], existing)?;
    }
    Ok(())
}

/// Checks, without changing anything, that a file could be written.
pub fn check_file(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return Err(Error::input(path, "is a directory"));
    }
    check_folder(&Destination::File(path.to_owned()).folder())
}

/// Checks that a folder is there and can be written to, or could be made.
fn check_folder(folder: &Path) -> Result<(), Error> {
    let nearest = folder.ancestors().find(|f| f.as_os_str().is_empty() || f.exists()).unwrap_or(folder);
    let nearest = if nearest.as_os_str().is_empty() { Path::new(".") } else { nearest };
    if !nearest.is_dir() {
        return Err(Error::input(nearest, "not a directory"));
    }
    // A file without a name tells what permissions alone do not: read-only and special file systems. It leaves nothing.
    tempfile::tempfile_in(nearest).map(drop).map_err(|e| Error::io(folder, e))
}

/// Writes rows and, in the same step, one more file (a report), if given.
///
/// The folder is made if it is missing, and locked; only then are existing tables read. When anything fails nothing has
/// changed and no new folder is left.
pub fn write(
    rows: &[Row],
    destination: Option<&Destination>,
    existing: Existing,
    report: Option<(&Path, &[u8])>,
    lock: &LockOptions<'_>,
) -> Result<Vec<WrittenTable>, Error> {
    // In this order, so that after a failure temporaries go first, then locks, then folders.
    let mut made = MadeFolders::default();
    let mut locks = None;
    let mut staged = Vec::new();
    let mut written = Vec::new();
    if let (Some(destination), false) = (destination, rows.is_empty()) {
        let folder = destination.folder();
        made.create(&folder)?;
        locks = Some(DirectoryLocks::acquire([&folder], lock)?);
        let mut by_table: IndexMap<PathBuf, Vec<&Row>> = IndexMap::new();
        for row in rows {
            by_table.entry(destination.table(row.op)).or_default().push(row);
        }
        let mut composed = Vec::new();
        for (path, rows) in by_table {
            composed.push((compose(&path, &rows, existing)?, path));
        }
        for (table, path) in composed {
            staged.push(Staged::with(&path, &table.bytes, Parents::MustExist)?);
            written.push(WrittenTable {
                path,
                new_rows: table.new_rows,
                replaced_rows: table.replaced_rows,
                total_rows: table.kept_rows + table.new_rows,
            });
        }
    }
    if let Some((path, bytes)) = report {
        staged.push(Staged::with(path, bytes, Parents::Create)?);
    }
    match &locks {
        Some(locks) => locks.commit(staged)?,
        None => commit(staged)?,
    }
    made.keep();
    drop(locks);
    Ok(written)
}

/// Folders made for a run, removed again unless they are kept.
#[derive(Default)]
struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    fn create(&mut self, folder: &Path) -> Result<(), Error> {
        let missing: Vec<&Path> = folder.ancestors().take_while(|f| !f.as_os_str().is_empty() && !f.exists()).collect();
        for folder in missing.into_iter().rev() {
            match std::fs::create_dir(folder) {
                Ok(()) => self.0.push(folder.to_owned()),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(folder, error)),
            }
        }
        if folder.is_dir() { Ok(()) } else { Err(Error::input(folder, "not a directory")) }
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // Only what is still empty: somebody else may have begun to use it.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// The new content of a table.
struct Composed {
    bytes: Vec<u8>,
    new_rows: usize,
    replaced_rows: usize,
    kept_rows: usize,
}

fn compose(path: &Path, rows: &[&Row], existing: Existing) -> Result<Composed, Error> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut text = COLUMNS.join(",") + "\r\n";
            rows.iter().for_each(|row| push_row(&mut text, row, "\r\n"));
            return Ok(Composed { bytes: text.into_bytes(), new_rows: rows.len(), replaced_rows: 0, kept_rows: 0 });
        }
        Err(error) => return Err(Error::io(path, error)),
    };
    if existing == Existing::Error {
        return Err(Error::input(path, "exists already; --existing merge or --existing append extends it"));
    }
    extend(path, &bytes, rows, existing)
}

fn extend(path: &Path, bytes: &[u8], rows: &[&Row], existing: Existing) -> Result<Composed, Error> {
    let fault = |line: Option<u64>, fault: CsvFault| StoreError::Csv { path: path.to_owned(), line, fault };
    if perfdb_files::lfs::is_pointer(&bytes) {
        return Err(fault(None, CsvFault::LfsPointer).into());
    }
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err(fault(None, CsvFault::NotUtf8 { offset: error.valid_up_to() as u64 }).into());
    }
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if body.is_empty() || body.starts_with(b"\r") || body.starts_with(b"\n") {
        return Err(fault(None, CsvFault::NoHeader).into());
    }
    let mut splitter = Splitter::new(body);
    let mut cells: Vec<Cell> = Vec::new();
    let header = splitter.next_record(&mut cells);
    let line_end = line_end(&body[..header.map_or(0, |record| record.end)]);
    let titles = texts(body, &cells);
    if titles != COLUMNS {
        let reason =
            format!("header is {}, expected {}", perfdb_files::escape::one_line(&titles.join(",")), COLUMNS.join(","));
        return Err(Error::input(path, reason));
    }
    let replaced: HashSet<[String; 4]> = match existing {
        Existing::Merge => rows.iter().map(|row| key(row)).collect(),
        Existing::Append | Existing::Error => HashSet::new(),
    };
    let mut out = bytes[..bytes.len() - body.len()].to_vec();
    let (mut copied, mut replaced_rows, mut kept_rows) = (0, 0, 0);
    while let Some(record) = splitter.next_record(&mut cells) {
        if cells.len() > COLUMNS.len() {
            let columns = COLUMNS.len();
            return Err(fault(Some(record.line), CsvFault::RowTooLong { cells: cells.len(), columns }).into());
        }
        let texts = texts(body, &cells);
        let own_key = std::array::from_fn(|column| texts.get(column).cloned().unwrap_or_default());
        if replaced.contains(&own_key) {
            out.extend_from_slice(&body[copied..record.start]);
            copied = record.end;
            replaced_rows += 1;
        } else {
            kept_rows += 1;
        }
    }
    if let Some(line) = splitter.open_quote() {
        return Err(fault(Some(line), CsvFault::UnterminatedQuote).into());
    }
    out.extend_from_slice(&body[copied..]);
    let mut text = String::new();
    if !rows.is_empty() && !matches!(out.last(), Some(b'\n' | b'\r')) {
        text.push_str(line_end);
    }
    rows.iter().for_each(|row| push_row(&mut text, row, line_end));
    out.extend_from_slice(text.as_bytes());
    Ok(Composed { bytes: out, new_rows: rows.len(), replaced_rows, kept_rows })
}

fn texts(body: &[u8], cells: &[Cell]) -> Vec<String> {
    let mut buffer = Vec::new();
    cells.iter().map(|cell| String::from_utf8_lossy(cell.decode(body, &mut buffer)).into_owned()).collect()
}

fn line_end(header: &[u8]) -> &'static str {
    match header {
        [.., b'\r', b'\n'] => "\r\n",
        [.., b'\n'] => "\n",
        [.., b'\r'] => "\r",
        _ => "\r\n",
    }
}

/// What makes two rows the same measurement, as the table writes it.
fn key(row: &Row) -> [String; 4] {
    [
        row.message_bytes.to_string(),
        row.num_devices.to_string(),
        row.dtype.table_name().to_owned(),
        row.topology_tier.to_string(),
    ]
}

/// Appends a row with its line end.
fn push_row(out: &mut String, row: &Row, line_end: &str) {
    out.push_str(&key(row).join(","));
    for number in [row.duration_us, row.bandwidth_gbps] {
        out.push(',');
        push_repr(out, number);
    }
    out.push_str(line_end);
}

/// Counts the rows of a table; `None` when it cannot be read.
pub fn count_rows(path: &Path) -> Option<usize> {
    let bytes = std::fs::read(path).ok()?;
    let mut splitter = Splitter::new(&bytes);
    let mut cells = Vec::new();
    let mut records: usize = 0;
    while splitter.next_record(&mut cells).is_some() {
        records += 1;
    }
    Some(records.saturating_sub(1))
}

/// One line about a written table, for people.
impl std::fmt::Display for WrittenTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} rows written", shown(&self.path), self.new_rows)?;
        if self.replaced_rows > 0 {
            write!(f, ", {} replaced", self.replaced_rows)?;
        }
        write!(f, ", {} in all", self.total_rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;
    use proptest::prelude::*;

    fn row(message_bytes: u64, duration_us: f64) -> Row {
        Row {
            op: Collective::AllReduce,
            message_bytes,
            num_devices: 4,
            dtype: DataType::BFloat16,
            topology_tier: 1,
            duration_us,
            bandwidth_gbps: 0.5,
        }
    }

    fn extended(text: &str, rows: &[Row], existing: Existing) -> Result<String, Error> {
        let rows: Vec<&Row> = rows.iter().collect();
        extend(Path::new("t.csv"), text.as_bytes(), &rows, existing).map(|c| String::from_utf8(c.bytes).unwrap())
    }

    const HEADER: &str = "message_bytes,num_devices,dtype,topology_tier,Duration(us),bandwidth_gbps";

    #[test]
    fn merging_replaces_equal_keys_and_keeps_all_other_bytes() {
        let text = format!(
            "{HEADER}\n1024,4,DT_BF16,1,9.0,0.1\n\"2048\",4,DT_BF16,1,9.0,0.1\n\n01024,4,DT_BF16,1,7,x\n1024,4,DT_FP16,1,8,y"
        );
        let merged = extended(&text, &[row(1024, 20.0), row(1024, 4.2)], Existing::Merge).unwrap();
        let expected = format!(
            "{HEADER}\n\"2048\",4,DT_BF16,1,9.0,0.1\n\n01024,4,DT_BF16,1,7,x\n1024,4,DT_FP16,1,8,y\n1024,4,DT_BF16,1,20.0,0.5\n1024,4,DT_BF16,1,4.2,0.5\n"
        );
        assert_eq!(merged, expected);
    }

    #[test]
    fn line_ends_and_the_mark_stay_as_found() {
        let text = format!("\u{feff}{HEADER}\r\n");
        assert_eq!(
            extended(&text, &[row(1024, 1.0)], Existing::Append).unwrap(),
            format!("{text}1024,4,DT_BF16,1,1.0,0.5\r\n")
        );
        let text = format!("{HEADER}\r");
        assert_eq!(
            extended(&text, &[row(1024, 1.0)], Existing::Merge).unwrap(),
            format!("{text}1024,4,DT_BF16,1,1.0,0.5\r")
        );
    }

    #[test]
    fn tables_that_cannot_be_extended_are_refused() {
        for (text, reason) in [
            ("", "no CSV header"),
            ("version https://git-lfs.github.com/spec/v1\n", "LFS"),
            ("message_bytes,num_devices\n", "header is"),
            (&format!("{HEADER}\n1,2,3,4,5,6,7\n"), "7 cells"),
            (&format!("{HEADER}\n1,\"2\n"), "unterminated quote"),
        ] {
            let error = extended(text, &[row(1024, 1.0)], Existing::Merge).unwrap_err().to_string();
            assert!(error.starts_with("t.csv") && error.contains(reason), "{error}");
        }
    }

    #[test]
    fn nothing_is_left_when_writing_fails() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a/b");
        let report = folder.path().to_owned();
        let destination = Destination::Directory(out.clone());
        let lock = LockOptions { tool: "test", timeout: std::time::Duration::ZERO, notice: &|_| {} };
        let failed = write(&[row(1024, 1.0)], Some(&destination), Existing::Merge, Some((&report, b"x")), &lock);
        assert!(failed.is_err());
        assert!(!folder.path().join("a").exists());
        let written = write(&[row(1024, 1.0)], Some(&destination), Existing::Merge, None, &lock).unwrap();
        assert_eq!((written[0].new_rows, written[0].total_rows), (1, 1));
        let names: Vec<_> = std::fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["hcom_allReduce_.csv"]);
    }

    #[test]
    fn folders_that_cannot_be_made_are_refused_before_anything_runs() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let refused = |path: &Path| check(&Destination::Directory(path.to_owned()), &Collective::ALL, Existing::Merge);
        assert!(refused(Path::new("/proc/none/below")).unwrap_err().to_string().starts_with("/proc/none/below: "));
        assert!(refused(&folder.path().join("file/below")).unwrap_err().to_string().contains("not a directory"));
        assert!(check_file(folder.path()).is_err());
        assert!(refused(&folder.path().join("new/below")).is_ok());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    proptest! {
        #[test]
        fn writing_the_same_rows_again_changes_nothing(sizes in proptest::collection::vec(1u64..9, 1..8)) {
            let rows: Vec<Row> = sizes.iter().map(|size| row(*size, 1.5)).collect();
            let once = extended(&format!("{HEADER}\r\n77,4,DT_BF16,1,1.0,1.0\r\n"), &rows, Existing::Merge).unwrap();
            prop_assert_eq!(extended(&once, &rows, Existing::Merge).unwrap(), once);
        }

        #[test]
        fn arbitrary_tables_never_panic(text in "[0-9,\"\r\n a]{0,80}") {
            let _ = extended(&format!("{HEADER}\n{text}"), &[row(1, 1.0)], Existing::Merge);
        }
    }
}
