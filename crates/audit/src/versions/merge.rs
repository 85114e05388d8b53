//! Bringing the rows of several databases into one.
//!
//! Cases that the target lacks become rows, durations fill rows that have none, and where both have one that differs, a [`Prefer`] decides;
//! the row that loses goes to `<Type>.conflicts.csv` beside the table. Everything is computed under the lock of the target and replaced as
//! one set. Merging the same databases again changes nothing.

mod conflict;
mod dates;
mod kept;
mod mapping;
mod row_durations;
mod table;

pub use conflict::{Conflict, Decisions, Prefer, Taken};
pub use table::TableMerge;

use crate::versions::{Error, Place, kernel_types};
use perfdb_files::escape::shown;
use perfdb_files::lock::{DirectoryLocks, LockOptions, is_half_replaced};
use perfdb_files::paths::within;
use perfdb_files::replace::{self, Staged};
use perfdb_store::directory::tables_below;
use perfdb_store::provenance::Run;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const MAPPING: &str = "op_mapping.yaml";
/// Where a new database has its collectives.
const COLLECTIVES: &str = "hccl";

/// What to merge, and how.
#[derive(Debug)]
pub struct Options<'a> {
    /// The database that rows go into.
    pub into: &'a Path,
    /// The databases that they come from, in this order.
    pub from: &'a [PathBuf],
    /// What the rows are said to be from, where the databases were made for this run; else nothing.
    pub names: &'a [PathBuf],
    /// What decides conflicts.
    pub prefer: Prefer,
    /// What was decided about single conflicts.
    pub decisions: &'a Decisions,
    /// Compute everything and leave the directory as it is, without a lock.
    pub dry_run: bool,
    /// What `database.toml` will say of this run; its types and databases are filled in.
    pub run: Run,
    /// How to take the lock.
    pub lock: LockOptions<'a>,
}

/// A merge that is computed and staged, and changes nothing until it is committed. Holds the lock. Dropped, it leaves everything as it was.
#[derive(Debug)]
pub struct Pending {
    tables: Vec<TableMerge>,
    notes: Vec<String>,
    staged: Vec<Staged>,
    locks: DirectoryLocks,
}

impl Pending {
    /// What happens to each table that one of the databases has rows for, by kernel type.
    pub fn tables(&self) -> &[TableMerge] {
        &self.tables
    }

    /// What a user should know besides.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Adds a file that is replaced together with the tables.
    pub fn add(&mut self, staged: Staged) {
        self.staged.push(staged);
    }

    /// Replaces all files that change, or none of them.
    ///
    /// # Errors
    /// When the system refuses; then the tables are as they were, or the error names what is new.
    pub fn commit(mut self) -> Result<Vec<TableMerge>, Error> {
        self.locks.commit(std::mem::take(&mut self.staged))?;
        Ok(std::mem::take(&mut self.tables))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        replace::discard(std::mem::take(&mut self.staged));
    }
}

/// Computes a merge and stages what it changes.
///
/// # Errors
/// When a database has no table, is named twice, is of another device or version, or has a table that cannot be used; when dates that are
/// needed are missing; when the system refuses to read, write or lock.
pub fn prepare(options: &Options<'_>) -> Result<Pending, Error> {
    let mut locks = DirectoryLocks::default();
    // What is not a database is refused before it is locked.
    let found = Place::open_target(options.into)?;
    if !options.dry_run {
        let elsewhere = found.collectives_folder().filter(|folder| folder.is_dir());
        locks = DirectoryLocks::acquire(std::iter::once(options.into.to_owned()).chain(elsewhere), &options.lock)?;
    }
    let into = Place::open_target(options.into)?;
    let mut from =
        options.from.iter().map(|directory| Place::open(directory)).collect::<Result<Vec<Place>, Error>>()?;
    for (place, name) in from.iter_mut().zip(options.names) {
        place.name.clone_from(name);
    }
    check(&into, &from)?;
    let mut pending = Pending { tables: Vec::new(), notes: Vec::new(), staged: Vec::new(), locks };
    tables(&into, &from, options.into, options, &mut pending)?;
    let taken = mapping::mapping(&into, &from, options.dry_run, &mut pending)?;
    collectives(&into, &from, taken, options, &mut pending)?;
    subfolders(&from, &mut pending.notes)?;
    record(&into, &from, options, &mut pending)?;
    let conflicts = pending.tables.iter().flat_map(|table| &table.conflicts);
    let unused = options.decisions.unused(conflicts).iter().map(u64::to_string).collect::<Vec<_>>();
    if !unused.is_empty() {
        let lines = unused.join(", ");
        pending.notes.push(format!(
            "decisions that fit no conflict, because a duration has changed or a row is gone: line {lines}"
        ));
    }
    Ok(pending)
}

