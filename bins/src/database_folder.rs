//! A folder that is not a database: the databases below it.

use crate::{Failure, warn};
use perfdb_files::escape::shown;
use perfdb_files::paths::within;
use perfdb_query::Database;
use perfdb_store::directory::tables_in;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// How many databases are named, and how many folders are looked into for them.
const NAMED: usize = 5;
const LOOKED_INTO: usize = 2000;

/// Refuses a folder that is not there, and one without tables and without a mapping. A file is left to its readers.
pub(crate) fn refuse_other(directory: &Path) -> Result<(), Failure> {
    if let Err(error) = std::fs::metadata(directory)
        && error.kind() == std::io::ErrorKind::NotFound
    {
        return Err(Failure::lines(vec![format!("{}: {error}", shown(directory))]));
    }
    if directory.is_dir() && !is_database(directory) {
        Err(refusal(directory, "neither a table (*.csv) nor op_mapping.yaml is in it"))
    } else {
        Ok(())
    }
}

/// Refuses a folder without tables, of which nothing can be compared or copied.
pub(crate) fn refuse_without_tables(directory: &Path) -> Result<(), Failure> {
    refuse_other(directory)?;
    if directory.is_dir() && tables_in(directory).is_ok_and(|tables| tables.is_empty()) {
        Err(refusal(directory, "no table (*.csv) is in it"))
    } else {
        Ok(())
    }
}

/// Refuses a folder that is not a database and no place for one: something other than tables is in it.
pub(crate) fn refuse_target(directory: &Path) -> Result<(), Failure> {
    let is_visible = |entry: std::fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    let mut entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    if entries.any(is_visible) { refuse_without_tables(directory) } else { Ok(()) }
}

/// A database that has no tables, with those below it.
pub(crate) fn warn_without_tables(directory: &Path) {
    warn(&format!("{}: no table (*.csv) is in this database{}", shown(directory), hint_of_others(directory)));
}

/// A database that was copied without the folder of its collectives.
pub(crate) fn warn_without_collectives(database: &Database, directory: &Path) {
    if let Some(folder) = database.missing_collectives() {
        let [directory, folder] = [directory, &folder].map(shown);
        warn(&format!("{directory}: the folder of its collectives is missing, so none has a duration: {folder}"));
    }
}

fn refusal(directory: &Path, reason: &str) -> Failure {
    Failure::lines(vec![format!("{}: not a database: {reason}{}", shown(directory), hint_of_others(directory))])
}

/// The databases below a folder that is none; nothing where there are none.
pub(crate) fn hint_of_others(directory: &Path) -> String {
    let below = databases_below(directory);
    let named: Vec<String> = below.iter().take(NAMED).map(|path| shown(path).to_string()).collect();
    match below.len() {
        0 => String::new(),
        1..=NAMED => format!("; databases below it: {}", named.join(" ")),
        count => format!("; databases below it: {} and {} more", named.join(" "), count - NAMED),
    }
}

fn is_database(folder: &Path) -> bool {
    // A table that cannot be read is reported by who reads it.
    folder.join("op_mapping.yaml").is_file() || !tables_in(folder).is_ok_and(|tables| tables.is_empty())
}

/// Whether a profiler wrote its tables here.
fn is_profile(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.any(|name| name.starts_with("kernel_details") || name.starts_with("op_summary"))
}

/// The databases below a folder, those that are nearest to it first.
fn databases_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = VecDeque::from([folder.to_owned()]);
    let mut looked_into = 0;
    while let Some(here) = waiting.pop_front().filter(|_| looked_into < LOOKED_INTO) {
        looked_into += 1;
        if is_profile(&here) {
            continue;
        }
        if here != folder && is_database(&here) {
            found.push(here);
            continue;
        }
        let entries = std::fs::read_dir(&here).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut folders: Vec<PathBuf> = folders.map(|entry| within(&here, entry.file_name())).collect();
        folders.sort();
        waiting.extend(folders);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_above_databases_names_them() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/b", "c"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("op_mapping.yaml"), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("profile")).unwrap();
        std::fs::write(folder.path().join("profile/kernel_details.csv"), "").unwrap();
        assert!(refuse_other(&folder.path().join("c")).is_ok());
        let Err(Failure::Lines(lines)) = refuse_other(folder.path()) else { panic!("not refused") };
        let below = format!("; databases below it: {0}/c {0}/a/b", folder.path().display());
        assert!(lines[0].contains("not a database: ") && lines[0].ends_with(&below), "{}", lines[0]);
    }
}
