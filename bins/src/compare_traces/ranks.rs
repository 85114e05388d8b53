//! Many ranks of one run, or of two.

use std::path::PathBuf;

use perfdb_files::parallel::{OrderedMap, states};
use perfdb_files::replace::refuse_inputs;
use perfdb_report::pages::ranks_page;
use perfdb_report::ranks::{Sides, csv, json, text};
use perfdb_report::tables::collectives;
use perfdb_tracediff::ranks::{Error, Rank, Ranks, find_traces, report};
use perfdb_tracediff::{Format, LoadOptions};

use super::outputs::{Forms, Outputs};
use super::plan::Common;
use super::remedy::line_of_error;
use super::workers::Workers;
use crate::provenance::provenance;
use crate::{Failure, Status, error_line, progress};

/// The traces of ranks, as they were given.
#[derive(Debug, Clone)]
pub enum RankTraces {
    /// Files and folders of one run.
    One(Vec<PathBuf>),
    /// Of two runs.
    Two([Vec<PathBuf>; 2]),
}

/// Finds who is late, with `jobs` traces read at the same time (`None`: half the cores).
///
/// # Errors
/// Traces that cannot be read or are not ranks of one run, an output that cannot be written (exit 1).
pub(super) fn compare_ranks(
    given: &RankTraces,
    common: &Common,
    jobs: Option<usize>,
    outputs: &Outputs<'_>,
) -> Result<Status, Failure> {
    let sides = match given {
        RankTraces::One(side) => vec![side],
        RankTraces::Two(sides) => sides.iter().collect(),
    };
    let found = sides.into_iter().map(|side| find_traces(side)).collect::<Result<Vec<_>, _>>()?;
    let registry = common.registry_file.as_deref();
    refuse_inputs(outputs.files(), found.iter().flatten().map(PathBuf::as_path).chain(registry))?;
    outputs.check()?;
    let mut reports = Vec::new();
    for paths in &found {
        reports.push(read(paths, common, jobs)?);
    }
    let sides = match (reports.pop(), reports.pop()) {
        (Some(second), Some(first)) => Sides::Two(Box::new([first, second])),
        (Some(only), None) => Sides::One(Box::new(only)),
        (None, _) => return Ok(Status::Success),
    };
    let text_in = |format| match format {
        Format::Json => json(&sides),
        Format::Csv => csv(&sides),
        Format::Text => text(&sides, common.show_all, common.layout),
    };
    let read = found.iter().flatten().map(|path| ("rank", path.as_path()));
    let page = || ranks_page(&sides, provenance("compare-traces", read.clone()));
    outputs.write(&Forms { text_in: &text_in, table: &|| collectives(&sides), page: &page })?;
    Ok(Status::Success)
}

/// The ranks of one run. Traces are reduced to their collectives as they are read.
fn read(paths: &[PathBuf], common: &Common, jobs: Option<usize>) -> Result<Ranks, Failure> {
    let Workers { count, threads } = Workers::new(jobs, paths.len());
    let options: LoadOptions = common.load_options(false, threads);
    let reading = progress::files("ranks", paths.iter().map(PathBuf::as_path));
    let mut states = states(count, || ());
    let mut tasks = (0..).zip(paths);
    let mut ranks = Vec::with_capacity(paths.len());
    let mut failed = Vec::new();
    OrderedMap::new(&mut states).run(
        || Ok(tasks.next()),
        |(), (number, path)| Rank::open(path, number, &options),
        |rank| {
            reading.inc(1);
            match rank {
                Ok(rank) => ranks.push(rank),
                Err(Error::Trace(error)) => failed.push(line_of_error(&error)),
                Err(error) => failed.push(error_line(&error)),
            }
            Ok::<_, Failure>(std::ops::ControlFlow::Continue(()))
        },
    )?;
    drop(reading);
    if !failed.is_empty() {
        return Err(Failure::lines(failed));
    }
    Ok(report(ranks)?)
}
