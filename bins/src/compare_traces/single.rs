//! One pair of traces.

use std::path::Path;

use perfdb_files::replace::{Parents, refuse_inputs, replace};
use perfdb_tracediff::{Error, LoadOptions, PairSettings, Trace, analyse};

use super::plan::{Common, Plan};
use crate::{Failure, Status, error_line, print, progress, warn};

/// Compares two traces, and writes the result to `output` or to stdout.
///
/// # Errors
/// Contradictory options (exit 2); traces that cannot be read or compared, an output that cannot be written (exit 1).
pub fn compare_one(
    traces: [&Path; 2],
    settings: &PairSettings,
    common: &Common,
    output: Option<&Path>,
) -> Result<Status, Failure> {
    refuse_inputs(output, traces.into_iter().chain(common.registry_file.as_deref()))?;
    let plan = common.plan(settings).map_err(Failure::usage)?;
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2));
    let options = common.load_options(!settings.no_stacks.unwrap_or(false), threads);
    let loaded = load(traces, &options)?;
    let result = compare(&plan, [&loaded[0], &loaded[1]], traces)?;
    match output {
        Some(output) => replace(output, result.as_bytes(), Parents::MustExist)?,
        None => print(&result)?,
    }
    Ok(Status::Success)
}

/// Loads both traces at the same time.
fn load(traces: [&Path; 2], options: &LoadOptions) -> Result<[Trace; 2], Failure> {
    let bar = progress::items("traces", Some(2));
    let open = |path: &Path| {
        let trace = Trace::open(path, options);
        bar.inc(1);
        trace
    };
    let loaded = perfdb_parallel::join(|| open(traces[0]), || open(traces[1]));
    bar.finish_and_clear();
    match loaded {
        (Ok(first), Ok(second)) => Ok([first, second]),
        (first, second) => {
            let mut lines: Vec<String> =
                [first, second].into_iter().filter_map(Result::err).map(|error| error_line(&error)).collect();
            lines.dedup();
            Err(Failure::lines(lines))
        }
    }
}

/// Compares two loaded traces; findings go to stderr. `names` are the traces as the user wrote them.
fn compare(plan: &Plan, traces: [&Trace; 2], names: [&Path; 2]) -> Result<String, Failure> {
    let analysis =
        analyse(traces[0], traces[1], &plan.analysis).map_err(|error| phase_failure(&error, plan, traces))?;
    for line in warnings(&analysis.findings, names) {
        warn(&line);
    }
    Ok(plan.render(&analysis))
}

/// Every trace that lacks the phase gets its line.
fn phase_failure(error: &Error, plan: &Plan, traces: [&Trace; 2]) -> Failure {
    let missing = traces.iter().filter_map(|trace| trace.require_phase(plan.analysis.compare.phase).err());
    let mut lines: Vec<String> = missing.map(|error| error_line(&error)).collect();
    if lines.is_empty() {
        lines.push(error_line(error));
    }
    lines.dedup();
    Failure::lines(lines)
}

/// `PATH: finding` lines of a pair; those of one file that is both traces come once.
pub(super) fn warnings(findings: &[Vec<String>; 2], names: [&Path; 2]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if is_same_file(names) {
        lines.push(format!("{}: both traces are the same file", names[1].display()));
    }
    for (name, findings) in names.into_iter().zip(findings) {
        lines.extend(findings.iter().map(|finding| format!("{}: {finding}", name.display())));
    }
    let mut seen = std::collections::BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    lines
}

fn is_same_file([first, second]: [&Path; 2]) -> bool {
    let place = |path: &Path| std::fs::canonicalize(path).ok();
    first == second || (place(first).is_some() && place(first) == place(second))
}
