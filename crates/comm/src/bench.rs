//! One run of the bench: from the plan to rows in tables.

use crate::aggregate::{Aggregate, DispatchOverhead, Row, aggregate};
use crate::backend::Backend;
use crate::bandwidth::{self, BandwidthRow, bandwidth_rows};
use crate::engine::{
    Ending, Event, Interpreter, LaunchKind, Launcher, RunFolder, RunOptions, Start, Supervision, free_port, supervise,
};
use crate::error::Error;
use crate::home;
use crate::plan::{BenchMode, Plan, PlanRequest};
use crate::results::{Results, Timing};
use crate::results_folder::ResultsFolder;
use crate::tables::{self, Destination, Existing, Target, WrittenTable};
use perfdb_files::escape::shown;
use perfdb_files::lock::{DEFAULT_TIMEOUT, LockOptions, Notice};
use perfdb_store::provenance::Run;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How often another port is taken when the engine finds the chosen one in use.
const PORT_TRIES: usize = 3;

/// Makes the content of a [`Page`] of what a run came to.
pub type Content = dyn Fn(&Outcome) -> std::io::Result<Vec<u8>> + Send + Sync;

/// A file that is made of what a run came to, and written in the same step as its rows: a page for people.
#[derive(Clone)]
pub struct Page {
    /// Where it goes.
    pub path: PathBuf,
    /// Its content; tables are not written yet when it is asked for.
    pub content: Arc<Content>,
}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Page").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What becomes of the results.
#[derive(Clone, Debug)]
pub struct Output {
    /// Where rows go; `None` = nowhere.
    pub destination: Option<Destination>,
    /// What happens to rows that are there already.
    pub existing: Existing,
    /// File for the report with bandwidths; JSON when its name ends in `.json`.
    pub report: Option<PathBuf>,
    /// A page about the results.
    pub page: Option<Page>,
    /// Whether times may be written into a directory of another device.
    pub allow_foreign_times: bool,
    /// How long to wait for another run's lock.
    pub lock_timeout: Duration,
    /// Whether the correction for the serving framework is added.
    pub dispatch_overhead: DispatchOverhead,
    /// Name of the tool, for the lock's message.
    pub tool: &'static str,
    /// What `database.toml` beside the tables will say of the run; its types and settings are filled in. `None` = nothing.
    pub run: Option<Run>,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            destination: None,
            existing: Existing::Merge,
            report: None,
            page: None,
            allow_foreign_times: false,
            lock_timeout: DEFAULT_TIMEOUT,
            dispatch_overhead: DispatchOverhead::Auto,
            tool: "perfdb-comm",
            run: None,
        }
    }
}

impl Output {
    /// Refuses an engine whose times do not belong where rows go.
    fn check_home(&self, backend: Backend) -> Result<(), Error> {
        match &self.destination {
            Some(destination) if !self.allow_foreign_times => home::check(&destination.folder(), backend),
            _ => Ok(()),
        }
    }

    /// What `database.toml` will say of a run, with how it measured.
    fn run_of(&self, results: &Results) -> Option<Run> {
        let mut run = self.run.clone()?;
        let (record, plan) = (&results.run, &results.plan);
        let is_corrected = self.dispatch_overhead.is_added(record.backend);
        let grid: Vec<String> = plan.grid_shape.iter().map(u64::to_string).collect();
        run.settings.extend(
            [
                ("backend", record.backend.to_string()),
                ("dispatch-overhead", if is_corrected { "on" } else { "off" }.to_owned()),
                ("dtype", record.executed_dtype.table_name().to_owned()),
                ("grid-shape", grid.join(" ")),
                ("timing", record.timing.name().to_owned()),
                ("torch", record.torch.clone()),
            ]
            .map(|(key, value)| (key.to_owned(), value)),
        );
        Some(run)
    }
}

/// A point that has no row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingPoint {
    /// Operator, size, devices and tier, in words.
    pub point: String,
    /// Why.
    pub reason: String,
}

