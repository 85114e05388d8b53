//! The tables that a parsed profile replaces: what of them would be lost.

use crate::columns::{EP_SIZE, MEASURED_DURATION};
use crate::error::{CsvFault, Error};
use crate::row_identity::{IdentityColumns, RowIdentity};
use crate::table::{ReadOptions, Table};
use perfdb_files::input::{self, Kind, LARGEST_DOCUMENT_BYTES};
use perfdb_pycompat::text::trim;
use rustc_hash::FxHashMap;
use std::io;
use std::path::{Path, PathBuf};

/// The file that a new table replaces.
#[derive(Debug, Default)]
pub(super) struct Old {
    /// Its rows, if it is a readable table.
    pub(super) rows: Option<usize>,
    /// Those of them whose case the new table lacks.
    pub(super) dropped: Option<usize>,
    /// Its bytes, if they hold what the new table has not.
    pub(super) to_keep: Option<Vec<u8>>,
}

impl Old {
    /// Judges the file at `path`, where `write_new` writes the table that replaces it.
    pub(super) fn of(path: &Path, write_new: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>) -> Result<Old, Error> {
        let bytes = match input::read(path, Kind::RegularFile, LARGEST_DOCUMENT_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Old::default()),
            Err(error) => return Err(Error::io(path, error)),
        };
        match Table::parse(path, bytes, &ReadOptions::database()) {
            Ok(table) => {
                let mut new = Vec::new();
                write_new(&mut new)?;
                let new = Table::parse(path, new, &ReadOptions::database())?;
                let dropped = cases_without(&table, &new);
                let to_keep = has_own_values(&table, &new).then(|| table.source().to_vec());
                Ok(Old { rows: Some(table.row_count()), dropped: Some(dropped), to_keep })
            }
            Err(Error::Csv { fault: CsvFault::NoHeader, .. }) => Ok(Old::default()),
            Err(error @ Error::Csv { fault: CsvFault::LfsPointer, .. }) => Err(error),
            // Whatever it is, it is not lost.
            Err(_) => {
                let bytes = input::read(path, Kind::RegularFile, LARGEST_DOCUMENT_BYTES);
                let to_keep = Some(bytes.map_err(|source| Error::io(path, source))?);
                Ok(Old { to_keep, ..Old::default() })
            }
        }
    }
}

/// How many rows of the old table have no row of their case in the new one, which pairs the n-th of equal rows with the n-th. A case is what
/// both tables can say of it.
fn cases_without(old: &Table, new: &Table) -> usize {
    let shared = |name: &String| if new.column(name).is_some() { name.clone() } else { String::new() };
    let of_old = IdentityColumns::of_lookups(&old.columns().iter().map(shared).collect::<Vec<_>>());
    let of_new = IdentityColumns::of_lookups(new.columns());
    let mut left: FxHashMap<RowIdentity, usize> = FxHashMap::default();
    for row in new.rows() {
        *left.entry(of_new.of_row(|column| row.cell(column).into())).or_default() += 1;
    }
    let has_left = |identity: RowIdentity| match left.get_mut(&identity) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    old.rows().map(|row| of_old.of_row(|column| row.cell(column).into())).map(has_left).filter(|found| !found).count()
}

/// Whether a table has values that were measured or filled in, which the new one lacks: a column of measurements, or of runtime values that are not
/// the profile's own.
fn has_own_values(old: &Table, new: &Table) -> bool {
    let is_own = |name: &str| {
        name == MEASURED_DURATION
            || name == EP_SIZE
            || name.starts_with("MicroBench ")
            || name.starts_with("Runtime ") && !new_values_cover(old, new, name)
    };
    let own: Vec<usize> = (0..old.columns().len()).filter(|&column| is_own(&old.columns()[column])).collect();
    old.rows().any(|row| own.iter().any(|&column| !trim(row.cell(column)).is_empty()))
}

/// Whether all values of a column stand in the new table, too.
fn new_values_cover(old: &Table, new: &Table, name: &str) -> bool {
    let values = |table: &Table| {
        let column = table.column(name)?;
        let cells = table.rows().map(|row| trim(row.cell(column)).to_owned());
        Some(cells.filter(|cell| !cell.is_empty()).collect::<std::collections::BTreeSet<_>>())
    };
    match (values(old), values(new)) {
        (Some(old), Some(new)) => old.is_subset(&new),
        (old, _) => old.is_none_or(|old| old.is_empty()),
    }
}

