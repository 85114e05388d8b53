//! What is said of a check of density beside its findings.

use crate::warn;
use perfdb_audit::coverage::density::Report;
use perfdb_files::escape::one_line;
use std::ffi::OsStr;

/// Declared ranges that nothing is asked of would hold in silence.
pub(crate) fn warn_of_unmet(ranges: Option<&OsStr>, report: &Report) {
    let path = ranges.map(|path| one_line(&path.to_string_lossy())).unwrap_or_default();
    report.unmet.iter().for_each(|declared| warn(&format!("{path}: {}", one_line(declared))));
}
