//! The files of a database.

use super::MAPPING;
use crate::directory::{is_side_folder, is_table, is_table_name};
use crate::parquet::error::Error;
use crate::provenance::FILE_NAME as RECORD;
use perfdb_files::escape::shown;
use perfdb_files::input::{self, Kind, LARGEST_TEXT_BYTES, not_a_regular_file};
use perfdb_files::lock::{JOURNAL_FILE, LOCK_FILE};
use perfdb_files::paths::absolute;
use perfdb_files::replace::{Staged, is_leftover_name};
use perfdb_files::walk::walk;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A file of a database.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct File {
    /// Its path below the database.
    pub(super) below: PathBuf,
    /// Whether it is a table; mappings and descriptions are none.
    pub(super) is_table: bool,
}

/// All files below a folder in the order of their paths. What tools keep beside a database (reports, profiles of runs, leftovers) is passed
/// over, and folders that are links are not entered, as everywhere.
pub(super) fn files_below(folder: &Path) -> Result<Vec<File>, Error> {
    let (mut files, mut in_place_of_files) = (Vec::new(), Vec::new());
    walk(
        folder,
        |name| !is_side_folder(name),
        |entry| {
            if entry.is_folder && (is_table_name(entry.name) || is_text(entry.below)) {
                in_place_of_files.push(folder.join(entry.below));
            }
            let is_own = !entry.is_folder && !OWN.contains(&entry.name) && !is_leftover_name(entry.name);
            if is_own {
                let path = folder.join(entry.below);
                files.push(File { below: entry.below.to_owned(), is_table: is_table(&path) });
            }
        },
    )?;
    // Whatever is in it, a table or mapping would be left out.
    if let Some(path) = in_place_of_files.into_iter().min() {
        let found = fs::metadata(&path).map_err(|source| Error::io(&path, source))?.file_type();
        return Err(Error::io(&path, not_a_regular_file(found)));
    }
    let real = fs::canonicalize(folder).map_err(|source| Error::io(folder, source))?;
    let mut kept = Vec::with_capacity(files.len());
    for file in files {
        if is_file_of(&folder.join(&file.below), &real)? {
            kept.push(file);
        }
    }
    kept.sort();
    Ok(kept)
}

/// What the tools keep in a database while they change it.
const OWN: [&str; 2] = [LOCK_FILE, JOURNAL_FILE];

/// Whether this is a file. A link to a folder is none, as everywhere; one that leads out of the database or nowhere is an error, and so is
/// what would wait for somebody.
fn is_file_of(path: &Path, folder: &Path) -> Result<bool, Error> {
    let found = fs::symlink_metadata(path).map_err(|source| Error::io(path, source))?.file_type();
    if !found.is_symlink() {
        return if found.is_file() { Ok(true) } else { Err(Error::io(path, not_a_regular_file(found))) };
    }
    let target = fs::canonicalize(path).map_err(|source| Error::io(path, source))?;
    if target.is_dir() {
        return Ok(false);
    }
    if !target.starts_with(folder) {
        return Err(Error::unfit(path, format!("is a link that leads out of the database, to {}", shown(&target))));
    }
    Ok(target.is_file())
}

/// Refuses two folders of which one lies in the other: what is written would be read.
pub(super) fn check_apart(from: &Path, to: &Path) -> Result<(), Error> {
    // Of a folder that is not there yet, the part that is there may be a link.
    let place = |path: &Path| {
        let real = |above: &Path| Some(fs::canonicalize(above).ok()?.join(path.strip_prefix(above).ok()?));
        absolute(&path.ancestors().find_map(real).unwrap_or_else(|| path.to_owned()))
    };
    let (source, target) = (place(from), place(to));
    if source.starts_with(&target) || target.starts_with(&source) {
        return Err(Error::unfit(
            to,
            format!("lies in {}, or the other way round; name another folder", from.display()),
        ));
    }
    Ok(())
}

/// Whether this is one of the files that people write and every tool reads whole.
fn is_text(below: &Path) -> bool {
    below == Path::new(MAPPING) || below == Path::new(RECORD)
}

/// Puts the bytes of a file, which lies there below a database, into a staged one. One that tools read whole is at most as long as they take;
/// others have any length.
pub(super) fn copied(from: &Path, below: &Path, mut staged: Staged) -> Result<Staged, Error> {
    let failed = |source| Error::io(from, source);
    if is_text(below) {
        let bytes = input::read(from, Kind::RegularFile, LARGEST_TEXT_BYTES).map_err(failed)?;
        staged.write_all(&bytes).map_err(failed)?;
        staged.sync()?;
        return Ok(staged);
    }
    let mut file = input::open(from, Kind::RegularFile).map_err(failed)?;
    io::copy(&mut file, &mut staged).map_err(failed)?;
    staged.sync()?;
    Ok(staged)
}

/// Whether a path ends in `.parquet`.
pub(super) fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "parquet")
}

/// The Parquet file of a table. Engines take files whose names begin with `_` or `.` for none.
pub(super) fn visible(table: &Path) -> PathBuf {
    let stem = table.file_stem().unwrap_or_default().to_string_lossy();
    let stem = if stem.starts_with(['_', '.']) { format!("kernel{stem}") } else { stem.into_owned() };
    table.with_file_name(format!("{stem}.parquet"))
}

/// What engines leave beside the files that they write.
pub(super) fn is_of_engine(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == "_SUCCESS" || name.ends_with(".crc") || name == "_metadata" || name == "_common_metadata"
}
