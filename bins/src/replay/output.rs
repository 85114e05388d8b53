//! Files that a run writes on request, and how an interrupted one ends.

use std::path::Path;

use perfdb_replay::accelerators::{Visibility, visible};
use perfdb_replay::backend::Backend;
use perfdb_replay::error::Error;
use perfdb_replay::session::RunReport;
use perfdb_store::replace::{Parents, replace};

use crate::Failure;

/// Writes the files of [`OutputArguments`](super::OutputArguments).
pub fn write_reports(arguments: &super::OutputArguments, report: &RunReport) -> Result<(), Failure> {
    if let Some(path) = &arguments.results {
        write_results(path, report)?;
    }
    if let Some(path) = &arguments.dump_outputs {
        write_dumps(path, report)?;
    }
    Ok(())
}

/// Writes `--results`.
fn write_results(path: &Path, report: &RunReport) -> Result<(), Failure> {
    write_json(path, &report.results)
}

/// Writes a JSON document.
pub fn write_json(path: &Path, document: &impl serde::Serialize) -> Result<(), Failure> {
    let text = perfdb_pycompat::json::to_string(document)?;
    Ok(replace(path, format!("{text}\n").as_bytes(), Parents::MustExist)?)
}

/// Writes `--dump-outputs`. Floats stand in their shortest form, one object per line.
fn write_dumps(path: &Path, report: &RunReport) -> Result<(), Failure> {
    let lines = report.dumps.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    let text = format!("[{}]\n", lines.join(",\n"));
    Ok(replace(path, text.as_bytes(), Parents::MustExist)?)
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
