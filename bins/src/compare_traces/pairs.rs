//! Many pairs of traces.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use perfdb_files::escape::one_line;
use perfdb_files::replace::{Parents, refuse_inputs, replace};
use perfdb_tracediff::{Error, LoadedPair, PairList, PairSettings, PairSpec, analyse, run_pairs};

use super::plan::{Common, Plan};
use super::remedy::line_of_error;
use super::single::warnings;
use crate::{Failure, Status, error_line, print, print_error, progress, warn};

/// What became of a pair.
struct Outcome {
    warnings: Vec<String>,
    /// Totals in ms, or one line per failure.
    result: Result<[f64; 2], Vec<String>>,
}

/// Compares the pairs of a list on `jobs` workers (`None`: half the cores), prints one line for each.
///
/// # Errors
/// A list that contradicts itself (exit 1, nothing has run), or a pair that fails (exit 1, the others are done).
pub(super) fn compare_pairs(
    list: &Path,
    settings: &PairSettings,
    common: &Common,
    jobs: Option<usize>,
    output_dir: &Path,
) -> Result<Status, Failure> {
    // Options that contradict each other whatever the list says are a matter of usage.
    common.plan(settings).map_err(Failure::usage)?;
    let list = PairList::open(list)?;
    let mut plans = Vec::with_capacity(list.pairs.len());
    let mut outputs = Vec::with_capacity(list.pairs.len());
    let mut pairs = list.pairs.clone();
    for pair in &mut pairs {
        pair.settings = pair.settings.clone().or(settings);
        let mut labelled = pair.settings.clone();
        labelled.label1.get_or_insert_with(|| pair.traces[0].clone());
        labelled.label2.get_or_insert_with(|| pair.traces[1].clone());
        let plan = common.plan(&labelled).map_err(|reason| list.error(format!("pair {}: {reason}", pair.name)))?;
        outputs.push(output_of(pair, &plan, output_dir));
        plans.push(plan);
    }
    list.check_outputs(&outputs)?;
    let traces = pairs.iter().flat_map(|pair| &pair.paths);
    let inputs =
        traces.chain([&list.path]).chain(&common.registry_file).chain(&common.devices_file).map(PathBuf::as_path);
    refuse_inputs(outputs.iter().map(PathBuf::as_path), inputs)?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let jobs = jobs.unwrap_or((cores / 2).max(1));
    let options = common.load_options(true, (cores / (2 * jobs)).max(1));
    let bar = progress::items("pairs", Some(pairs.len() as u64));
    let mut failed = false;
    let mut printed = Ok(());
    run_pairs(
        &pairs,
        jobs,
        &options,
        |at, loaded| compare(&pairs[at], &plans[at], &outputs[at], loaded),
        |at, outcome| {
            outcome.warnings.iter().for_each(|line| warn(line));
            let line = match &outcome.result {
                Ok(totals) => done_line(&pairs[at], *totals, &outputs[at]),
                Err(lines) => {
                    failed = true;
                    lines.iter().for_each(|line| print_error(line));
                    format!("failed\t{}\t-\t-\t-\t-\n", one_line(&pairs[at].name))
                }
            };
            if printed.is_ok() {
                printed = print(&line);
            }
            bar.inc(1);
        },
    );
    bar.finish_and_clear();
    printed?;
    Ok(if failed { Status::Code(1) } else { Status::Success })
}

fn output_of(pair: &PairSpec, plan: &Plan, output_dir: &Path) -> PathBuf {
    match &pair.output {
        Some(output) => PathBuf::from(output),
        None => output_dir.join(format!("{}.{}", pair.name, plan.format.extension())),
    }
}

fn compare(pair: &PairSpec, plan: &Plan, output: &Path, loaded: Result<LoadedPair, Vec<Arc<Error>>>) -> Outcome {
    let failed = |lines| Outcome { warnings: Vec::new(), result: Err(lines) };
    let traces = match loaded {
        Ok(loaded) => loaded.traces,
        Err(errors) => return failed(errors.iter().map(|error| line_of_error(error)).collect()),
    };
    let analysis = match analyse(&traces[0], &traces[1], &plan.analysis) {
        Ok(analysis) => analysis,
        Err(error) => return failed(vec![error_line(&error)]),
    };
    let warnings = warnings(&analysis.findings, [&pair.paths[0], &pair.paths[1]]);
    match replace(output, plan.render(&analysis).as_bytes(), Parents::Create) {
        Ok(()) => Outcome { warnings, result: Ok(analysis.total_ms) },
        Err(error) => failed(vec![error_line(&error)]),
    }
}

fn done_line(pair: &PairSpec, [first, second]: [f64; 2], output: &Path) -> String {
    let ratio = if second > 0.0 {
        first / second
    } else if first > 0.0 {
        f64::INFINITY
    } else {
        1.0
    };
    let output = output.to_string_lossy();
    format!("ok\t{}\t{first:.3}\t{second:.3}\t{ratio:.3}\t{}\n", one_line(&pair.name), one_line(&output))
}
