//! Files that a run writes on request, and how an interrupted one ends.

use std::path::{Path, PathBuf};

use perfdb_replay::accelerators::{Visibility, visible};
use perfdb_replay::backend::Backend;
use perfdb_replay::error::Error;
use perfdb_replay::session::RunReport;
use perfdb_store::replace::{Parents, replace};

use crate::Failure;

/// Writes `--results`.
pub fn write_results(path: &Path, report: &RunReport) -> Result<(), Failure> {
    let text = perfdb_pycompat::json::to_string(&report.results)?;
    Ok(replace(path, format!("{text}\n").as_bytes(), Parents::MustExist)?)
}

/// Writes `--dump-outputs`. Floats stand in their shortest form, one object per line.
pub fn write_dumps(path: &Path, report: &RunReport) -> Result<(), Failure> {
    let lines = report.dumps.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    let text = format!("[{}]\n", lines.join(",\n"));
    Ok(replace(path, text.as_bytes(), Parents::MustExist)?)
}

/// The journal that the environment names.
pub fn journal_variable() -> Option<PathBuf> {
    super::arguments::variable("PERFDB_REPLAY_JOURNAL").map(PathBuf::from)
}

/// Says that the host is measured, where accelerators are there and nobody has chosen a backend.
pub fn warn_of_host(visibility: &Visibility) {
    let accelerators = visible(Backend::Npu, visibility).len();
    if accelerators > 0 {
        crate::warn(&format!(
            "the host's CPU is measured although {accelerators} accelerator(s) are visible; --backend npu measures them"
        ));
    }
}

/// How a run ends that an error has stopped: a signal has its own exit status.
#[expect(clippy::print_stderr, reason = "the plumbing owns the terminal")]
pub fn stopped(error: Error) -> Failure {
    match error {
        Error::Interrupted(signal) => {
            eprintln!("error: {error}");
            Failure::Said(u8::try_from(128 + signal).unwrap_or(1))
        }
        error => error.into(),
    }
}
