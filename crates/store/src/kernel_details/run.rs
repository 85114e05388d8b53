//! The whole run: read, judge, lock, write.

use super::groups::Groups;
use super::inputs;
use super::old::{Old, place_to_keep};
use super::overview::Overview;
use super::rows::{Part, RowEntry, Rows, Worker, required_columns};
use super::tables::{NewTable, Outline, Tables};
use super::warning::Warning;
use crate::error::Error;
use crate::kernel::file_stem;
use crate::profile::{Piece, ProfileFiles, Wanted, check_header};
use perfdb_files::folders::MadeFolders;
use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_files::parallel::on_all_cores;
use perfdb_files::parallel::{OrderedMap, states};
use perfdb_files::paths::within;
use perfdb_files::replace::{Parents, Staged};
use rayon::prelude::*;
use serde::Serialize;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What to read and where to write.
pub struct Options<'a> {
    /// A kernel_details file, or a directory that is searched for such files.
    pub profile: &'a Path,
    /// The database directory.
    pub database: &'a Path,
    /// Drop rows that would stop the run.
    pub skip_bad_rows: bool,
    /// Write nothing.
    pub dry_run: bool,
    /// Threads that read.
    pub threads: usize,
    /// How to take the directory's lock.
    pub lock: LockOptions<'a>,
    /// Called with the number of bytes that were read, now and then.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Options")
            .field("profile", &self.profile)
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

impl<'a> Options<'a> {
    /// Strict, writing, on all cores.
    pub fn new(profile: &'a Path, database: &'a Path, lock: LockOptions<'a>) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Options { profile, database, skip_bad_rows: false, dry_run: false, threads, lock, progress: &|_| {} }
    }
}

/// What a run did.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The profile, as it was given.
    pub input: PathBuf,
    /// The database directory.
    pub output: PathBuf,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The tables.
    pub files: Vec<FileSummary>,
    /// Rows that were dropped because they would have stopped the run.
    pub skipped_rows: u64,
    /// Groups whose samples disagree in types or formats.
    pub mixed_groups: usize,
    /// What a user should know.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// One table.
#[derive(Debug, Clone, Serialize)]
pub struct FileSummary {
    /// Where it is.
    pub path: PathBuf,
    /// The kernel type whose rows it holds; of several with one file name the first.
    pub kernel_type: String,
    /// Rows, one per group.
    pub rows: usize,
    /// Samples in all groups.
    pub samples: usize,
    /// Rows of the table that it replaces; `None` for a new file (or one that is not a readable table).
    pub replaces_rows: Option<usize>,
    /// Those of them whose case the new table lacks.
    pub drops_rows: Option<usize>,
}

/// Reads a profile and writes one table per kernel type. All or nothing: on an error every table is as it was.
pub fn parse(options: &Options<'_>) -> Result<Summary, Error> {
    let prepared = prepare(options)?;
    let summary = prepared.summary().clone();
    prepared.commit(Vec::new())?;
    Ok(summary)
}

/// New tables that are next to the old ones and wait for [`commit`](Prepared::commit). The directory stays locked. Dropped, everything is as it
/// was.
#[derive(Debug)]
#[must_use = "nothing has changed before `commit`"]
pub struct Prepared {
    summary: Summary,
    // Dropped in this order: a folder can only go when its lock file is gone.
    staged: Staging,
}

#[derive(Debug, Default)]
struct Staging {
    set: Vec<Staged>,
    locks: DirectoryLocks,
    made: MadeFolders,
}

impl Prepared {
    /// What the run does.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Replaces all tables, together with the copies of those whose measurements would be lost and the `further` files.
    pub fn commit(self, further: Vec<Staged>) -> Result<(), Error> {
        let Staging { mut set, locks, made } = self.staged;
        set.extend(further);
        locks.commit(set)?;
        made.keep();
        Ok(())
    }
}

/// Reads a profile and stages one table per kernel type.
pub fn prepare(options: &Options<'_>) -> Result<Prepared, Error> {
    let (overview, tables) = read_profile(options, &|_| true)?;
    prepare_written(options, overview, &tables.outlines, &|table, out| tables.write(table, out))
}

