//! What runs record about themselves in `database.toml`.

use crate::{Failure, replay::variable};
use perfdb_files::time::utc_text;
use perfdb_store::provenance::Run;
use std::time::{Duration, SystemTime};

/// A run of a tool of this version, now, or at the time that `SOURCE_DATE_EPOCH` fixes, in UTC.
pub(crate) fn run_of(tool: &str) -> Result<Run, Failure> {
    let seconds = variable("SOURCE_DATE_EPOCH").map(|epoch| epoch.trim().parse::<u64>()).transpose();
    let seconds = seconds.map_err(|_| Failure::lines(vec!["SOURCE_DATE_EPOCH: not a number of seconds".to_owned()]))?;
    let fixed = seconds.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    let mut run = Run::new(utc_text(fixed.unwrap_or_else(SystemTime::now)), tool);
    run.tool_version = env!("PERFDB_VERSION").to_owned();
    Ok(run)
}

/// The same for measurements of a person (`--measured-by`).
pub(crate) fn measured_by(name: &str, tool: &str) -> Result<Run, Failure> {
    let mut run = run_of(tool)?;
    run.by = Some(name.to_owned());
    Ok(run)
}
