//! What a run hands to the process that started it instead of writing it, so that the results of several runs are one set of files.
//!
//! A run leaves a document that names tables and the rows that are to leave them, and the text of its op_summary beside it. A run that is
//! killed leaves no document. No other file is touched before the process that started the runs takes over what they have left.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Removed, RunFiles};
use crate::error::Error;
use crate::journal::hash_of;
use crate::op_summary::OpSummary;
use crate::removal::Removal;
use perfdb_files::input::{self, Kind, LARGEST_DOCUMENT_BYTES};
use perfdb_files::lock::LockOptions;
use perfdb_files::replace::{Parents, Staged};
use perfdb_store::table::{ReadOptions, Table};

#[derive(Serialize, Deserialize)]
struct Document {
    removals: Vec<TableRows>,
    op_summary: Option<Written>,
}

/// Rows that are to leave a table.
#[derive(Serialize, Deserialize)]
struct TableRows {
    table: PathBytes,
    /// Of the table's file as it was planned.
    sha256: String,
    /// Positions, from 0.
    rows: Vec<usize>,
}

/// A file that is to be written, and the file beside the document that has its content.
#[derive(Serialize, Deserialize)]
struct Written {
    path: PathBytes,
    content: PathBytes,
}

/// A path as its bytes: not every path is a string.
#[derive(Serialize, Deserialize)]
struct PathBytes(Vec<u8>);

impl PathBytes {
    fn of(path: &Path) -> PathBytes {
        PathBytes(path.as_os_str().as_bytes().to_vec())
    }

    fn into_path(self) -> PathBuf {
        OsString::from_vec(self.0).into()
    }
}

/// The file beside `document` with the content of the op_summary that goes into the profile directory `profile`. Runs that share a folder
/// see by it which names of directories are taken.
pub(in crate::session) fn content_beside(document: &Path, profile: &Path) -> PathBuf {
    let mut name = profile.file_name().unwrap_or_default().to_owned();
    name.push(".csv");
    document.with_file_name(name)
}

impl RunFiles {
    /// Stages a document about the files of a run instead of the files. `warn` gets the tables that have changed meanwhile and stay as they are.
    pub(in crate::session) fn hand_over(
        document: &Path,
        removals: Vec<Removal>,
        op_summary: Option<&OpSummary>,
        warn: &dyn Fn(&str),
    ) -> Result<RunFiles, Error> {
        let mut files = RunFiles::default();
        let mut handed = Document { removals: Vec::new(), op_summary: None };
        for Removal { table, positions, rows } in removals {
            let path = table.path();
            if std::fs::read(path).map_err(|source| Error::io(path, source))? != table.source() {
                warn(&changed(path));
                continue;
            }
            let sha256 = hash_of(table.source());
            handed.removals.push(TableRows { table: PathBytes::of(path), sha256, rows: positions });
            files.removed.push(Removed { table: path.to_owned(), rows });
        }
        if let Some(op_summary) = op_summary {
            let content = content_beside(document, &op_summary.profile);
            files.add(Staged::with(&content, op_summary.content.as_bytes(), Parents::MustExist)?);
            handed.op_summary =
                Some(Written { path: PathBytes::of(&op_summary.path()), content: PathBytes::of(&content) });
        }
        let text = serde_json::to_vec(&handed).map_err(|error| Error::io(document, error.into()))?;
        files.add(Staged::with(document, &text, Parents::MustExist)?);
        Ok(files)
    }

    /// Stages what runs have handed over in these documents; those that are not there are passed over. Each run has said which of
    /// its rows leave their tables. `warn` gets the tables that have changed since then and stay as they are.
    ///
    /// # Errors
    /// A document that cannot be read, an op_summary that cannot be written.
    pub fn handed_over(
        documents: impl IntoIterator<Item = PathBuf>,
        lock: &LockOptions<'_>,
        warn: &dyn Fn(&str),
    ) -> Result<RunFiles, Error> {
        let (mut removals, mut summaries) = (Vec::new(), Vec::new());
        for document in documents {
            let failed = |source| Error::io(&document, source);
            let text = match input::read(&document, Kind::RegularFile, LARGEST_DOCUMENT_BYTES) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                read => read.map_err(failed)?,
            };
            let handed: Document = serde_json::from_slice(&text).map_err(|error| failed(error.into()))?;
            summaries.extend(handed.op_summary);
            for TableRows { table, sha256, rows } in handed.removals {
                let path = table.into_path();
                match Table::read(&path, &ReadOptions::database()) {
                    Ok(table) if hash_of(table.source()) == sha256 => {
                        removals.push(Removal { table, positions: rows, rows: Vec::new() });
                    }
                    _ => warn(&changed(&path)),
                }
            }
        }
        let mut files = RunFiles::stage(removals, lock, warn)?;
        for Written { path, content } in summaries {
            let (path, content) = (path.into_path(), content.into_path());
            let mut staged = Staged::create(&path, Parents::Create)?;
            let copied = File::open(&content).and_then(|mut content| io::copy(&mut content, &mut staged));
            copied.map_err(|source| Error::io(&path, source))?;
            staged.sync()?;
            files.add(staged);
        }
        Ok(files)
    }
}

pub(super) fn changed(table: &Path) -> String {
    format!("{}: changed while its rows were replayed, left as it is", table.display())
}