/// Reads a profile and makes the tables with these names (without `.csv`), in order of first appearance. Samples of others
/// take no memory. Nothing is written.
///
/// # Errors
/// When the profile can't be read, or holds what a table cannot hold.
pub fn read_tables(
    options: &Options<'_>,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<(Overview, Vec<NewTable>), Error> {
    let (overview, tables) = read_profile(options, is_wanted)?;
    let tables = tables.in_memory().map_err(|source| Error::io(options.profile, source))?;
    Ok((overview, tables))
}

fn read_profile(options: &Options<'_>, is_wanted: &dyn Fn(&str) -> bool) -> Result<(Overview, Tables), Error> {
    let files = inputs::files_of(options.profile)?;
    let required = required_columns();
    let wanted = Wanted { required: &required, optional: &[] };
    if files.iter().all(|file| file.is_file()) {
        files.iter().try_for_each(|file| check_header(file, wanted))?;
    }
    let span = tracing::info_span!("read profiles", files = files.len()).entered();
    let is_type_wanted = |kernel_type: &str| file_stem(kernel_type).is_some_and(|stem| is_wanted(&stem));
    let mut groups = read(&files, wanted, options, &is_type_wanted)?;
    groups.end_file();
    drop(span);
    tracing::info!("read {} profiles, {} cases", files.len(), groups.groups.len());
    let warnings = std::mem::take(&mut groups.warnings);
    let skipped_rows = groups.skipped;
    let tables = Tables::of(options.profile, groups.texts, groups.groups, is_wanted)?;
    Ok((Overview::new(tables.stems.clone(), skipped_rows, warnings), tables))
}

/// Stages the tables of a profile. `tables` are those of the overview, in its order.
///
/// # Errors
/// When the directory is locked, or a file of it can't be read or staged.
pub fn prepare_tables(options: &Options<'_>, overview: Overview, tables: Vec<NewTable>) -> Result<Prepared, Error> {
    // Results of others: a table is a file of the database itself.
    let is_name = |stem: &str| Path::new(stem).file_name() == Some(std::ffi::OsStr::new(stem));
    if let Some(table) = tables.iter().find(|table| !is_name(&table.outline.stem)) {
        let reason = io::Error::new(io::ErrorKind::InvalidData, "is the name of no table");
        return Err(Error::io(table.outline.stem.as_str(), reason));
    }
    let outlines: Vec<Outline> = tables.iter().map(|table| table.outline.clone()).collect();
    prepare_written(options, overview, &outlines, &|table, out| out.write_all(&tables[table].content))
}

/// Writes the table of a number.
type WriteTable<'a> = &'a (dyn Fn(usize, &mut dyn Write) -> io::Result<()> + Sync);

fn prepare_written(
    options: &Options<'_>,
    overview: Overview,
    tables: &[Outline],
    write: WriteTable<'_>,
) -> Result<Prepared, Error> {
    let Overview { skipped_rows, .. } = overview;
    let mut warnings = overview.into_warnings();
    if skipped_rows > 0 {
        warnings.push(Warning::SkippedRows { count: skipped_rows });
    }
    for table in tables {
        let path = table_path(options, table);
        if table.mixed_groups > 0 {
            warnings.push(Warning::MixedGroups { path: path.clone(), count: table.mixed_groups });
        }
        if table.kernel_types.len() > 1 {
            warnings.push(Warning::SharedFile { path, kernel_types: table.kernel_types.clone() });
        }
    }
    let (old, staged) = if options.dry_run {
        (judge_old(options, tables, write)?, Staging::default())
    } else {
        stage(options, tables, write, &mut warnings)?
    };
    let file = |(table, old): (&Outline, &Old)| FileSummary {
        path: table_path(options, table),
        kernel_type: table.kernel_types.first().cloned().unwrap_or_default(),
        rows: table.rows,
        samples: table.samples,
        replaces_rows: old.rows,
        drops_rows: old.dropped,
    };
    let summary = Summary {
        input: options.profile.to_owned(),
        output: options.database.to_owned(),
        dry_run: options.dry_run,
        files: tables.iter().zip(&old).map(file).collect(),
        skipped_rows,
        mixed_groups: tables.iter().map(|table| table.mixed_groups).sum(),
        warnings,
    };
    Ok(Prepared { summary, staged })
}

