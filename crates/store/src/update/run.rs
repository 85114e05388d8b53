//! Which tables an update concerns, and changing all of them or none.

use super::merge::Job;
use super::outcome::{Mode, TableUpdate};
use super::samples::Samples;
use crate::directory::{REPORTS, check_table_name, tables_in, tables_named};
use crate::error::Error;
use crate::kernel::{REPLAYABLE, file_stem, operator_name};
use indexmap::IndexMap;
use perfdb_files::escape::shown;
use perfdb_files::folders::MadeFolders;
use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_files::parallel::on_all_cores;
use perfdb_files::paths::{parent_of, within};
use perfdb_files::replace::{self, Parents, Staged};
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What to update.
#[derive(Debug)]
pub struct UpdateOptions<'a> {
    /// The database directory.
    pub database: &'a Path,
    /// Only these operators, wherever below the directory their tables are; `None`: the tables of all replayable operators in it.
    pub operators: Option<&'a [String]>,
    /// Which rows may change.
    pub mode: Mode,
    /// Remove rows that have no valid duration afterwards.
    pub prune: bool,
    /// Compute everything and leave the directory as it is, without a lock.
    pub dry_run: bool,
    /// Record the changes, row by row.
    pub record_changes: bool,
    /// Write reports also where a linked folder leads out of the database.
    pub follow_links: bool,
    /// How to take the locks.
    pub lock: LockOptions<'a>,
}

impl<'a> UpdateOptions<'a> {
    /// All replayable operators, without pruning.
    pub fn new(database: &'a Path, mode: Mode, lock: LockOptions<'a>) -> Self {
        let (prune, dry_run, record_changes, follow_links) = (false, false, false, false);
        UpdateOptions { database, operators: None, mode, prune, dry_run, record_changes, follow_links, lock }
    }
}

