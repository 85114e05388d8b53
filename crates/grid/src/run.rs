//! A whole run over the tables of a folder.

mod draw;
mod plan;
mod steps;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use num_bigint::BigInt;
use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_files::parallel::{OrderedMap, states};
use perfdb_files::replace::Staged;
use perfdb_store::directory::is_in_side_folder;
use perfdb_store::registry::parts::BATCH_MATMUL;

use crate::Semantics;
use crate::discovery::{TableFile, tables};
use crate::enumeration::ModelChoice;
use crate::error::Error;
use crate::routing::{NoRule, Routing};
use crate::rules::RuleFile;
use crate::summary::Summary;
use crate::table::growth::RowFilter;
use steps::{MOST_OPEN_FILES, Opening, Run};

/// What to append, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder of tables.
    pub directory: PathBuf,
    /// The models to prune by; `None` for the full grids.
    pub models: Option<Vec<OsString>>,
    /// The most candidates to take per file; all when not above 0.
    pub rows: BigInt,
    /// Which candidates are taken, where there are more.
    pub choice: Choice,
    /// The seed of the draw; of no effect when all candidates are taken.
    pub seed: BigInt,
    /// The memory that a row may take, in GiB; no filter when below one byte.
    pub max_hbm_gib: f64,
    /// The rule file; `None` for the built-in rules.
    pub config: Option<PathBuf>,
    /// Which rules of the original are followed.
    pub semantics: Semantics,
    /// How many tables are worked on at a time; `None` for as many as there are processors. It makes no other difference.
    pub threads: Option<NonZeroUsize>,
}

/// Which candidates are taken, where there are more than may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Random ones, by the seed.
    #[default]
    Random,
    /// Those that tell most about the others, by the rule of [`perfdb_model::predict::plan`]: far from the rows that are measured, later where these
    /// leave most in doubt. Only [`Semantics::Corrected`] has it: the originals draw before they know which candidates are new.
    MostTelling,
}

/// Whether tables change.
#[derive(Clone, Copy, Debug)]
pub enum Mode<'a> {
    /// Nothing is locked or written.
    DryRun,
    /// The folders of the tables are locked like this, and their files written.
    Write(&'a LockOptions<'a>),
}

/// A run that is done but for giving the new files their names. The folders stay locked.
#[derive(Debug)]
#[must_use = "nothing has changed before `commit`"]
pub struct Prepared {
    summary: Summary,
    warnings: Vec<String>,
    staged: Vec<Staged>,
    locks: DirectoryLocks,
}

impl Prepared {
    /// What the run does.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Warnings of the rule file, and about tables that were left alone.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.warnings.iter().cloned().chain(self.summary.warnings())
    }

    /// Replaces all tables, together with the `further` files.
    ///
    /// # Errors
    ///
    /// A file that cannot be replaced; the error names those that are new already.
    pub fn commit(mut self, further: Vec<Staged>) -> Result<Summary, Error> {
        self.staged.extend(further);
        self.locks.commit(self.staged)?;
        Ok(self.summary)
    }
}

/// Called with how many of the tables that a rule is for are done, and how many there are.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Does everything but the last step: the new files are next to the tables and wait for [`Prepared::commit`].
///
/// With a `filter` only the rows that it takes are written; the others are counted.
///
/// # Errors
///
/// Anything that cannot be read, does not validate or cannot be written; no table has changed then.
pub fn prepare(
    options: &Options,
    mode: Mode<'_>,
    filter: Option<RowFilter<'_>>,
    progress: Progress<'_>,
) -> Result<Prepared, Error> {
    let rules = rules(options)?;
    let models = ModelChoice::new(options.models.as_deref(), options.semantics)?;
    let files = tables(&options.directory)?;
    tracing::info!(folder = %options.directory.display(), tables = files.len(), "found");
    let mapping = Routing::read(&options.directory)?;
    let route = |file: &TableFile| {
        let below = file.path.strip_prefix(&options.directory).unwrap_or(&file.path);
        // What a profiler or another tool has left there is counted, and never grows.
        if is_in_side_folder(below) { Err(NoRule::NoTable) } else { mapping.rule(&file.kernel, &rules) }
    };
    let routes: Vec<_> = files.iter().map(route).collect();
    let locks = match mode {
        Mode::DryRun => DirectoryLocks::default(),
        Mode::Write(locking) => {
            let routed = files.iter().zip(&routes).filter(|(_, route)| route.is_ok());
            DirectoryLocks::acquire(routed.map(|(file, _)| folder_of(&file.path)), locking)?
        }
    };
    let run = Run {
        options,
        rules: &rules,
        models: &models,
        filter,
        writes: matches!(mode, Mode::Write(_)),
        syncs_at_the_end: files.len() <= MOST_OPEN_FILES,
    };
    tracing::debug!(rules = %rules.path().display(), "reading the heads of the tables");
    let threads = options.threads;
    let openings = {
        let _span = tracing::info_span!("look at tables").entered();
        map_all(threads, files.iter().zip(&routes), |(file, route)| run.open(file, *route))?
    };
    let choosing = tracing::info_span!("choose candidates").entered();
    let chosen = match options.semantics {
        Semantics::Upstream | Semantics::Newest => run.choose(&openings)?,
        Semantics::Corrected => {
            let judged = map_all(threads, &openings, |opening| run.judge_all(opening))?;
            match options.choice {
                Choice::Random => run.choose_new(&openings, judged),
                Choice::MostTelling => map_all(threads, openings.iter().zip(judged), |(opening, judged)| {
                    run.choose_most_telling(opening, judged)
                })?,
            }
        }
    };
    drop(choosing);
    let growing = openings.iter().filter(|opening| matches!(opening, Opening::Grows(_))).count();
    let done = AtomicUsize::new(0);
    let _span = tracing::info_span!("make rows", tables = growing).entered();
    let finished = map_all(threads, openings.into_iter().zip(chosen).zip(&files), |((opening, chosen), file)| {
        let grows = matches!(opening, Opening::Grows(_));
        let finished = run.finish(opening, chosen, file)?;
        if grows {
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, growing);
        }
        Ok(finished)
    })?;
    let (outcomes, staged): (Vec<_>, Vec<_>) = finished.into_iter().unzip();
    let summary = run.summary(&mapping, outcomes);
    let warnings = rules.warnings().to_vec();
    Ok(Prepared { summary, warnings, staged: staged.into_iter().flatten().collect(), locks })
}

/// Does work on all items, several at a time; the results in order. Of several errors it is the first one in order.
fn map_all<T: Send, R: Send>(
    threads: Option<NonZeroUsize>,
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let threads = threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let mut items = items.into_iter();
    let mut results = Vec::new();
    OrderedMap::new(&mut states(threads, || ())).run(
        || Ok::<_, Error>(items.next()),
        |(), item| work(item),
        |result| {
            results.push(result?);
            Ok(ControlFlow::Continue(()))
        },
    )?;
    Ok(results)
}

fn rules(options: &Options) -> Result<RuleFile, Error> {
    match &options.config {
        Some(path) => RuleFile::read(path),
        None => {
            let mut rules = RuleFile::built_in();
            if options.semantics.is_corrected() {
                // Its operands have three dimensions.
                rules.reassign(BATCH_MATMUL, "batch_matmul_nd");
            }
            Ok(rules)
        }
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