/// Merges tables into those of a folder.
fn tables(
    into: &Place,
    from: &[Place],
    folder: &Path,
    options: &Options<'_>,
    pending: &mut Pending,
) -> Result<(), Error> {
    let names: BTreeSet<&str> = from.iter().flat_map(Place::tables).map(|(name, _)| name).collect();
    let job = table::Job { into, from, prefer: options.prefer, decisions: options.decisions, writes: !options.dry_run };
    kernel_types::each(
        names,
        |name| job.run(name, &within(folder, format!("{name}.csv"))),
        |outcome: Result<_, Error>| {
            let (table, staged) = outcome?;
            pending.tables.push(table);
            pending.staged.extend(staged);
            Ok::<_, Error>(())
        },
    )
}

/// Merges the collectives that the mappings refer to. A target that takes over a mapping gets them into a folder of its own.
fn collectives(
    into: &Place,
    from: &[Place],
    has_taken_mapping: bool,
    options: &Options<'_>,
    pending: &mut Pending,
) -> Result<(), Error> {
    let mut others = Vec::new();
    for place in from {
        if let Some(folder) = place.collectives_folder().filter(|folder| !folder.is_dir()) {
            pending.notes.push(format!(
                "{}: the folder of its collectives is missing: {}",
                shown(&place.directory),
                shown(&folder)
            ));
        }
        others.extend(place.collectives()?);
    }
    if others.is_empty() {
        return Ok(());
    }
    let folder = if has_taken_mapping { Some(within(&into.directory, COLLECTIVES)) } else { into.collectives_folder() };
    let Some(folder) = folder else {
        for place in others {
            pending.notes.push(format!(
                "{}: its collectives are not merged: {} has no communication_data_ref",
                shown(&place.directory),
                shown(&within(&into.directory, MAPPING))
            ));
        }
        return Ok(());
    };
    let own = into.collectives()?.unwrap_or_else(|| Place { tables: Default::default(), ..into.clone() });
    let is_same = |place: &Place| std::fs::canonicalize(&place.directory).ok() == std::fs::canonicalize(&folder).ok();
    // Databases of one suite often refer to one folder.
    others.retain(|place| !is_same(place));
    tables(&own, &others, &folder, options, pending)
}

/// Tables below a database are not part of it.
fn subfolders(from: &[Place], notes: &mut Vec<String>) -> Result<(), Error> {
    for place in from {
        let below = tables_below(&place.directory)?;
        let collectives = place.collectives_folder();
        for folder in below.iter().filter(|folder| Some(*folder) != collectives.as_ref()) {
            notes.push(format!("{}: tables in a folder of their own are not merged; merge that folder", shown(folder)));
        }
    }
    Ok(())
}

fn check(into: &Place, from: &[Place]) -> Result<(), Error> {
    for (at, place) in from.iter().enumerate() {
        into.check_other_than(place)?;
        from[..at].iter().try_for_each(|other| other.check_other_than(place))?;
        if is_half_replaced(&place.directory) {
            return Err(Error::HalfReplaced { path: place.directory.clone() });
        }
        for known in std::iter::once(into).chain(&from[..at]) {
            let differences = known.statement.differences(&place.statement);
            if !differences.is_empty() {
                let (into, from) = (known.directory.clone(), place.directory.clone());
                return Err(Error::OtherKind { into, from, differences });
            }
        }
    }
    Ok(())
}

/// `database.toml` keeps what the others say of themselves, and this merge. Where no table changes it stays as it is.
fn record(into: &Place, from: &[Place], options: &Options<'_>, pending: &mut Pending) -> Result<(), Error> {
    let path = within(&into.directory, perfdb_store::provenance::FILE_NAME);
    if path.is_symlink() {
        return Err(Error::Link { path });
    }
    let types: Vec<String> =
        pending.tables.iter().filter(|table| table.is_changed()).map(|table| table.kernel_type.clone()).collect();
    if types.is_empty() || options.dry_run {
        return Ok(());
    }
    let mut record = into.statement.record.clone().unwrap_or_default();
    record.identify(into.statement.named.clone());
    for place in from {
        record.identify(place.statement.named.clone());
        place.statement.record.iter().for_each(|other| record.unite(other));
        collection(place, &types).into_iter().for_each(|run| record.add(run));
    }
    let names = from.iter().map(|place| place.name.to_string_lossy().into_owned()).collect();
    let mut run = options.run.clone();
    (run.types, run.from) = (types, names);
    record.add(run);
    for table in &pending.tables {
        let last = record.date_of(&table.kernel_type).map(str::to_owned);
        let usual = last.or_else(|| into.statement.collection_date.clone());
        let exceptions = table.dates.exceptions(usual.as_deref());
        record.set_row_dates(&table.kernel_type, usual.as_deref().unwrap_or_default(), exceptions);
    }
    pending.staged.push(record.stage(&into.directory)?);
    Ok(())
}

/// What the day of a collection says of kernel types that no run is recorded for.
fn collection(place: &Place, types: &[String]) -> Option<Run> {
    let date = place.statement.collection_date.as_deref()?;
    let is_recorded =
        |name: &&String| place.statement.record.as_ref().is_some_and(|record| record.date_of(name).is_some());
    let unrecorded = |name: &&String| place.tables.contains_key(*name) && !is_recorded(name);
    let mut run = Run::new(date, "collection_date of op_mapping.yaml");
    run.types = types.iter().filter(unrecorded).cloned().collect();
    (!run.types.is_empty()).then_some(run)
}