/// The tables that an update of these operators concerns, in order. None if the directory is not there.
pub fn target_tables(database: &Path, operators: Option<&[String]>) -> Result<Vec<PathBuf>, Error> {
    if !database.is_dir() {
        return Ok(Vec::new());
    }
    let Some(operators) = operators else {
        let mut tables = tables_in(database)?;
        tables.retain(|table| REPLAYABLE.contains(&operator_name(&stem_of(table))));
        return Ok(tables);
    };
    let mut tables: Vec<PathBuf> = Vec::new();
    for operator in operators {
        for table in tables_named(database, &format!("{operator}.csv"))? {
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
    }
    Ok(tables)
}

fn stem_of(table: &Path) -> String {
    table.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// An update that is computed and staged, and changes nothing until it is committed. Holds the locks. Dropped, it leaves everything as it was.
#[derive(Debug)]
pub struct Pending {
    updates: Arc<[TableUpdate]>,
    staged: Vec<Staged>,
    warnings: Vec<String>,
    dry_run: bool,
    database: PathBuf,
    follow_links: bool,
    // Dropped in this order: a folder can only go when its lock file is gone.
    locks: DirectoryLocks,
    made_folders: MadeFolders,
}

/// Computes an update of all tables concerned and stages the new ones.
pub fn prepare(samples: &Samples, options: &UpdateOptions<'_>) -> Result<Pending, Error> {
    let mut made_folders = MadeFolders::default();
    // Behind the folders, so that on an error the locks go first.
    let mut locks = DirectoryLocks::default();
    let mut targets = target_tables(options.database, options.operators)?;
    if !options.dry_run {
        made_folders = MadeFolders::make(options.database).map_err(|source| Error::io(options.database, source))?;
        loop {
            let folders = targets.iter().map(|table| parent_of(table)).chain([options.database.to_owned()]);
            locks = DirectoryLocks::acquire(folders, &options.lock)?;
            // Another run may have made tables while this one waited.
            let now = target_tables(options.database, options.operators)?;
            if now == targets {
                break;
            }
            targets = now;
            drop(locks);
        }
    }
    let reports = within(options.database, REPORTS);
    if !options.dry_run && fs::symlink_metadata(&reports).is_ok_and(|metadata| metadata.is_dir()) {
        // They are written under the lock of the database alone.
        replace::remove_leftovers(&reports).map_err(|source| Error::io(&reports, source))?;
    }
    let jobs = jobs(options, targets, samples)?;
    let span = tracing::info_span!("update tables", tables = jobs.len()).entered();
    let results: Vec<Result<(TableUpdate, Option<Staged>), Error>> = on_all_cores(|| {
        let run = |(path, operators): &(PathBuf, Vec<String>)| -> Result<_, Error> {
            let (operator, namesakes) =
                operators.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
            let UpdateOptions { mode, prune, record_changes, dry_run, .. } = *options;
            Job { path, operator, namesakes, mode, prune, record_changes, dry_run }.run(samples)
        };
        jobs.par_iter().map(run).collect()
    });
    drop(span);
    let mut updates = Vec::with_capacity(jobs.len());
    let mut pending = Pending {
        updates: Arc::new([]),
        staged: Vec::new(),
        warnings: warnings(options, &jobs, samples),
        dry_run: options.dry_run,
        database: options.database.to_owned(),
        follow_links: options.follow_links,
        locks,
        made_folders,
    };
    for result in results {
        let (update, staged) = result?;
        updates.push(update);
        pending.staged.extend(staged);
    }
    pending.updates = updates.into();
    let (tables, changed) = (pending.updates.len(), pending.staged.len());
    tracing::info!("updated {tables} tables, {changed} of them changed");
    Ok(pending)
}

/// The tables with the operators whose samples go into them, by operator, then path.
fn jobs(
    options: &UpdateOptions<'_>,
    targets: Vec<PathBuf>,
    samples: &Samples,
) -> Result<Vec<(PathBuf, Vec<String>)>, Error> {
    let mut jobs: Vec<(PathBuf, Vec<String>)> = if targets.is_empty() {
        let mut by_stem: IndexMap<String, Vec<String>> = IndexMap::new();
        for operator in samples.operators() {
            if let Some(stem) = file_stem(operator) {
                check_table_name(options.database, operator, &stem)?;
                by_stem.entry(stem).or_default().push(operator.to_owned());
            }
        }
        by_stem
            .into_iter()
            .map(|(stem, operators)| (within(options.database, format!("{stem}.csv")), operators))
            .collect()
    } else {
        targets.into_iter().map(|table| (table.clone(), vec![stem_of(&table)])).collect()
    };
    jobs.sort_by(|a, b| stem_of(&a.0).cmp(&stem_of(&b.0)).then_with(|| a.0.cmp(&b.0)));
    Ok(jobs)
}

fn warnings(options: &UpdateOptions<'_>, jobs: &[(PathBuf, Vec<String>)], samples: &Samples) -> Vec<String> {
    let mut warnings = Vec::new();
    for (path, operators) in jobs.iter().filter(|(_, operators)| operators.len() > 1) {
        warnings.push(format!("{}: holds the rows of several operators: {}", shown(path), operators.join(", ")));
    }
    let has_table = |operator: &str| jobs.iter().any(|(path, _)| stem_of(path) == operator);
    let selected = options.operators.unwrap_or_default();
    for operator in selected.iter().filter(|operator| !has_table(operator) && samples.of(operator).next().is_some()) {
        warnings.push(format!("{}: no table for {operator}, its measurements are not kept", shown(options.database)));
    }
    warnings
}

impl Drop for Pending {
    fn drop(&mut self) {
        replace::discard(std::mem::take(&mut self.staged));
    }
}

impl Pending {
    /// What happens to each table, in order.
    pub fn updates(&self) -> Arc<[TableUpdate]> {
        Arc::clone(&self.updates)
    }

    /// What a user should know, besides the notices of the tables.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Adds a file that belongs to the update, such as its report; it is replaced together with the tables. Its folder is made. A dry run adds
    /// nothing.
    pub fn add_file(&mut self, path: &Path, content: &[u8]) -> Result<(), Error> {
        if !self.dry_run {
            self.check_place(path)?;
            self.staged.push(Staged::with(path, content, Parents::Create)?);
        }
        Ok(())
    }

    /// Adds a file that is staged already, such as a summary elsewhere; it is replaced together with the tables, after a dry run too.
    pub fn add(&mut self, staged: Staged) {
        self.staged.push(staged);
    }

    /// Refuses a folder that is a link out of the database.
    fn check_place(&self, path: &Path) -> Result<(), Error> {
        let folder = parent_of(path);
        let (Ok(database), Ok(place)) = (fs::canonicalize(&self.database), fs::canonicalize(&folder)) else {
            return Ok(());
        };
        if self.follow_links || place.starts_with(database) {
            return Ok(());
        }
        let reason = format!("leads out of the database, to {}; links are not followed", shown(&place));
        Err(Error::input(folder, None, reason))
    }

    /// Replaces all files that change, or none of them.
    pub fn commit(mut self) -> Result<Arc<[TableUpdate]>, Error> {
        self.locks.commit(std::mem::take(&mut self.staged))?;
        std::mem::take(&mut self.made_folders).keep();
        Ok(self.updates())
    }
}
