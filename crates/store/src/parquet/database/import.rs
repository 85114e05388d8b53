//! A database from what [`export`](super::export) wrote, or from Parquet files of other programs.

use super::files::{File, check_apart, files_below, is_of_engine, is_parquet};
use super::records::{Records, of_file};
use super::target::Target;
use crate::directory::check_table_name;
use crate::parquet::error::Error;
use crate::parquet::read::ParquetFile;
use perfdb_files::lock::LockOptions;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Imported {
    /// Tables.
    pub tables: usize,
    /// Their rows.
    pub rows: usize,
    /// Files that are not tables, copied as they are.
    pub copied: usize,
}

/// Writes every table of an export below `database`, and copies the other files. Cells that were changed since, by any program,
/// `duration_us` among them, are what is written; where none was, the bytes are those that were exported. Files of other programs become
/// tables by the names of their columns, one for each `kernel_type`. All or nothing, under the lock of the database; what a killed import
/// has begun is finished by the next one.
///
/// # Errors
/// When a file is not a table, when a duration and its column were changed to different numbers, and when a file with another content is
/// there already: nothing is replaced.
pub fn import(source: &Path, database: &Path, lock: &LockOptions<'_>) -> Result<Imported, Error> {
    check_apart(source, database)?;
    if source.is_file() {
        return Err(Error::unfit(source, "is a file; name the folder that export-database has written"));
    }
    let files = files_below(source)?;
    if !files.iter().any(|file| is_parquet(&file.below)) {
        return Err(Error::unfit(source, "no table (*.parquet) is here; is this what export-database wrote?"));
    }
    let mut imported = Imported::default();
    let mut target = Target::open(database, lock)?;
    // Some engines write a table in several files.
    let mut tables: BTreeMap<PathBuf, Records> = BTreeMap::new();
    for File { below, .. } in files {
        let from = source.join(&below);
        if is_parquet(&below) {
            for records in of_file(&ParquetFile::open(&from)?)? {
                match tables.entry(place(&below, &records)?) {
                    Entry::Vacant(empty) => {
                        empty.insert(records);
                    }
                    Entry::Occupied(mut taken) => {
                        if !taken.get_mut().append(&records) {
                            let reason = format!("has other columns than another file of {}", taken.key().display());
                            return Err(Error::unfit(&from, reason));
                        }
                    }
                }
            }
        } else if !is_of_engine(&below) {
            imported.copied += 1;
            target.copy(&from, &below, &database.join(&below))?;
        }
    }
    for (below, records) in &tables {
        imported.tables += 1;
        imported.rows += records.row_count;
        target.add(&database.join(below), &records.bytes())?;
    }
    target.commit()?;
    Ok(imported)
}

/// The table's file below a database: that of a plain file lies in the folder of its rows' kernel type, or beside it.
fn place(below: &Path, records: &Records) -> Result<PathBuf, Error> {
    // A folder with this ending, or of a partition, is one table to engines.
    let is_of_table = |folder: &Path| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".parquet") || name.contains('=')
    };
    let outer = below.ancestors().skip(1).take_while(|folder| is_of_table(folder)).last();
    let folder = outer.unwrap_or(below).parent().unwrap_or(Path::new(""));
    let own = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let partition = below.iter().filter_map(|part| part.to_str()?.strip_prefix("kernel_type=")).next_back();
    let name = records.table.clone().or(partition.map(str::to_owned)).unwrap_or_else(|| own(outer.unwrap_or(below)));
    let is_plain = Path::new(&name).file_name().is_some_and(|plain| plain == name.as_str());
    if !is_plain {
        return Err(Error::unfit(below, format!("kernel type {name:?} cannot be the name of a table")));
    }
    check_table_name(below, &name, &name)?;
    Ok(folder.join(format!("{name}.csv")))
}
