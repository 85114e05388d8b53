//! Many pairs of traces.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitcode::{Decode, Encode};
use perfdb_files::escape::one_line;
use perfdb_files::replace::{Parents, refuse_inputs, replace};
use perfdb_files::shards::{Case, Shard, ShardWriter};
use perfdb_tracediff::{Error, LoadedPair, PairList, PairSettings, PairSpec, analyse, run_pairs};

use super::plan::{Common, Plan};
use super::remedy::line_of_error;
use super::single::warnings;
use super::workers::Workers;
use crate::scenarios::note_current_folder;
use crate::shards::{GivenArguments, Part, ShardArguments, finish, shared_inputs};
use crate::{Failure, Status, error_line, print, print_error, progress, warn};

/// What became of a pair.
#[derive(Encode, Decode)]
struct Outcome {
    warnings: Vec<String>,
    /// Or one line per failure.
    result: Result<Compared, Vec<String>>,
}

/// A pair that was compared.
#[derive(Encode, Decode)]
struct Compared {
    total_ms: [f64; 2],
    text: String,
}

/// The pairs of a list, each with what is done and where its result goes.
pub(super) struct Pairs<'a> {
    list: PairList,
    common: &'a Common,
    pairs: Vec<PairSpec>,
    plans: Vec<Plan>,
    outputs: Vec<PathBuf>,
}

impl Pairs<'_> {
    /// Reads a list; `settings` hold where it says nothing else.
    ///
    /// # Errors
    /// A list that contradicts itself.
    pub(super) fn open<'a>(
        list: &Path,
        settings: &PairSettings,
        common: &'a Common,
        output_dir: &Path,
    ) -> Result<Pairs<'a>, Failure> {
        // Options that contradict each other whatever the list says are a matter of usage.
        common.plan(settings).map_err(Failure::usage)?;
        let list = PairList::open(list)?;
        note_current_folder(&list.path, &list.from_current_folder);
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
        let pairs = Pairs { list, common, pairs, plans, outputs };
        let traces = pairs.pairs.iter().flat_map(|pair| &pair.paths).map(PathBuf::as_path);
        refuse_inputs(pairs.outputs.iter().map(PathBuf::as_path), traces.chain(pairs.shared()))?;
        Ok(pairs)
    }

    /// The files that all pairs share.
    fn shared(&self) -> impl Iterator<Item = &Path> {
        let further = [&self.common.registry_file, &self.common.devices_file];
        [&self.list.path].into_iter().chain(further.into_iter().flatten()).map(PathBuf::as_path)
    }

    /// Compares the pairs on `jobs` workers (`None`: half the cores) and prints one line for each, or does a shard of them.
    ///
    /// # Errors
    /// A pair that fails (exit 1, the others are done), a shard that can't be written or read.
    pub(super) fn compare(
        &self,
        jobs: Option<usize>,
        shards: &ShardArguments,
        given: &GivenArguments,
    ) -> Result<Status, Failure> {
        let job = || {
            let keys = self
                .pairs
                .iter()
                .zip(&self.outputs)
                .map(|(pair, output)| format!("{}\0{}", pair.name, output.display()));
            given.job("compare-traces", shared_inputs(self.shared())?, keys.collect())
        };
        match shards.part()? {
            Part::Whole => {
                let all: Vec<usize> = (0..self.pairs.len()).collect();
                let mut told = Told::begin(self.common);
                let write = |at: usize, outcome| self.written(at, outcome);
                self.run(&all, jobs, write, |at, outcome| self.tell(at, &outcome, &mut told));
                told.end()
            }
            Part::Shard(shard, folder) => {
                let job = job()?;
                let own: Vec<usize> = (0..self.pairs.len()).filter(|&at| job.is_of(at, shard)).collect();
                self.compare_shard(&own, jobs, shard, ShardWriter::create(&folder, shard, job)?)
            }
            Part::Done(set) => {
                let mut results = set.results(&job()?)?;
                let mut told = Told::begin(self.common);
                for at in 0..self.pairs.len() {
                    self.tell(at, &self.written(at, results.take(at)?), &mut told);
                }
                told.end()
            }
        }
    }

    /// Compares these pairs and leaves the results in a shard.
    fn compare_shard(
        &self,
        own: &[usize],
        jobs: Option<usize>,
        shard: Shard,
        mut writer: ShardWriter,
    ) -> Result<Status, Failure> {
        let mut written = Ok(());
        let mut errors = Vec::new();
        self.run(
            own,
            jobs,
            |_, outcome| outcome,
            |at, outcome: Outcome| {
                outcome.warnings.iter().for_each(|line| warn(line));
                errors.extend(outcome.result.as_ref().err().into_iter().flatten().cloned());
                if written.is_ok() {
                    let files = self.pairs[at].paths.each_ref().map(PathBuf::as_path);
                    let case = Case { number: at, files: &files, failed: outcome.result.is_err() };
                    written = writer.record(case, &outcome);
                }
            },
        );
        written?;
        finish(shard, writer, [own.len(), self.pairs.len()], errors)
    }

    /// Compares the pairs of these numbers. `work` goes on with an outcome on the worker, `done` gets it in order.
    fn run<T: Send>(
        &self,
        own: &[usize],
        jobs: Option<usize>,
        work: impl Fn(usize, Outcome) -> T + Sync,
        mut done: impl FnMut(usize, T),
    ) {
        let Workers { count, threads } = Workers::new(jobs, own.len());
        let options = self.common.load_options(true, threads);
        let pairs: Vec<PairSpec> = own.iter().map(|&at| self.pairs[at].clone()).collect();
        // A trace that several pairs have is read once.
        let traces: BTreeSet<&Path> = pairs.iter().flat_map(|pair| &pair.paths).map(PathBuf::as_path).collect();
        let reading = progress::files("traces", traces.iter().copied());
        let left_per_pair = |at: usize| traces.len() * (at + 1) / pairs.len() - traces.len() * at / pairs.len();
        let compare = |position: usize, loaded| {
            let at = own[position];
            work(at, compare(&self.pairs[at], &self.plans[at], loaded))
        };
        run_pairs(&pairs, count, &options, compare, |position, outcome| {
            done(own[position], outcome);
            reading.inc(left_per_pair(position));
        });
    }

    /// Writes the result of a pair. What is left of it is what there is to tell.
    fn written(&self, at: usize, outcome: Outcome) -> Written {
        let Outcome { warnings, result } = outcome;
        let compared = match result {
            Ok(compared) => compared,
            Err(lines) => return Written { warnings, total_ms: Err(lines) },
        };
        match replace(&self.outputs[at], compared.text.as_bytes(), Parents::Create) {
            Ok(()) => Written { warnings, total_ms: Ok(compared.total_ms) },
            Err(error) => Written { warnings: Vec::new(), total_ms: Err(vec![error_line(&error)]) },
        }
    }

    /// Prints the line of a pair.
    fn tell(&self, at: usize, written: &Written, told: &mut Told) {
        written.warnings.iter().for_each(|line| warn(line));
        let line = match &written.total_ms {
            Ok(totals) => done_line(&self.pairs[at], *totals, &self.outputs[at], self.common.compat.is_some()),
            Err(lines) => {
                told.failed = true;
                lines.iter().for_each(|line| print_error(line));
                format!("failed\t{}\t-\t-\t-\t-\n", one_line(&self.pairs[at].name))
            }
        };
        if told.printed.is_ok() {
            told.printed = print(&line);
        }
    }
}