/// What a run, or a results folder, came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Rows, in the order in which they were written.
    pub rows: Vec<Row>,
    /// Numbers of the report, in plan order.
    pub bandwidths: Vec<BandwidthRow>,
    /// Points without a row, in plan order.
    pub missing: Vec<MissingPoint>,
    /// Tables that were written.
    pub written: Vec<WrittenTable>,
    /// Why the run ended before its end, if it did.
    pub failure: Option<String>,
    /// Whether the launcher died while shutting down, all data being safe.
    pub bad_shutdown: bool,
    /// Where the raw results still are.
    pub kept_results: Option<PathBuf>,
}

impl Outcome {
    /// Whether every point has a row (on nodes that have no rows: whether their part went well).
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.failure.is_none()
    }
}

/// Turns a results folder into rows. Starts no process.
pub fn collect(directory: &Path, output: &Output, events: &(dyn Fn(Event) + Sync)) -> Result<Outcome, Error> {
    let results = Results::read(directory)?;
    if matches!(output.destination, Some(Destination::File(_))) && results.plan.ops().len() > 1 {
        return Err(Error::SeveralOperators);
    }
    output.check_home(results.run.backend)?;
    finish(&results, output, None, events)
}

/// Judges results, then writes.
fn finish(
    results: &Results,
    output: &Output,
    failure: Option<String>,
    events: &(dyn Fn(Event) + Sync),
) -> Result<Outcome, Error> {
    let Aggregate { measurements, missing, rows, warnings } = aggregate(results, output.dispatch_overhead);
    warnings.into_iter().for_each(|warning| events(Event::Warning(warning)));
    let plan = &results.plan;
    if results.run.executed_dtype != plan.dtype {
        let used = results.run.executed_dtype;
        events(Event::Warning(format!(
            "{} of torch {} refuses {}: {used} was used, rows say {}",
            results.run.backend,
            results.run.torch,
            plan.dtype,
            used.table_name()
        )));
    }
    let missing: Vec<MissingPoint> = missing
        .into_iter()
        .map(|missing| MissingPoint { point: plan.configs[missing.config].label(), reason: missing.reason })
        .collect();
    if rows.is_empty() {
        let reason = failure.unwrap_or_else(|| {
            missing.first().map_or_else(|| "the plan has no points".into(), |m| format!("{}: {}", m.point, m.reason))
        });
        return Err(Error::RunFailed(format!("{}: no point has a value: {reason}", shown(&results.directory))));
    }
    let bandwidths = bandwidth_rows(plan, &measurements, results.run.executed_dtype);
    let notice = |notice: &Notice| {
        let text = notice.to_string();
        events(if matches!(notice, Notice::Waiting { .. }) { Event::Waiting(text) } else { Event::Warning(text) });
    };
    let lock = LockOptions { tool: output.tool, timeout: output.lock_timeout, notice: &notice };
    let written = Vec::new();
    let mut outcome = Outcome { rows, bandwidths, missing, written, failure, bad_shutdown: false, kept_results: None };
    let mut besides = Vec::new();
    if let Some(path) = output.report.as_deref() {
        besides.push((path, report_bytes(path, &outcome.bandwidths)));
    }
    if let Some(Page { path, content }) = &output.page {
        besides.push((path, content(&outcome).map_err(|source| Error::io(path, source))?));
    }
    let target = output.destination.as_ref().map(|destination| Target {
        destination,
        existing: output.existing,
        run: output.run_of(results),
    });
    outcome.written = tables::write(&outcome.rows, target, &besides, &lock)?;
    Ok(outcome)
}

/// The report as the file's name asks for it.
pub fn report_bytes(path: &Path, rows: &[BandwidthRow]) -> Vec<u8> {
    let json = path.extension().is_some_and(|extension| extension == "json");
    if json { bandwidth::to_json(rows).into_bytes() } else { bandwidth::to_csv(rows).into_bytes() }
}

/// A run that can be started: its plan is made, and what could be checked without an engine has been.
#[derive(Debug)]
pub struct Bench {
    plan: Plan,
    options: RunOptions,
    output: Output,
}

