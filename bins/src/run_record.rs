//! What runs tell of themselves in `database.toml`.

use crate::{Failure, replay::variable};
use perfdb_files::replace::Staged;
use perfdb_files::time::utc_text;
use perfdb_provenance::{Identity, Record, Run};
use perfdb_store::directory::Device;
use std::path::Path;
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

/// The record of a database with a run added to it, to be replaced with the tables; nothing for a run that changed no table. To be called
/// under the lock of the database.
pub(crate) fn stage(database: &Path, device: Option<Device>, run: Run) -> Result<Option<Staged>, Failure> {
    if run.types.is_empty() {
        return Ok(None);
    }
    let mut record = Record::load(database)?.unwrap_or_default();
    let named = Identity { device: device.map(|device| device.name().to_owned()), ..Identity::default() };
    record.identify(named.or(Identity::of_path(database)));
    record.add(run);
    Ok(Some(record.stage(database)?))
}
