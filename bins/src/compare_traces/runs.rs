//! Runs before a change against runs after it.

use std::path::PathBuf;

use perfdb_files::parallel::{OrderedMap, states};
use perfdb_files::replace::refuse_inputs;
use perfdb_report::pages::runs_page;
use perfdb_report::runs::{csv, json, markdown, text};
use perfdb_report::tables::runs;
use perfdb_tracediff::{
    Format, LoadOptions, PhaseFilter, Run, RunsOptions, Trace, compare_runs, find_runs, is_stored, stored_runs,
};

use super::outputs::{Forms, Outputs};
use super::plan::Common;
use super::remedy::line_of_error;
use super::workers::Workers;
use crate::gate::{Gate, percent};
use crate::one_output::markdown_is;
use crate::provenance::provenance;
use crate::{Failure, Status, print_note, progress};

/// The runs of both sides, as they were given.
#[derive(Debug, Clone, Default)]
pub struct RunTraces {
    /// Traces and folders before the change.
    pub before: Vec<PathBuf>,
    /// Report of an earlier comparison, whose runs are those before the change.
    pub baseline: Option<PathBuf>,
    /// Traces and folders after the change.
    pub after: Vec<PathBuf>,
    /// The gate: percent that the elapsed time must not be slower by.
    pub fail_slower: Option<f64>,
}

/// Says whether the change made it slower, with `jobs` traces read at the same time (`None`: one).
///
/// # Errors
/// One side only where nothing is written that could be a baseline (exit 2); traces that cannot be read, a gate that cannot be decided,
/// an output that cannot be written (exit 1).
pub(super) fn compare(
    given: &RunTraces,
    common: &Common,
    phase: PhaseFilter,
    jobs: Option<usize>,
    outputs: &Outputs<'_>,
) -> Result<Status, Failure> {
    let is_one_sided = given.after.is_empty() || (given.before.is_empty() && given.baseline.is_none());
    if is_one_sided && outputs.json.is_none() && outputs.format != Format::Json {
        let missing = if given.after.is_empty() { "--after" } else { "--before or --baseline" };
        return Err(Failure::usage(format!(
            "{missing} is needed, or -o FILE.json, which keeps the runs as a baseline"
        )));
    }
    let [before, after] = find_runs([&given.before, &given.after])?;
    let inputs = before.iter().chain(&after).chain(&given.baseline).chain(&common.registry_file).map(PathBuf::as_path);
    refuse_inputs(outputs.files(), inputs)?;
    outputs.check()?;
    let mut runs_before = given.baseline.as_deref().map(stored_runs).transpose()?.unwrap_or_default();
    let read = read(&before, &after, common, phase, jobs)?;
    let mut runs_after = Vec::new();
    for (side, runs) in read {
        if side == 0 { runs_before.extend(runs) } else { runs_after.extend(runs) }
    }
    let options = RunsOptions { run_variation: common.run_variation, fail_slower: given.fail_slower };
    let report = compare_runs(runs_before, runs_after, &options);
    markdown_is(markdown(&report));
    let text_in = |format| match format {
        Format::Json => json(&report),
        Format::Csv => csv(&report),
        Format::Text => text(&report, common.show_all, common.layout),
    };
    let sides = before.iter().chain(&given.baseline).map(|path| ("before", path.as_path()));
    let read = sides.chain(after.iter().map(|path| ("after", path.as_path())));
    let page = || runs_page(&report, provenance("compare-traces", read.clone()));
    outputs.write(&Forms { text_in: &text_in, table: &|| runs(&report), page: &page })?;
    let Some(limit) = given.fail_slower else { return Ok(Status::Success) };
    let mut gate = Gate::default();
    match report.slower_at_least() {
        Some(least) if least > limit => {
            gate.exceeded(format!("elapsed time: slower by at least {least:.1} %"), percent(limit));
        }
        Some(_) if report.slower_at_most().is_none_or(|most| most > limit) => {
            print_note(&format!("not beyond the limit for certain: {} (limit {limit} %)", report.sentence));
        }
        Some(_) => {}
        None => return Err(Failure::lines(vec![format!("--fail-slower cannot be decided: {}", report.sentence)])),
    }
    Ok(gate.status())
}

/// The runs of each file, with the number of its side. A trace is reduced to its run as it is read.
fn read(
    before: &[PathBuf],
    after: &[PathBuf],
    common: &Common,
    phase: PhaseFilter,
    jobs: Option<usize>,
) -> Result<Vec<(usize, Vec<Run>)>, Failure> {
    let count = before.len() + after.len();
    let Workers { count, threads } = Workers::new(jobs.or(Some(1)), count);
    let options: LoadOptions = common.load_options(false, threads);
    let all = || before.iter().map(|path| (0, path)).chain(after.iter().map(|path| (1, path)));
    let reading = progress::files("runs", all().map(|(_, path)| path.as_path()));
    let mut states = states(count, || ());
    let mut tasks = all();
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    OrderedMap::new(&mut states).run(
        || Ok(tasks.next()),
        |(), (side, path)| {
            let runs = if is_stored(path) {
                stored_runs(path)
            } else {
                Trace::open(path, &options).and_then(|trace| Ok(vec![Run::of(&trace, phase)?]))
            };
            (side, runs)
        },
        |(side, runs)| {
            reading.inc(1);
            match runs {
                Ok(runs) => found.push((side, runs)),
                Err(error) => failed.push(line_of_error(&error)),
            }
            Ok::<_, Failure>(std::ops::ControlFlow::Continue(()))
        },
    )?;
    drop(reading);
    if failed.is_empty() { Ok(found) } else { Err(Failure::lines(failed)) }
}
