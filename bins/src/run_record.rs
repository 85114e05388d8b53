//! What runs tell of themselves in `database.toml`.

use crate::{Failure, replay::variable};
use perfdb_files::paths::within;
use perfdb_files::replace::{Parents, Staged};
use perfdb_files::time::utc_text;
use perfdb_provenance::{FILE_NAME, Identity, Record, Run};
use perfdb_store::directory::Device;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Now, or the time that `SOURCE_DATE_EPOCH` fixes, in UTC.
pub(crate) fn date() -> Result<String, Failure> {
    let seconds = variable("SOURCE_DATE_EPOCH").map(|epoch| epoch.trim().parse::<u64>()).transpose();
    let seconds = seconds.map_err(|_| Failure::lines(vec!["SOURCE_DATE_EPOCH: not a number of seconds".to_owned()]))?;
    let fixed = seconds.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    Ok(utc_text(fixed.unwrap_or_else(SystemTime::now)))
}

/// The record of a database with a run added to it, to be replaced with the tables; nothing for a run that changed no table. To be called
/// under the lock of the database.
pub(crate) fn stage(database: &Path, device: Option<Device>, mut run: Run) -> Result<Option<Staged>, Failure> {
    if run.types.is_empty() {
        return Ok(None);
    }
    run.tool_version = env!("PERFDB_VERSION").to_owned();
    let mut record = Record::load(database)?.unwrap_or_default();
    let named = Identity { device: device.map(|device| device.name().to_owned()), ..Identity::default() };
    record.identify(named.or(Identity::of_path(database)));
    record.add(run);
    let path = within(database, FILE_NAME);
    Ok(Some(Staged::with(&path, record.to_text()?.as_bytes(), Parents::Create)?))
}
