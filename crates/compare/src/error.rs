//! What can go wrong, and what is worth a warning.

use crate::event::EventFault;
use perfdb_trace::chrome::ReadError;
use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a comparison fails. Every message starts with the file it is about.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A trace, a CSV or an M6 file can't be read or is not what it should be.
    #[error(transparent)]
    Read(#[from] perfdb_trace::Error),
    /// An event of a trace can't be used.
    #[error("{}: {fault} {location}", path.display())]
    Event {
        /// The trace.
        path: PathBuf,
        /// What is wrong with the event.
        fault: EventFault,
        /// `(event I) at byte N (line L, column C)`, where known.
        location: String,
    },
    /// A database that is asked can't be.
    #[error(transparent)]
    Database(#[from] perfdb_query::Error),
    /// The operator mapping can't be used.
    #[error(transparent)]
    Mapping(#[from] perfdb_store::op_mapping::Error),
    /// A cell of a CSV can't be used.
    #[error("{}:{line}: {column}: {reason}", path.display())]
    Cell {
        /// The CSV.
        path: PathBuf,
        /// Line on which the record starts, the header is 1.
        line: u64,
        /// Name of the column.
        column: &'static str,
        /// What is wrong with the cell.
        reason: String,
    },
    /// A CSV lacks columns without which the numbers are wrong.
    #[error("{}: no column {}", path.display(), quoted(columns))]
    MissingColumns {
        /// The CSV.
        path: PathBuf,
        /// The columns.
        columns: Vec<&'static str>,
    },
    /// A trace does not say which process is the profiling model's.
    #[error("{}: no process of the profiling model: no process_name holds \"profiling\" or \"empirical\", and {}", path.display(), found_pids(pids))]
    NoProcess {
        /// The trace.
        path: PathBuf,
        /// The pids of its X events.
        pids: Vec<String>,
    },
    /// An M6 file does not hold what it should.
    #[error("{}: {reason}", path.display())]
    M6File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A scenario file can't be used.
    #[error("{}: {reason}", path.display())]
    ScenarioFile {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the scenario and the key.
        reason: String,
    },
    /// A file can't be a baseline.
    #[error("{}: {reason}", path.display())]
    Baseline {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A profile can't be cut.
    #[error("{}: {reason}", path.display())]
    Profile {
        /// The profile, or its folder.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file of families can't be used.
    #[error("{}: {reason}", path.display())]
    FamiliesFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The number of forward passes is not a positive decimal.
    #[error("{name}: the number of forward passes must be positive, not {number}")]
    ForwardPasses {
        /// The scenario.
        name: String,
        /// The number.
        number: f64,
    },
    /// M6 of a scenario without an M6 file can't be computed; the text of that error.
    #[error("{0}")]
    M6NotComputed(String),
    /// A count can't be written as an integer.
    #[error("{}: the count of {kernel_type} per forward pass is infinite", path.display())]
    InfiniteCount {
        /// The CSV.
        path: PathBuf,
        /// The kernel type.
        kernel_type: String,
    },
}

impl Error {
    /// The file that does not exist, if that is the reason (no other reason for not reading it).
    pub(crate) fn missing_file(&self) -> Option<&Path> {
        match self {
            Error::Read(error) if error.is_missing() => Some(error.path()),
            _ => None,
        }
    }
}

impl From<ReadError<EventFault, Infallible>> for Error {
    fn from(error: ReadError<EventFault, Infallible>) -> Error {
        match error {
            ReadError::Read(error) => Error::Read(error),
            ReadError::Event { path, reason, location } => {
                Error::Event { path, fault: reason, location: location.to_string() }
            }
            ReadError::Merge(never) => match never {},
        }
    }
}

fn quoted(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("\"{}\"", name.as_ref())).collect::<Vec<_>>().join(", ")
}

fn found_pids(pids: &[String]) -> String {
    match pids {
        [] => "no X event has a PID".to_owned(),
        _ if pids.len() > 8 => format!("the X events have {} PIDs", pids.len()),
        _ => format!("the X events have the PIDs {}", pids.join(", ")),
    }
}

/// Something odd that does not stop a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// The CSV lacks columns: the numbers from it are zeros.
    MissingColumns {
        /// The CSV.
        path: PathBuf,
        /// The columns.
        columns: Vec<&'static str>,
    },
    /// No event of the trace counts, so M6 is 0.
    NoEmpiricalEvent {
        /// The trace.
        path: PathBuf,
        /// The sources that count.
        sources: Vec<String>,
    },
    /// The kernels of the CSV took no time, so M6 is 0.
    NoMeasuredTime {
        /// The CSV.
        path: PathBuf,
    },
    /// The CSV seems to hold several passes and is compared as one.
    SeveralPasses {
        /// The CSV.
        path: PathBuf,
        /// How many.
        passes: usize,
        /// Whether only the beginning of the file was looked at.
        at_least: bool,
    },
    /// Negative durations count as 0.
    NegativeDurations {
        /// The CSV.
        path: PathBuf,
        /// How many rows have one.
        rows: u64,
    },
    /// A byte-order mark hides the column `Type`, so the profile side is empty.
    HiddenType {
        /// The CSV.
        path: PathBuf,
    },
    /// Operators were only looked up at the top level of the mapping, where it has none.
    NestedMapping {
        /// The mapping.
        path: PathBuf,
    },
    /// No process of the trace has the profiling model's name; the only one there was taken.
    SoleProcess {
        /// The trace.
        path: PathBuf,
        /// The pid.
        pid: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::MissingColumns { path, columns } => {
                write!(f, "{}: no column {}, which counts as zero", path.display(), quoted(columns))
            }
            Warning::NoEmpiricalEvent { path, sources } => write!(
                f,
                "{}: no event with a duration, a kernel type and a source among {}, so M6 is 0",
                path.display(),
                quoted(sources)
            ),
            Warning::NoMeasuredTime { path } => {
                write!(f, "{}: no kernel with a duration, so M6 is 0 (is this a forward pass?)", path.display())
            }
            Warning::SeveralPasses { path, passes, at_least } => write!(
                f,
                "{}: {}{passes} forward passes seem to be in this file, and it is compared as one",
                path.display(),
                if *at_least { "at least " } else { "" }
            ),
            Warning::NegativeDurations { path, rows } => {
                write!(f, "{}: {rows} negative durations count as 0", path.display())
            }
            Warning::HiddenType { path } => write!(
                f,
                "{}: a byte-order mark hides the column \"Type\", so nothing of the file counts",
                path.display()
            ),
            Warning::NestedMapping { path } => {
                write!(f, "{}: entries under operator_mappings are not used", path.display())
            }
            Warning::SoleProcess { path, pid } => {
                write!(f, "profiling PID not found by name in {}, using sole PID {pid}", path.display())
            }
        }
    }
}

/// A result and what was odd on the way to it.
#[derive(Debug, Clone)]
pub struct Outcome<T> {
    /// The result.
    pub result: T,
    /// In the order in which they came up.
    pub warnings: Vec<Warning>,
}
