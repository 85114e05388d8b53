//! Writes the rows of a run into the tables of a database: under the lock, all or nothing.

mod extend;

use crate::aggregate::Row;
use crate::collective::Collective;
use crate::error::Error;
use extend::compose;
use indexmap::IndexMap;
use perfdb_files::escape::shown;
use perfdb_files::folders::MadeFolders;
use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_files::replace::{Parents, Staged, commit};
use perfdb_store::provenance::{Identity, Record, Run};
use perfdb_store::table::{ReadOptions, Table};
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

/// Where rows go, and how.
#[derive(Clone, Debug)]
pub struct Target<'a> {
    /// Where rows go.
    pub destination: &'a Destination,
    /// What happens to rows that are there already.
    pub existing: Existing,
    /// What `database.toml` beside the tables will say of the run; its types are filled in. A single file is no database, and gets none.
    pub run: Option<Run>,
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

/// Checks, before hours of measuring, that a run could be recorded beside its tables.
pub(crate) fn check_record(destination: Option<&Destination>) -> Result<(), Error> {
    match destination {
        Some(Destination::Directory(folder)) => Ok(Record::load(folder).map(drop)?),
        _ => Ok(()),
    }
}

/// Checks, without changing anything, that a file could be written.
pub(crate) fn check_file(path: &Path) -> Result<(), Error> {
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
    // A file without a name shows what permissions alone do not: read-only and special file systems. It leaves nothing.
    tempfile::tempfile_in(nearest).map(drop).map_err(|e| Error::io(folder, e))
}

/// Writes rows and, in the same step, the files `besides`: a report, a page.
///
/// The folder is made if it is missing, and locked; only then are existing tables read. When anything fails nothing has
/// changed and no new folder is left.
pub fn write(
    rows: &[Row],
    target: Option<Target<'_>>,
    besides: &[(&Path, Vec<u8>)],
    lock: &LockOptions<'_>,
) -> Result<Vec<WrittenTable>, Error> {
    // In this order, so that after a failure temporaries go first, then locks, then folders.
    let mut made = MadeFolders::default();
    let mut locks = None;
    let mut staged = Vec::new();
    let mut written = Vec::new();
    if let (Some(Target { destination, existing, run }), false) = (target, rows.is_empty()) {
        let folder = destination.folder();
        made = make(&folder)?;
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
        if let (Some(mut run), Destination::Directory(_)) = (run, destination) {
            let name = |table: &WrittenTable| Some(table.path.file_stem()?.to_string_lossy().into_owned());
            run.types = written.iter().filter_map(name).collect();
            staged.extend(Record::stage_run(&folder, Identity::default(), run)?);
        }
    }
    for (path, bytes) in besides {
        staged.push(Staged::with(path, bytes, Parents::Create)?);
    }
    match &locks {
        Some(locks) => locks.commit(staged)?,
        None => commit(staged)?,
    }
    for table in &written {
        tracing::info!(table = %table.path.display(), rows = table.new_rows, replaced = table.replaced_rows, "written");
    }
    made.keep();
    drop(locks);
    Ok(written)
}

fn make(folder: &Path) -> Result<MadeFolders, Error> {
    MadeFolders::make(folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::NotADirectory => {
            Error::input(folder, "not a directory")
        }
        _ => Error::io(folder, error),
    })
}

/// Counts the rows of a table; `None` when it cannot be read.
pub(crate) fn count_rows(path: &Path) -> Option<usize> {
    Some(Table::read(path, &ReadOptions::database()).ok()?.row_count())
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
    use crate::dtype::CollectiveDType;

    pub(super) fn row(message_bytes: u64, duration_us: f64) -> Row {
        Row {
            op: Collective::AllReduce,
            message_bytes,
            num_devices: 4,
            dtype: CollectiveDType::BFLOAT16,
            topology_tier: 1,
            duration_us,
            bandwidth_gbps: 0.5,
        }
    }

    #[test]
    fn nothing_is_left_when_writing_fails() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a/b");
        let report = folder.path().to_owned();
        let destination = Destination::Directory(out.clone());
        let lock = LockOptions { tool: "test", timeout: std::time::Duration::ZERO, notice: &|_| {} };
        let target = Target { destination: &destination, existing: Existing::Merge, run: None };
        let failed = write(&[row(1024, 1.0)], Some(target.clone()), &[(&report, b"x".to_vec())], &lock);
        assert!(failed.is_err());
        assert!(!folder.path().join("a").exists());
        let written = write(&[row(1024, 1.0)], Some(target), &[], &lock).unwrap();
        assert_eq!((written[0].new_rows, written[0].total_rows), (1, 1));
        let names: Vec<_> = std::fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["hcom_allReduce_.csv"]);
    }

    #[test]
    fn a_run_is_recorded_beside_its_tables_and_sessions_of_one_collection_are_one_run() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("ATLAS_800_A3_752T_128G_DIE/hccl/v8.5");
        let lock = LockOptions { tool: "test", timeout: std::time::Duration::ZERO, notice: &|_| {} };
        let destination = Destination::Directory(out.clone());
        let run = |by: &str| {
            let mut run = Run::new("2026-01-01T00:00:00Z", "test");
            run.by = Some(by.to_owned());
            Some(run)
        };
        let target = |by| Target { destination: &destination, existing: Existing::Merge, run: run(by) };
        for (bytes, by) in [(1024, "Ana"), (2048, "Ana"), (4096, "Wei")] {
            write(&[row(bytes, 1.0)], Some(target(by)), &[], &lock).unwrap();
        }
        let record = Record::load(&out).unwrap().unwrap();
        assert_eq!(record.device.as_deref(), Some("ATLAS_800_A3_752T_128G_DIE"));
        assert_eq!(record.versions.cann.as_deref(), Some("8.5"));
        let runs: Vec<_> = record.runs().iter().map(|run| (run.by.as_deref(), run.types.as_slice())).collect();
        let types = ["hcom_allReduce_".to_owned()];
        assert_eq!(runs, [(Some("Ana"), types.as_slice()), (Some("Wei"), types.as_slice())]);

        std::fs::write(out.join("database.toml"), "format_version = x").unwrap();
        assert!(check_record(Some(&destination)).is_err());
        let before = std::fs::read(out.join("hcom_allReduce_.csv")).unwrap();
        assert!(write(&[row(8192, 1.0)], Some(target("Ana")), &[], &lock).is_err());
        assert_eq!(std::fs::read(out.join("hcom_allReduce_.csv")).unwrap(), before);

        let file = Destination::File(folder.path().join("rows.csv"));
        let target = Target { destination: &file, existing: Existing::Merge, run: run("Ana") };
        write(&[row(1024, 1.0)], Some(target), &[], &lock).unwrap();
        assert!(!folder.path().join("database.toml").exists());
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
}