/// Where an old table is kept: the first free name, or one that holds these bytes already.
pub(super) fn place_to_keep(path: &Path, bytes: &[u8]) -> Result<(PathBuf, bool), Error> {
    let mut number = 1;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 1 { ".replaced".to_owned() } else { format!(".replaced_{number}") });
        let place = PathBuf::from(name);
        match input::read(&place, Kind::RegularFile, LARGEST_DOCUMENT_BYTES) {
            Ok(there) if there == bytes => return Ok((place, true)),
            Ok(_) => number += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((place, false)),
            Err(error) if matches!(error.kind(), io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput) => {
                number += 1;
            }
            Err(error) => return Err(Error::io(place, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn a_name_is_taken_by_other_content_alone() -> TestResult {
        let folder = tempfile::tempdir()?;
        let table = folder.path().join("Add.csv");
        let place = |number: &str| folder.path().join(format!("Add.csv.replaced{number}"));
        assert_eq!(place_to_keep(&table, b"old")?, (place(""), false));
        fs::write(place(""), "older")?;
        fs::create_dir(place("_2"))?;
        nix::unistd::mkfifo(&place("_3"), nix::sys::stat::Mode::S_IRWXU)?;
        assert_eq!(place_to_keep(&table, b"old")?, (place("_4"), false));
        fs::write(place("_4"), "old")?;
        assert_eq!(place_to_keep(&table, b"old")?, (place("_4"), true));
        Ok(())
    }

    #[test]
    fn a_name_that_cannot_be_read_ends_the_run() -> TestResult {
        let folder = tempfile::tempdir()?;
        std::os::unix::fs::symlink("Add.csv.replaced", folder.path().join("Add.csv.replaced"))?;
        let error = place_to_keep(&folder.path().join("Add.csv"), b"old").err().ok_or("a link to itself is taken")?;
        assert!(error.to_string().contains("Add.csv.replaced: "), "{error}");
        Ok(())
    }

    fn judged(old: &str, new: &str) -> Result<(usize, bool), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let table = folder.path().join("Add.csv");
        fs::write(&table, old)?;
        let old = Old::of(&table, |out| {
            out.extend_from_slice(new.as_bytes());
            Ok(())
        })?;
        Ok((old.dropped.ok_or("no table")?, old.to_keep.is_some()))
    }

    #[test]
    fn rows_without_their_case_are_dropped_and_filled_values_are_kept() -> TestResult {
        let new = "Input Shapes,Runtime topk,Profiling Average Duration(us)\n4,,1\n5,,1\n";
        assert_eq!(judged("Input Shapes,note\n5,x\n\"4\",y\n", new)?, (0, false));
        assert_eq!(judged("Input Shapes\n5\n5\n6\n", new)?, (2, false));
        assert_eq!(judged("Input Shapes,Runtime topk\n4,2048\n", new)?, (1, true));
        assert_eq!(judged("Input Shapes,Runtime mode\n4,2048\n", new)?, (0, true));
        assert_eq!(judged("Input Shapes,Runtime topk\n4,\n", new)?, (0, false));
        assert_eq!(judged("Input Shapes,MicroBench Duration(us)\n4,2\n", new)?, (0, true));
        // What the profile itself says of attention is no value that somebody has filled in.
        let new = "Input Shapes,Runtime topk\n4,2048\n";
        assert_eq!(judged("Input Shapes,Runtime topk\n4,2048\n", new)?, (0, false));
        Ok(())
    }

    #[test]
    fn a_pipe_in_the_place_of_a_table_is_refused() -> TestResult {
        let folder = tempfile::tempdir()?;
        let table = folder.path().join("Add.csv");
        nix::unistd::mkfifo(&table, nix::sys::stat::Mode::S_IRWXU)?;
        let error = Old::of(&table, |_| Ok(())).err().ok_or("a pipe is read")?;
        assert!(error.to_string().ends_with("Add.csv: is a pipe, not a regular file"), "{error}");
        Ok(())
    }
}
