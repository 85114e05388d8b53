//! What can go wrong, with the file or option and the reason.

use crate::backend::Backend;
use perfdb_files::escape::{one_line as escape, shown};
use std::io;
use std::path::{Path, PathBuf};

/// Every error of this crate. The text begins with the file or option concerned and fits on one line; what a tool calls its
/// options, and which of them would help, is for the tool to add.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option, or a variable of the environment, that cannot be right.
    #[error("{option}: {reason}")]
    Usage {
        /// The option, by the name of its field (`num_devices`), or the variable (`NNODES`).
        option: String,
        /// What is wrong.
        reason: String,
    },
    /// One file for the rows of several operators.
    #[error("output_csv: takes the rows of exactly one operator")]
    SeveralOperators,
    /// No point is left to measure.
    #[error("nothing to run: no group fits: {groups}")]
    NothingToRun {
        /// The groups that were left out.
        groups: String,
    },
    /// Fewer ranks than the plan needs.
    #[error("nproc: the world has {world} ranks, the plan needs {needed}")]
    WorldTooSmall {
        /// Ranks of all nodes.
        world: u64,
        /// Ranks that the plan needs.
        needed: u64,
    },
    /// Times of an engine where those of another are kept.
    #[error("{}: times of {backend} do not belong to the tables of {device}, which take {takes}", shown(.folder))]
    ForeignTimes {
        /// The folder of the tables.
        folder: PathBuf,
        /// The engine that measures.
        backend: Backend,
        /// The device of the folder.
        device: &'static str,
        /// The engine whose times the folder takes.
        takes: Backend,
    },
    /// A table that must not be there.
    #[error("{}: exists already", shown(.0))]
    TableExists(PathBuf),
    /// A folder for raw results that holds some.
    #[error("results_dir {}: holds results already ({found})", shown(.folder))]
    ResultsExist {
        folder: PathBuf,
        /// The first file of a run in it.
        found: String,
    },
    /// The system refused to read or write.
    #[error("{}: {source}", shown(.path))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file, folder or variable with something in it that cannot be used.
    #[error("{place}: {reason}")]
    Input {
        /// The file (with line), folder or variable.
        place: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A database table or lock, as the store reports it.
    #[error(transparent)]
    Store(#[from] perfdb_store::Error),
    /// `database.toml`.
    #[error(transparent)]
    Provenance(#[from] perfdb_store::provenance::Error),
    /// A file that could not be replaced or locked.
    #[error(transparent)]
    Files(#[from] perfdb_files::Error),
    /// No interpreter that can run the worker.
    #[error("no Python with torch found (tried: {tried}); install torch with the gloo, nccl or hccl backend")]
    NoInterpreter {
        /// The interpreters that were asked, each with its answer.
        tried: String,
    },
    /// An engine that was asked for and is not there.
    #[error("backend {backend}: not available with {} (torch {}): {reason}", shown(.program), escape(.torch))]
    NoBackend {
        /// The engine.
        backend: Backend,
        /// The interpreter.
        program: PathBuf,
        /// Its version of torch.
        torch: String,
        /// What is missing.
        reason: String,
    },
    /// The user ended the run.
    #[error("ended by a signal{}", kept(.results))]
    Interrupted {
        /// Where what was measured still is.
        results: Option<PathBuf>,
    },
    /// A run that ended without a single usable point.
    #[error("{0}")]
    RunFailed(String),
}

impl Error {
    /// The system's refusal of `path`.
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// Something in `path` that cannot be used.
    pub(crate) fn input(path: &Path, reason: impl Into<String>) -> Self {
        Self::Input { place: shown(path), reason: escape(&reason.into()) }
    }

    /// Something on a line of `path` that cannot be used.
    pub(crate) fn line(path: &Path, line: u64, reason: impl Into<String>) -> Self {
        Self::Input { place: format!("{}:{line}", shown(path)), reason: escape(&reason.into()) }
    }

    /// An option or variable that cannot be right.
    pub(crate) fn usage(option: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Usage { option: option.into(), reason: reason.into() }
    }

    /// Whether the options or the environment are at fault.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Usage { .. } | Self::SeveralOperators)
    }
}

fn kept(results: &Option<PathBuf>) -> String {
    results.as_deref().map(|folder| format!("; raw results are in {}", shown(folder))).unwrap_or_default()
}
