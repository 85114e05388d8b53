//! The check of density, beside an audit.

use crate::Failure;
use crate::density::warn_of_unmet;
use clap::Args;
use perfdb_audit::coverage::Workload;
use perfdb_audit::coverage::density::{Declaration, Inputs, Report, Standard, Verdict, check};
use perfdb_report::density::value;
use perfdb_trace::source::Source;
use std::ffi::OsString;
use std::path::Path;

/// Rules of density.
#[derive(Args)]
#[command(next_help_heading = "Density")]
pub(super) struct DensityArguments {
    /// Check how densely the database is measured by these rules as well, as check-density does
    #[arg(long, value_name = "FILE")]
    density: Option<OsString>,

    /// Where density is asked for; without --density by the built-in rules
    #[arg(long, value_name = "FILE")]
    ranges: Option<OsString>,
}

impl DensityArguments {
    /// The files that are read.
    pub(super) fn files(&self) -> impl Iterator<Item = &OsString> {
        [&self.density, &self.ranges].into_iter().flatten()
    }
}

/// What the check came to.
pub(super) struct Checked {
    /// What it found.
    pub(super) report: Report,
    /// For programs.
    pub(super) value: serde_json::Value,
    /// Whether a condition does not hold.
    pub(super) has_failed: bool,
}

/// Checks where rules or ranges are given; the calls of the workloads are its queries.
pub(super) fn check_density(
    arguments: &DensityArguments,
    directory: &Path,
    workloads: &[Workload],
) -> Result<Option<Checked>, Failure> {
    if arguments.files().next().is_none() {
        return Ok(None);
    }
    let read = |path: &OsString| -> Result<String, Failure> { Ok(Source::open(Path::new(path))?.read_text()?) };
    let mut inputs = Inputs { workloads: Some(workloads.to_vec()), ..Inputs::new(directory) };
    if let Some(path) = &arguments.density {
        inputs.standard = Standard::parse(path.as_ref(), &read(path)?)?;
    }
    if let Some(path) = &arguments.ranges {
        inputs.ranges = Some(Declaration::parse(path.as_ref(), &read(path)?)?);
    }
    let report = check(&inputs)?;
    warn_of_unmet(arguments.ranges.as_deref(), &report);
    let value = value(&report, &inputs.standard.version, directory, None);
    let has_failed = report.gates.iter().any(|gate| matches!(gate, Verdict::Failed(_)));
    Ok(Some(Checked { report, value, has_failed }))
}