/// A pair whose result lies where it belongs, or that failed.
struct Written {
    warnings: Vec<String>,
    /// Totals in ms, or one line per failure.
    total_ms: Result<[f64; 2], Vec<String>>,
}

/// What was told of all pairs.
struct Told {
    failed: bool,
    printed: Result<(), Failure>,
}

impl Told {
    /// Prints what the columns are, which the rules of old releases do not.
    fn begin(common: &Common) -> Told {
        let printed = if common.compat.is_some() { Ok(()) } else { print(COLUMNS) };
        Told { failed: false, printed }
    }

    fn end(self) -> Result<Status, Failure> {
        self.printed?;
        Ok(if self.failed { Status::Code(1) } else { Status::Success })
    }
}

fn output_of(pair: &PairSpec, plan: &Plan, output_dir: &Path) -> PathBuf {
    match &pair.output {
        Some(output) => PathBuf::from(output),
        None => output_dir.join(format!("{}.{}", pair.name, plan.format.extension())),
    }
}

fn compare(pair: &PairSpec, plan: &Plan, loaded: Result<LoadedPair, Vec<Arc<Error>>>) -> Outcome {
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
    Outcome { warnings, result: Ok(Compared { total_ms: analysis.total_ms, text: plan.render(&analysis) }) }
}

/// First line of what is printed.
const COLUMNS: &str = "status\tname\ttrace1_ms\ttrace2_ms\ttrace2_over_trace1\toutput\n";

/// Kernel times and their ratio: that of trace 2 by that of trace 1, the other way round under the rules of old releases.
fn done_line(pair: &PairSpec, [first, second]: [f64; 2], output: &Path, is_legacy: bool) -> String {
    let (above, below) = if is_legacy { (first, second) } else { (second, first) };
    let ratio = if below > 0.0 {
        above / below
    } else if above > 0.0 {
        f64::INFINITY
    } else {
        1.0
    };
    let output = output.to_string_lossy();
    format!("ok\t{}\t{first:.3}\t{second:.3}\t{ratio:.3}\t{}\n", one_line(&pair.name), one_line(&output))
}