fn table_path(options: &Options<'_>, table: &Outline) -> PathBuf {
    within(options.database, format!("{}.csv", table.stem))
}

/// Buffers that go round instead of being allocated for every piece.
type Buffers = (Vec<u8>, Vec<RowEntry>, Vec<f64>);

fn read<'f>(
    files: &'f [PathBuf],
    wanted: Wanted<'_>,
    options: &Options<'_>,
    is_wanted: &'f (dyn Fn(&str) -> bool + 'f),
) -> Result<Groups<'f>, Error> {
    let mut source = ProfileFiles::new(files, wanted);
    let with_operators = options.profile.is_dir();
    let mut groups = Groups::new(files, with_operators, options.skip_bad_rows, is_wanted);
    let workers = AtomicUsize::new(0);
    let pool: Mutex<Vec<Buffers>> = Mutex::new(Vec::new());
    let take = || pool.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
    let rows = Rows { skip_bad: options.skip_bad_rows };
    let mut bytes = 0;
    let mut worker_states = states(options.threads, Worker::default);
    // A piece per thread that is worked on, and one that waits.
    let pieces = 2 * worker_states.len();
    OrderedMap::new(&mut worker_states).tasks_ahead(pieces).run(
        || {
            let (text, rows, values) = take();
            Ok(source.next_piece(text)?.map(|piece| (piece, rows, values)))
        },
        |worker: &mut Worker, (piece, entries, values): (Piece, Vec<RowEntry>, Vec<f64>)| {
            let path = &files[piece.file];
            rows.read(worker, piece, path, || workers.fetch_add(1, Ordering::Relaxed), (entries, values))
        },
        |part: Result<Part, Error>| {
            let part = part?;
            groups.merge(&part)?;
            bytes += part.text.len() as u64;
            (options.progress)(bytes);
            pool.lock().unwrap_or_else(PoisonError::into_inner).push((part.text, part.rows, part.values));
            Ok::<_, Error>(ControlFlow::Continue(()))
        },
    )?;
    Ok(groups)
}

fn judge_old(options: &Options<'_>, tables: &[Outline], write: WriteTable<'_>) -> Result<Vec<Old>, Error> {
    let judge = |(number, table): (usize, &Outline)| {
        let path = table_path(options, table);
        Old::of(&path, |out| write(number, out).map_err(|source| Error::io(&path, source)))
    };
    on_all_cores(|| tables.par_iter().enumerate().map(judge).collect())
}

fn stage(
    options: &Options<'_>,
    tables: &[Outline],
    write: WriteTable<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<(Vec<Old>, Staging), Error> {
    let mut staging = Staging {
        made: MadeFolders::make(options.database).map_err(|source| Error::io(options.database, source))?,
        ..Staging::default()
    };
    staging.locks = DirectoryLocks::acquire([options.database], &options.lock)?;
    let old = judge_old(options, tables, write)?;
    for (table, old) in tables.iter().zip(&old) {
        if let Some(bytes) = &old.to_keep {
            let path = table_path(options, table);
            let (place, is_there) = place_to_keep(&path, bytes)?;
            if !is_there {
                staging.set.push(Staged::with(&place, bytes, Parents::MustExist)?);
            }
            warnings.push(Warning::Kept { path, kept: place });
        }
    }
    let stage = |(number, table): (usize, &Outline)| -> Result<Staged, Error> {
        let path = table_path(options, table);
        let mut staged = Staged::create(&path, Parents::MustExist)?;
        write(number, &mut staged).map_err(|source| Error::io(&path, source))?;
        staged.sync()?;
        Ok(staged)
    };
    let staged: Vec<Staged> = on_all_cores(|| tables.par_iter().enumerate().map(stage).collect::<Result<_, _>>())?;
    staging.set.extend(staged);
    Ok((old, staging))
}
