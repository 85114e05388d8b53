//! A whole run over the tables of a folder.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use num_bigint::BigInt;
use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_files::replace::Staged;
use perfdb_parallel::{OrderedMap, states};
use perfdb_pycompat::random::Random;
use perfdb_store::directory::is_in_side_folder;

use crate::Semantics;
use crate::discovery::{TableFile, tables};
use crate::enumeration::{Enumeration, ModelChoice, enumeration_error};
use crate::error::Error;
use crate::memory::Budget;
use crate::routing::{NoRule, Routing};
use crate::rules::{Pattern, RuleFile};
use crate::summary::{FileOutcome, Reason, Summary};
use crate::table::growth::{Growth, Judged, NewRows, RowFilter};
use crate::table::head;
use crate::table::row_text::{RowText, check_columns};
use crate::table::template_row::TemplateRow;

/// What to append, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder of tables.
    pub directory: PathBuf,
    /// The models to prune by; `None` for the full grids.
    pub models: Option<Vec<String>>,
    /// The most candidates to take per file; all when not above 0.
    pub rows: BigInt,
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

/// Does everything but the last step: the new files lie beside the tables and wait for [`Prepared::commit`].
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
    let openings = map_all(threads, files.iter().zip(&routes), |(file, route)| run.open(file, *route))?;
    let chosen = match options.semantics {
        Semantics::Upstream => run.choose(&openings)?,
        Semantics::Corrected => {
            let judged = map_all(threads, &openings, |opening| run.judge_all(opening))?;
            run.choose_new(&openings, judged)
        }
    };
    let growing = openings.iter().filter(|opening| matches!(opening, Opening::Grows(_))).count();
    let done = AtomicUsize::new(0);
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
            if options.semantics == Semantics::Corrected {
                // Its operands have three dimensions.
                rules.reassign("BatchMatMulV2", "batch_matmul_nd");
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

/// A table after a look at its head.
enum Opening<'a> {
    LeftAlone { rule: Option<&'a str>, reason: Reason },
    Grows(Box<Growing<'a>>),
}

struct Growing<'a> {
    rule: &'a str,
    growth: Growth<'a>,
}

/// The candidates of a table that are taken.
enum Chosen {
    Nothing,
    /// All candidates, in order.
    All,
    /// Those at these positions, in this order.
    Drawn(Vec<u64>),
    /// Those that were found to be new before the draw.
    New {
        positions: Vec<u64>,
        over_budget: u64,
        refused: u64,
        duplicates: u64,
    },
}

/// How many new files may stay open; systems allow a process some hundred.
const MOST_OPEN_FILES: usize = 256;

/// What all steps of a run need.
struct Run<'a> {
    options: &'a Options,
    rules: &'a RuleFile,
    models: &'a ModelChoice,
    filter: Option<RowFilter<'a>>,
    writes: bool,
    /// All files together are synced in less time, but stay open until then.
    syncs_at_the_end: bool,
}