impl Bench {
    /// Plans a run and checks that its results could be written.
    pub fn new(request: &PlanRequest, options: RunOptions, output: Output) -> Result<Self, Error> {
        let plan = request.plan()?;
        if matches!(output.destination, Some(Destination::File(_))) && request.ops.len() > 1 {
            return Err(Error::SeveralOperators);
        }
        let bench = Self { plan, options, output };
        let ((_, world), needed) = (bench.ranks(), bench.plan.min_world_size);
        if world < needed {
            return Err(Error::WorldTooSmall { world, needed });
        }
        if bench.writes() {
            if let Some(backend) = bench.options.backend {
                bench.output.check_home(backend)?;
            }
            if let Some(destination) = &bench.output.destination {
                tables::check(destination, &bench.plan.ops(), bench.output.existing)?;
            }
            if bench.output.run.is_some() {
                tables::check_record(bench.output.destination.as_ref())?;
            }
            for file in bench.output.report.iter().chain(bench.output.page.as_ref().map(|page| &page.path)) {
                tables::check_file(file)?;
            }
        }
        Ok(bench)
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether this process gets the rows: every group starts at rank 0.
    fn writes(&self) -> bool {
        match &self.options.rank_of_launcher {
            Some(rank) => rank.rank == 0,
            None => self.options.nodes.rank == 0,
        }
    }

    /// Ranks on this node, and in all.
    fn ranks(&self) -> (u64, u64) {
        match &self.options.rank_of_launcher {
            Some(rank) => (rank.local_world_size, rank.world_size),
            None => {
                let nproc = self.options.nodes.nproc_for(self.plan.min_world_size);
                (nproc, nproc.saturating_mul(self.options.nodes.count))
            }
        }
    }

    /// Runs the plan and writes what it gives. `interrupt` ends the run when it becomes true.
    pub fn run(
        &self,
        interpreter: &Interpreter,
        events: &(dyn Fn(Event) + Sync),
        interrupt: &AtomicBool,
    ) -> Result<Outcome, Error> {
        let (nproc, world) = self.ranks();
        let backend = interpreter.backend(self.options.backend, nproc)?;
        if self.writes() {
            self.output.check_home(backend)?;
        }
        let chosen = if self.options.backend.is_none() { " (chosen by what the machine has)" } else { "" };
        events(Event::Note(format!(
            "backend {backend}{chosen}, torch {} of {}, {world} ranks",
            interpreter.torch,
            shown(&interpreter.program)
        )));
        let timing = self.timing(backend, events);
        self.plan.tier_warnings().into_iter().for_each(|warning| events(Event::Warning(warning)));
        let skip = if backend == Backend::Gloo { self.too_large(nproc, events) } else { Vec::new() };
        let folder = ResultsFolder::make(&self.options)?;
        let run_folder = RunFolder::prepare(folder.path(), &self.plan)?;
        let mark = crate::engine::new_run_mark();
        let start = Start {
            interpreter,
            folder: &run_folder,
            options: &self.options,
            backend,
            timing,
            skip: &skip,
            nproc,
            port: 0,
            mark: &mark,
        };
        let _span = tracing::info_span!("run", points = self.plan.configs.len(), ranks = world, %backend).entered();
        tracing::info!(folder = %folder.path().display(), "raw results go here");
        let ending = self.launch(start, &Supervision { plan: &self.plan, events, interrupt })?;
        self.judge(folder, ending, events)
    }

    /// Kernel timing exists on NPUs only.
    fn timing(&self, backend: Backend, events: &(dyn Fn(Event) + Sync)) -> Timing {
        match (self.plan.bench_mode, backend) {
            (BenchMode::Kernel, Backend::Hccl) => Timing::Profiler,
            (BenchMode::Kernel, _) => {
                events(Event::Warning(format!(
                    "kernel timing needs hccl: with {backend} calls are timed (event timing)"
                )));
                Timing::Event
            }
            (BenchMode::Event, _) => Timing::Event,
        }
    }

    /// Points whose tensors do not fit into this node's memory: 1.5 times the tensors of all its ranks in 60 % of what is
    /// available.
    fn too_large(&self, nproc: u64, events: &(dyn Fn(Event) + Sync)) -> Vec<usize> {
        let Some(available) = perfdb_files::memory::available_bytes() else {
            return Vec::new();
        };
        let fits = |bytes: u64| bytes as f64 * nproc as f64 * 1.5 <= available as f64 * 0.6;
        let points = self.plan.configs.iter().enumerate().filter(|(_, point)| !fits(point.peak_tensor_bytes));
        points
            .map(|(config, point)| {
                events(Event::Warning(format!(
                    "{}: not run, {nproc} ranks with tensors of {} bytes do not fit into the {available} bytes available",
                    point.label(),
                    point.peak_tensor_bytes
                )));
                config
            })
            .collect()
    }

    /// Starts the ranks, again where the first start did not get a rank going for a reason that another start may not have.
    fn launch(&self, mut start: Start<'_>, with: &Supervision<'_>) -> Result<Ending, Error> {
        let single_node = self.options.nodes.count == 1;
        let mut kind = match (&self.options.rank_of_launcher, self.options.launcher) {
            (Some(_), _) => LaunchKind::Inside,
            (None, Launcher::Direct) => LaunchKind::Direct,
            (None, Launcher::Auto | Launcher::Torchrun) => LaunchKind::Torchrun,
        };
        let mut port_tries = 1;
        loop {
            start.port = match self.options.nodes.master_port {
                Some(port) => port,
                None if kind == LaunchKind::Inside => 0,
                None => free_port()?,
            };
            let ending = supervise(&start, kind, with)?;
            if ending.any_opened || ending.interrupted || kind == LaunchKind::Inside || !single_node {
                return Ok(ending);
            }
            let why = ending.failure.clone().unwrap_or_default();
            let own_port = self.options.nodes.master_port.is_none();
            if ending.port_in_use && own_port && port_tries < PORT_TRIES {
                port_tries += 1;
                (with.events)(Event::Note(format!("port {} is in use, trying another", start.port)));
            } else if kind == LaunchKind::Torchrun && self.options.launcher == Launcher::Auto && !ending.port_in_use {
                kind = LaunchKind::Direct;
                (with.events)(Event::Note(format!(
                    "torchrun did not get a rank going ({why}); starting the ranks directly"
                )));
            } else {
                return Ok(ending);
            }
        }
    }

    /// What `database.toml` will say of this run, with how often calls were made, which results alone do not tell.
    fn run_of(&self, timing: Timing) -> Option<Run> {
        let mut run = self.output.run.clone()?;
        run.settings.insert("warmup".to_owned(), self.options.warmup.to_string());
        if timing == Timing::Event {
            run.settings.insert("iters".to_owned(), self.options.iters.to_string());
        }
        Some(run)
    }

    /// What the run came to. The result files decide, not the launcher's exit status.
    fn judge(&self, folder: ResultsFolder, ending: Ending, events: &(dyn Fn(Event) + Sync)) -> Result<Outcome, Error> {
        if ending.interrupted {
            return Err(Error::Interrupted { results: Some(folder.keep()) });
        }
        let run_failed = |failure: &str, folder: ResultsFolder| {
            let kept = folder.keep();
            Error::RunFailed(format!("{failure}; logs are in {}", shown(&kept.join("logs"))))
        };
        if !self.writes() {
            return match ending.failure {
                Some(failure) => Err(run_failed(&failure, folder)),
                None => Ok(Outcome {
                    rows: Vec::new(),
                    bandwidths: Vec::new(),
                    missing: Vec::new(),
                    written: Vec::new(),
                    failure: None,
                    bad_shutdown: ending.bad_shutdown,
                    kept_results: folder.end(&self.options),
                }),
            };
        }
        if let Some(failure) = &ending.failure
            && !folder.path().join("run.json").exists()
        {
            return Err(run_failed(failure, folder));
        }
        let read = if ending.failure.is_some() { Results::read_broken } else { Results::read };
        let results = match read(folder.path()) {
            Ok(results) => results,
            Err(error) => {
                events(Event::ResultsKept(folder.keep()));
                return Err(error);
            }
        };
        let output = Output { run: self.run_of(results.run.timing), ..self.output.clone() };
        match finish(&results, &output, ending.failure, events) {
            Ok(mut outcome) => {
                outcome.bad_shutdown = ending.bad_shutdown;
                outcome.kept_results =
                    if outcome.is_complete() { folder.end(&self.options) } else { Some(folder.keep()) };
                Ok(outcome)
            }
            Err(error) => {
                events(Event::ResultsKept(folder.keep()));
                Err(error)
            }
        }
    }
}
