//! `--json FILE`: a summary for programs.

use crate::Failure;
use clap::Args;
use perfdb_files::escape::shown;
use perfdb_files::paths::normalised;
use perfdb_files::paths::parent_of;
use perfdb_files::replace::{Parents, Staged, commit};
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A summary whose keys are perfdb's own, with the version of its format. It goes up when a key changes its meaning or goes away.
#[derive(Debug, Serialize)]
pub struct Versioned<T> {
    format_version: u32,
    #[serde(flatten)]
    summary: T,
}

impl<T: Serialize> Versioned<T> {
    /// The first version of a format.
    pub fn first(summary: T) -> Versioned<T> {
        Versioned { format_version: 1, summary }
    }
}

/// The files of a report, an option for each form.
#[derive(Debug, Clone, Args)]
pub(crate) struct ResultFiles {
    /// Write the whole report as JSON to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<OsString>,

    /// Write its rows as CSV to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<OsString>,

    /// Write it as one HTML page with charts to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<OsString>,
}

impl ResultFiles {
    /// Those that were asked for.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        [&self.json, &self.csv, &self.html].into_iter().flatten().map(Path::new)
    }
}

/// The file that a summary will be written to when the work is done.
///
/// It is opened first, so that a file that cannot be written is reported before anything is changed.
#[derive(Debug)]
pub struct JsonFile {
    path: PathBuf,
    staged: Option<Staged>,
}

impl JsonFile {
    /// Opens the temporary of the file that was asked for.
    pub fn open(path: Option<&OsStr>) -> Result<Option<JsonFile>, Failure> {
        let open = |path: &Path| -> Result<JsonFile, Failure> {
            let staged = Staged::create(path, Parents::MustExist)?;
            Ok(JsonFile { path: path.to_owned(), staged: Some(staged) })
        };
        path.map(Path::new).map(open).transpose()
    }

    /// [`JsonFile::open`] where tools would take a CSV in the folder `database` for a table of it.
    pub fn open_beside_tables(path: Option<&OsStr>, database: &Path) -> Result<Option<JsonFile>, Failure> {
        let folder = |path: &Path| std::fs::canonicalize(path).ok();
        let is_table = |path: &Path| {
            path.extension().is_some_and(|extension| extension == "csv")
                && folder(&parent_of(path)).is_some_and(|parent| Some(parent) == folder(database))
        };
        if let Some(path) = path.map(Path::new).filter(|path| is_table(path)) {
            return Err(Failure::usage(format!("{}: a CSV in the database would be a table of it", shown(path))));
        }
        JsonFile::open(path)
    }

    /// [`JsonFile::open`] for work that makes the folder `output`: below that, a missing folder is not an error yet.
    pub fn open_for(path: Option<&OsStr>, output: &Path) -> Result<Option<JsonFile>, Failure> {
        match path.map(Path::new) {
            Some(path) if !parent_of(path).is_dir() && normalised(path).starts_with(normalised(output)) => {
                Ok(Some(JsonFile { path: path.to_owned(), staged: None }))
            }
            _ => JsonFile::open(path),
        }
    }

    /// The file, for messages and checks.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes more of a document that is written as it is made; [`Self::stage_appended`] ends it.
    pub fn append(&mut self, text: &str) -> Result<(), Failure> {
        let staged = match &mut self.staged {
            Some(staged) => staged,
            none => none.insert(Staged::create(&self.path, Parents::MustExist)?),
        };
        Ok(staged.write_all(text.as_bytes()).map_err(|error| perfdb_files::Error::io(&self.path, error))?)
    }

    /// Stages what was appended.
    pub fn stage_appended(self) -> Result<Staged, Failure> {
        self.stage_text("")
    }

    /// Stages the summary, to be committed with the other files of a run.
    pub fn stage(self, summary: &impl Serialize) -> Result<Staged, Failure> {
        self.stage_text(&(perfdb_pycompat::json::to_string(summary)? + "\n"))
    }

    /// Writes the summary.
    pub fn write(self, summary: &impl Serialize) -> Result<(), Failure> {
        self.write_text(&(perfdb_pycompat::json::to_string(summary)? + "\n"))
    }

    /// Writes a document that has a form of its own.
    pub fn write_text(self, text: &str) -> Result<(), Failure> {
        Ok(commit(vec![self.stage_text(text)?])?)
    }

    /// Stages a document that has a form of its own.
    pub fn stage_text(self, text: &str) -> Result<Staged, Failure> {
        let mut staged = match self.staged {
            Some(staged) => staged,
            None => Staged::create(&self.path, Parents::MustExist)?,
        };
        staged.write_all(text.as_bytes()).map_err(|error| perfdb_files::Error::io(&self.path, error))?;
        staged.sync()?;
        Ok(staged)
    }
}