impl<'a> Run<'a> {
    fn open(&self, file: &'a TableFile, route: Result<(&'a str, &'a Pattern), NoRule>) -> Result<Opening<'a>, Error> {
        let (rule, pattern) = match route {
            Ok(route) => route,
            Err(why) => return Ok(Opening::LeftAlone { rule: None, reason: Reason::NoRule(why) }),
        };
        let head = match head::read(&file.path, &file.kernel)? {
            Ok(head) => head,
            Err(reason) => return Ok(Opening::LeftAlone { rule: Some(rule), reason }),
        };
        let enumeration = Enumeration::new(self.rules, rule, pattern, self.models)
            .map_err(|reason| enumeration_error(self.rules.path(), rule, reason, &file.path))?;
        if enumeration.count() > 0 {
            check_columns(&file.path, &head, enumeration.columns())?;
        }
        let semantics = self.options.semantics;
        let budget = Budget::from_gib(self.options.max_hbm_gib);
        let template = TemplateRow::new(&file.path, &head, enumeration.columns(), budget, semantics)?;
        let text = RowText::new(&head, enumeration.columns(), semantics);
        let growth =
            Growth { path: &file.path, kernel: &file.kernel, head, enumeration, template, text, filter: self.filter };
        Ok(Opening::Grows(Box::new(Growing { rule, growth })))
    }

    /// The cap per table, if there is one.
    fn cap(&self) -> Option<u64> {
        let rows = &self.options.rows;
        (*rows > BigInt::ZERO).then(|| u64::try_from(rows).unwrap_or(u64::MAX))
    }

    /// Draws for all tables, in order, from one generator.
    fn choose(&self, openings: &[Opening<'_>]) -> Result<Vec<Chosen>, Error> {
        let mut draw = Draw::new(self.cap(), &self.options.seed);
        let choose = |opening: &Opening<'_>| match opening {
            Opening::LeftAlone { .. } => Ok(Chosen::Nothing),
            Opening::Grows(growing) => {
                let count = growing.growth.enumeration.count();
                growing.growth.check_count(count.min(self.cap().unwrap_or(count)))?;
                Ok(draw.positions(count).map_or(Chosen::All, Chosen::Drawn))
            }
        };
        openings.iter().map(choose).collect()
    }

    /// Looks at all candidates of a table.
    fn judge_all(&self, opening: &Opening<'_>) -> Result<Judged, Error> {
        let Opening::Grows(growing) = opening else {
            return Ok(Judged::default());
        };
        let growth = &growing.growth;
        let signatures = growth.existing_signatures(&growth.read()?)?;
        let count = growth.enumeration.count();
        growth.check_count(count)?;
        // The rows are made again for those that are drawn; all of them would be much to keep.
        Ok(Judged { rows: NewRows::default(), ..growth.judge(0..count, signatures)? })
    }

    /// Draws for all tables, in order, from the candidates that are new.
    fn choose_new(&self, openings: &[Opening<'_>], judged: Vec<Judged>) -> Vec<Chosen> {
        let mut draw = Draw::new(self.cap(), &self.options.seed);
        let choose = |(opening, judged): (&Opening<'_>, Judged)| match opening {
            Opening::LeftAlone { .. } => Chosen::Nothing,
            Opening::Grows(_) => {
                let Judged { positions, over_budget, refused, duplicates, .. } = judged;
                let positions = match draw.positions(positions.len() as u64) {
                    None => positions,
                    Some(drawn) => drawn.into_iter().map(|index| positions[index as usize]).collect(),
                };
                Chosen::New { positions, over_budget, refused, duplicates }
            }
        };
        openings.iter().zip(judged).map(choose).collect()
    }

    /// Makes the rows of a table and stages the new file.
    fn finish(
        &self,
        opening: Opening<'_>,
        chosen: Chosen,
        file: &TableFile,
    ) -> Result<(FileOutcome, Option<Staged>), Error> {
        let mut outcome = FileOutcome {
            path: file.path.clone(),
            kernel: file.kernel.clone(),
            rule: None,
            candidates: 0,
            drawn: 0,
            looked_at: 0,
            over_budget: 0,
            refused: 0,
            duplicates: 0,
            appended: 0,
            reason: None,
        };
        let growing = match opening {
            Opening::LeftAlone { rule, reason } => {
                outcome.rule = rule.map(str::to_owned);
                outcome.reason = Some(reason);
                return Ok((outcome, None));
            }
            Opening::Grows(growing) => growing,
        };
        let growth = &growing.growth;
        let bytes = growth.read()?;
        tracing::debug!(table = %file.path.display(), bytes = bytes.len(), rule = growing.rule, "read");
        outcome.rule = Some(growing.rule.to_owned());
        outcome.candidates = growth.enumeration.count();
        let judge =
            |positions: &mut dyn Iterator<Item = u64>| growth.judge(positions, growth.existing_signatures(&bytes)?);
        let judged = match chosen {
            Chosen::Nothing => Judged::default(),
            Chosen::All => {
                outcome.drawn = outcome.candidates;
                judge(&mut (0..outcome.candidates))?
            }
            Chosen::Drawn(positions) => {
                outcome.drawn = positions.len() as u64;
                judge(&mut positions.into_iter())?
            }
            Chosen::New { positions, over_budget, refused, duplicates } => {
                outcome.drawn = positions.len() as u64;
                outcome.looked_at = outcome.candidates;
                let rows = growth.make(positions.into_iter())?;
                Judged { rows, over_budget, refused, duplicates, positions: Vec::new() }
            }
        };
        outcome.looked_at = outcome.looked_at.max(outcome.drawn);
        outcome.over_budget = judged.over_budget;
        outcome.refused = judged.refused;
        outcome.duplicates = judged.duplicates;
        outcome.appended = judged.rows.len() as u64;
        outcome.reason = match (outcome.appended, outcome.candidates) {
            (0, 0) => Some(Reason::NoCandidates),
            (0, _) if judged.refused > 0 && judged.duplicates == 0 => Some(Reason::Refused),
            (0, _) => Some(Reason::NothingNew),
            _ => None,
        };
        let keeps_bytes = self.options.semantics == Semantics::Corrected && outcome.appended == 0;
        let mut staged = if self.writes && !keeps_bytes { Some(growth.stage(&bytes, &judged.rows)?) } else { None };
        if let Some(staged) = staged.as_mut().filter(|_| !self.syncs_at_the_end) {
            staged.sync()?;
        }
        Ok((outcome, staged))
    }

    fn summary(&self, mapping: &Routing, files: Vec<FileOutcome>) -> Summary {
        let Options { directory, models, rows, seed, max_hbm_gib, config, .. } = self.options;
        let file_name = config.as_ref().and_then(|path| path.file_name());
        let config = file_name.map(|name| name.to_string_lossy().into_owned());
        Summary {
            directory: directory.clone(),
            dry_run: !self.writes,
            models: models.clone(),
            config: config.unwrap_or_else(|| crate::rules::BUILT_IN_NAME.to_owned()),
            op_mapping: !mapping.is_empty(),
            rows: rows.clone(),
            seed: self.cap().map(|_| seed.clone()),
            max_hbm_gib: *max_hbm_gib,
            budget: Budget::from_gib(*max_hbm_gib),
            files,
        }
    }
}

/// The draws of a run.
struct Draw {
    cap: Option<u64>,
    generator: Random,
}

impl Draw {
    fn new(cap: Option<u64>, seed: &BigInt) -> Self {
        Self { cap, generator: Random::from_seed(seed) }
    }

    /// The positions to take of so many, in the order drawn; `None` for all of them, which touches no generator.
    fn positions(&mut self, count: u64) -> Option<Vec<u64>> {
        let cap = self.cap.filter(|cap| count > *cap)?;
        Some(self.generator.sample(count, cap))
    }
}
