//! `--json FILE`: a summary for programs.

use crate::Failure;
use perfdb_store::replace::{Parents, Staged, commit};
use serde::Serialize;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file that a summary will be written to when the work is done.
///
/// It is opened first, so that a file that cannot be written is told before anything is changed.
#[derive(Debug)]
pub struct JsonFile {
    path: PathBuf,
    staged: Option<Staged>,
}

impl JsonFile {
    /// Opens the temporary of the file that was asked for.
    pub fn open(path: Option<&OsStr>) -> Result<Option<JsonFile>, Failure> {
        let Some(path) = path else { return Ok(None) };
        let path = Path::new(path);
        let folder_is_there = path.parent().is_some_and(|folder| folder.as_os_str().is_empty() || folder.is_dir());
        // The work may make the folder.
        let staged = if folder_is_there { Some(Staged::create(path, Parents::MustExist)?) } else { None };
        Ok(Some(JsonFile { path: path.to_owned(), staged }))
    }

    /// Writes the summary.
    pub fn write(self, summary: &impl Serialize) -> Result<(), Failure> {
        let text = perfdb_pycompat::json::to_string(summary)? + "\n";
        let mut staged = match self.staged {
            Some(staged) => staged,
            None => Staged::create(&self.path, Parents::MustExist)?,
        };
        staged.write_all(text.as_bytes()).map_err(|error| perfdb_store::Error::io(&self.path, error))?;
        Ok(commit(vec![staged])?)
    }
}
