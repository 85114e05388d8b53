//! The standard collection: the sessions of a plan one after the other, into the tables of one folder.

use crate::backend::Backend;
use crate::bandwidth::BandwidthRow;
use crate::bench::{Bench, Outcome, Output, report_bytes};
use crate::collective::Collective;
use crate::dtype::CollectiveDType;
use crate::engine::{Event, Interpreter, Launcher, RunOptions};
use crate::error::Error;
use crate::plan::PlanWarning;
use crate::sessions::{Session, SessionPlan};
use crate::tables::{self, Destination, Existing};
use perfdb_files::replace::{Parents, replace};
use perfdb_store::provenance::Run;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How a collection is to be run.
#[derive(Clone, Debug)]
pub struct CollectionOptions {
    /// Element type.
    pub dtype: CollectiveDType,
    /// Engine; `None` = by what the machine has.
    pub backend: Option<Backend>,
    /// What starts the ranks.
    pub launcher: Launcher,
    /// What happens to rows that are there before the collection begins.
    pub existing: Existing,
    /// File for the bandwidths of all sessions; JSON when its name ends in `.json`.
    pub report: Option<PathBuf>,
    /// Whether times may be written into a directory of another device.
    pub allow_foreign_times: bool,
    /// How long to wait for another run's lock.
    pub lock_timeout: Duration,
    /// Name of the tool, for the lock's message.
    pub tool: &'static str,
    /// What `database.toml` beside the tables will say of the collection, see [`Output::run`].
    pub run: Option<Run>,
}

/// What a collection reports while it goes on.
#[derive(Debug)]
pub enum Step<'a> {
    /// A session begins.
    Begin {
        /// Its number, from 1.
        number: usize,
        /// Sessions in all.
        total: usize,
        session: &'a Session,
    },
    /// An option of the session does less than it seems to.
    Warning(PlanWarning),
    /// The session reports.
    Event(Event),
    /// The session is over.
    End {
        /// What it came to.
        outcome: &'a Result<Outcome, Error>,
        /// How long it took.
        elapsed: Duration,
    },
}

/// What a collection came to.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// Bandwidths of all sessions, in their order.
    pub bandwidths: Vec<BandwidthRow>,
    /// Sessions whose points all have a row (on nodes that have no rows: whose part went well).
    pub complete: usize,
    /// Sessions that gave some rows, or were complete.
    pub useful: usize,
    /// The tables that are there now, each with its number of rows.
    pub tables: Vec<(PathBuf, usize)>,
}

/// A collection that can be started.
pub struct Collection<'a> {
    plan: &'a SessionPlan,
    options: &'a CollectionOptions,
    folder: &'a Path,
}

impl<'a> Collection<'a> {
    /// Checks that the results could be written, before hours of measuring.
    ///
    /// # Errors
    /// A folder or file that cannot be written to, or tables that cannot be extended.
    pub fn new(plan: &'a SessionPlan, options: &'a CollectionOptions) -> Result<Self, Error> {
        let folder = plan.output_dir.as_path();
        tables::check(&Destination::Directory(folder.to_owned()), &Collective::ALL, options.existing)?;
        if let Some(report) = &options.report {
            tables::check_file(report)?;
        }
        if options.run.is_some() {
            tables::check_record(Some(&Destination::Directory(folder.to_owned())))?;
        }
        Ok(Self { plan, options, folder })
    }

    /// Runs the sessions, each also after failures of the ones before, and writes the report. `interrupt` ends the collection when
    /// it becomes true.
    ///
    /// # Errors
    /// [`Error::Interrupted`], and a report that cannot be written. A session that fails is not an error of the collection: it is
    /// reported, and missing among the complete ones.
    pub fn run(
        &self,
        interpreter: &Interpreter,
        interrupt: &AtomicBool,
        report: &(dyn Fn(Step<'_>) + Sync),
    ) -> Result<Collected, Error> {
        let mut collected = Collected::default();
        for (number, session) in (1..).zip(&self.plan.sessions) {
            report(Step::Begin { number, total: self.plan.sessions.len(), session });
            let begin = Instant::now();
            let mut outcome = self.session(session, interpreter, interrupt, report);
            report(Step::End { outcome: &outcome, elapsed: begin.elapsed() });
            if let Ok(outcome) = &mut outcome {
                let is_complete = outcome.is_complete();
                collected.complete += usize::from(is_complete);
                // Nodes other than the first never have rows.
                collected.useful += usize::from(is_complete || !outcome.rows.is_empty());
                collected.bandwidths.append(&mut outcome.bandwidths);
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(Error::Interrupted { results: None });
            }
        }
        for op in Collective::ALL {
            let path = self.folder.join(op.table_file());
            if let Some(rows) = tables::count_rows(&path) {
                collected.tables.push((path, rows));
            }
        }
        if let (Some(path), false) = (&self.options.report, collected.bandwidths.is_empty()) {
            replace(path, &report_bytes(path, &collected.bandwidths), Parents::Create)?;
        }
        Ok(collected)
    }

    fn session(
        &self,
        session: &Session,
        interpreter: &Interpreter,
        interrupt: &AtomicBool,
        report: &(dyn Fn(Step<'_>) + Sync),
    ) -> Result<Outcome, Error> {
        let options = self.options;
        let run = RunOptions {
            backend: options.backend,
            launcher: options.launcher,
            nodes: session.nodes(),
            ..RunOptions::default()
        };
        let existing = match options.existing {
            // That no table was there has been checked; by now there may be those of earlier sessions.
            Existing::Error => Existing::Merge,
            other => other,
        };
        let output = Output {
            destination: Some(Destination::Directory(self.folder.to_owned())),
            existing,
            report: None,
            allow_foreign_times: options.allow_foreign_times,
            lock_timeout: options.lock_timeout,
            tool: options.tool,
            run: options.run.clone(),
            ..Output::default()
        };
        let bench = Bench::new(&session.request(options.dtype), run, output)?;
        bench.plan().warnings().into_iter().for_each(|warning| report(Step::Warning(warning)));
        bench.run(interpreter, &|event| report(Step::Event(event)), interrupt)
    }
}
