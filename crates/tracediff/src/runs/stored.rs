//! Runs that an earlier report kept.

use std::path::Path;

use serde::Deserialize;

use super::run::Run;
use crate::error::Error;
use perfdb_trace::source::Source;

/// The name of the format, which tells such a report from a trace.
pub(crate) const FORMAT: &str = "perfdb-runs";
/// The version of the format that is written and read.
pub(crate) const FORMAT_VERSION: u32 = 1;

#[derive(Deserialize)]
struct Stored {
    format: String,
    format_version: u32,
    before: Vec<Run>,
    after: Vec<Run>,
}

/// Whether a file begins as such a report does.
pub fn is_stored(path: &Path) -> bool {
    let mut start = [0; 64];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read(&mut file, &mut start));
    let read = read.unwrap_or(0);
    let text: String = String::from_utf8_lossy(&start[..read]).split_whitespace().collect();
    text.starts_with(&format!("{{\"format\":\"{FORMAT}\""))
}

/// The runs of an earlier report: those after the change, or those before it where it has no others.
///
/// # Errors
/// When the file cannot be read, or is another document.
pub fn stored_runs(path: &Path) -> Result<Vec<Run>, Error> {
    let refused = |reason: String| Error::Baseline { path: path.to_owned(), reason };
    let text = Source::open(path)?.read_all()?;
    let expected = "this is not a JSON of `trace diff --before --after`";
    let stored: Stored = serde_json::from_slice(&text).map_err(|error| refused(format!("{expected}: {error}")))?;
    if stored.format != FORMAT {
        return Err(refused(expected.to_owned()));
    }
    if stored.format_version != FORMAT_VERSION {
        let version = stored.format_version;
        return Err(refused(format!("format version {version}, this program reads {FORMAT_VERSION}; write it again")));
    }
    let runs = if stored.after.is_empty() { stored.before } else { stored.after };
    match runs.iter().find_map(fault) {
        Some(fault) => Err(refused(fault)),
        None if runs.is_empty() => Err(refused("it has no runs".to_owned())),
        None => Ok(runs),
    }
}

/// What is wrong with a run of a file that somebody may have edited.
fn fault(run: &Run) -> Option<String> {
    let count = run.steps.len();
    let row = run.rows.iter().find(|row| row.ms.len() != count || row.ms.iter().any(|ms| !ms.is_finite() || *ms < 0.0));
    match row {
        Some(row) => {
            Some(format!("{}: {} has not one time of 0 ms or more for each of {count} steps", run.path, row.name))
        }
        None if count == 0 || run.elapsed().len() != count => {
            Some(format!("{}: it has no elapsed time of steps", run.path))
        }
        None => None,
    }
}
