//! What can go wrong with a measuring run.

use std::path::PathBuf;

use crate::backend::Backend;
use perfdb_store::directory::Home;

/// Every error of this crate. The text fits on one line; it speaks of options, not of how a command line names them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The replay failed, or was interrupted.
    #[error(transparent)]
    Replay(#[from] crate::error::Error),
    /// An error of the database layer.
    #[error(transparent)]
    Store(#[from] perfdb_store::Error),
    /// A file could not be replaced.
    #[error(transparent)]
    Files(#[from] perfdb_files::Error),
    /// Operators that do not exist, with near names.
    #[error("unknown operator(s): {0}")]
    UnknownOperators(String),
    /// No accelerator to measure on.
    #[error("NPU not found")]
    NoAccelerator,
    /// msprof is not there.
    #[error("msprof not found on PATH; source the set_env.sh of the Ascend toolkit")]
    NoMsprof,
    /// msprof failed, or gave no data.
    #[error("{0}")]
    Profiling(String),
    /// msprof failed on all operators at once; one by one some may work.
    #[error("combined msprof run failed without op_summary data; profile kept at {}: {command}", .kept.display())]
    Combined {
        /// The folder of the profile.
        kept: PathBuf,
        /// The command that failed.
        command: String,
    },
    /// Operators of the custom package lack its environment.
    #[error(
        "{0} need the custom operator package of vllm-ascend: \
         export ASCEND_CUSTOM_OPP_PATH=<vllm-ascend>/_cann_ops_custom/vendors/vllm-ascend:$ASCEND_CUSTOM_OPP_PATH and \
         export LD_LIBRARY_PATH=<vllm-ascend>/_cann_ops_custom/vendors/vllm-ascend/op_api/lib/:$LD_LIBRARY_PATH"
    )]
    CustomOperators(String),
    /// The times of a backend do not belong into this database.
    #[error("times of backend {backend} come from {origin} and do not belong to this database")]
    ForeignTimes {
        /// Who measures.
        backend: Backend,
        /// Where its times come from.
        origin: &'static str,
        /// Whose times the database takes.
        home: Home,
    },
}

impl Error {
    /// The system's refusal of `path`.
    pub(crate) fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Error {
        Error::Replay(crate::error::Error::io(path, source))
    }

    /// Whether what shards have measured is not every row once.
    pub(crate) fn is_about_shards(&self) -> bool {
        matches!(self, Error::Replay(crate::error::Error::NotEachOnce { .. }))
    }

    /// The end of a run by a signal.
    pub(crate) fn interrupted(signal: i32) -> Error {
        Error::Replay(crate::error::Error::Interrupted(signal))
    }

    /// The signal that ended the run, if one did.
    pub fn signal(&self) -> Option<i32> {
        match self {
            Error::Replay(crate::error::Error::Interrupted(signal)) => Some(*signal),
            _ => None,
        }
    }
}
