//! Databases of the public per-operator tables of AIConfigurator, so that there are durations of real GPUs to ask for, and the way back.
//!
//! Its tables stand in folders `SYSTEM/FAMILY/FRAMEWORK/VERSION/` as Parquet, in older versions in `SYSTEM/FRAMEWORK/VERSION/` as CSV named
//! `.txt`. Read are products (`gemm`), attention, latent attention, experts and collectives; each of `SYSTEM/FRAMEWORK/VERSION` becomes a
//! database directory. Latencies are milliseconds there; durations are microseconds here. What is not a shape or type of a call (kernels,
//! distributions) is part of the kernel type's name, and behind perfdb's columns stand all of theirs but in collectives, whose tables have
//! columns of their own.

mod export;
mod mapping;
mod operators;
mod reuse;
mod sizes;
mod source;
mod texts;

pub use export::{Exported, Place, export};

use crate::parquet::database::Target;
use crate::parquet::error::Error;
use crate::registry::TableType;
use crate::table::{LineEnd, push_csv_row};
use mapping::mapping;
use operators::{Form, Operator};
use perfdb_files::lock::LockOptions;
use sizes::{Sizes, Timing};
use source::{Origin, SourceTable, tables_below};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is chosen where the tables have several answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Choices {
    /// Collectives of single calls answer operators, in place of those of captured graphs.
    pub is_eager: bool,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Converted {
    /// Database directories.
    pub databases: usize,
    /// Tables.
    pub tables: usize,
    /// Their rows.
    pub rows: usize,
    /// Rows of a case that an earlier row has: both stand in one row, as a mean and a deviation.
    pub repeats: usize,
    /// Rows without a duration, which no table takes.
    pub without_duration: usize,
    /// Tables that a version takes from another one.
    pub reused: usize,
    /// Tables that a version takes from another one that does not have them.
    pub missing: Vec<String>,
    /// Tables without a column of durations or of sizes, with their rows, which were passed over.
    pub passed_over: BTreeMap<String, usize>,
}

/// A table of a database directory.
#[derive(Debug, Default)]
pub(super) struct NewTable {
    header: Vec<String>,
    /// Cells, with the place of the duration and of its deviation left empty.
    rows: Vec<NewRow>,
    by_case: BTreeMap<String, usize>,
    pub(super) kind: TableType,
}

#[derive(Debug)]
struct NewRow {
    cells: Vec<String>,
    durations_us: Vec<f64>,
    /// That of repeats which are one row already.
    deviation_us: Option<f64>,
}

/// Kernel type to table.
type Tables = BTreeMap<String, NewTable>;

/// Makes a database directory below `target` of every system, framework and version below `source`. All or nothing.
///
/// # Errors
/// When a table cannot be read or lacks a column, there is none, or a file that would be written is there already.
pub fn import(source: &Path, target: &Path, choices: Choices, lock: &LockOptions<'_>) -> Result<Converted, Error> {
    let mut converted = Converted::default();
    let mut directories: BTreeMap<PathBuf, BTreeMap<String, (PathBuf, TableType)>> = BTreeMap::new();
    let mut tables: Vec<(PathBuf, PathBuf)> =
        tables_below(source)?.into_iter().map(|path| (path.clone(), path)).collect();
    let (reused, missing) = reuse::reused_below(source)?;
    converted.missing = missing;
    converted.reused = reused.len();
    tables.extend(reused.into_iter().map(|reuse| (reuse.place, reuse.donor)));
    let mut files = Target::open(target, lock)?;
    for (place, path) in tables {
        let origin = Origin::of(&place)?;
        let operator = Operator::of(&origin.operator);
        let table = SourceTable::read(&path)?;
        let timings = Timing::of(&table);
        let sizes = if operator == Operator::Sized { Sizes::of(&table) } else { Sizes::default() };
        if timings.is_empty() || operator == Operator::Sized && sizes.names.is_empty() {
            *converted.passed_over.entry(origin.operator).or_default() += table.row_count();
            continue;
        }
        let directory = target.join(&origin.directory);
        let mut tables = Tables::new();
        for timing in &timings {
            convert(&table, &origin.operator, (operator, &sizes), timing, &mut tables, &mut converted)?;
        }
        for (mut kernel_type, table) in tables {
            let known = directories.entry(directory.clone()).or_default();
            // Some versions have the same collective by two libraries.
            if known.contains_key(&kernel_type) && operator.form() == Form::Collective {
                kernel_type = format!("{}_{}", kernel_type.trim_end_matches('_'), origin.operator);
            }
            let file = directory.join(format!("{kernel_type}.csv"));
            let content = table.content();
            if let Some((other, _)) = known.insert(kernel_type, (path.clone(), table.kind)) {
                let reason = format!("{} has the same operators of the same version", other.display());
                return Err(Error::unfit(&path, reason));
            }
            files.add(&file, &content)?;
            converted.tables += 1;
        }
    }
    for (directory, kernel_types) in &directories {
        let kinds = kernel_types.iter().map(|(name, (_, kind))| (name.as_str(), kind)).collect();
        files.add(&directory.join("op_mapping.yaml"), mapping(directory, &kinds, choices).as_bytes())?;
    }
    converted.databases = directories.len();
    if directories.is_empty() {
        return Err(Error::unfit(source, "no table with durations is here (*_perf.parquet or *_perf.txt)"));
    }
    files.commit()?;
    Ok(converted)
}

/// Puts each row into the table of its kernel type. Rows of one case become one.
fn convert(
    table: &SourceTable,
    name: &str,
    (operator, sizes): (Operator, &Sizes),
    timing: &Timing,
    tables: &mut Tables,
    converted: &mut Converted,
) -> Result<(), Error> {
    let names = operator.kernel_types(name, table)?;
    let form = operator.form();
    for (row, kernel_type) in names.into_iter().enumerate() {
        let duration_us = timing.us(table, row)?;
        if !crate::duration::is_valid(duration_us) {
            converted.without_duration += 1;
            continue;
        }
        let own = match form {
            Form::Compute => operator.compute_cells(table, sizes, row, duration_us)?,
            Form::Collective => operator.collective_cells(table, row, duration_us)?,
        };
        let content = tables.entry(format!("{kernel_type}{}", timing.suffix)).or_insert_with(|| {
            let (class, layout) = operator.class(name);
            let source = table.has("kernel_source").then(|| table.text("kernel_source", row).ok()).flatten();
            let window = table.has("window_size").then(|| table.size("window_size", row).ok()).flatten();
            let window = window.filter(|window| *window > 0);
            let kind =
                TableType { class, layout, source: source.map(str::to_owned), sizes: sizes.names.clone(), window };
            NewTable { header: operator.header(table), kind, ..NewTable::default() }
        });
        converted.rows += 1;
        let theirs = table.cells(row).filter(|_| form == Form::Compute).map(str::to_owned);
        if content.add(form, own, theirs, (duration_us, table.deviation_us(row))) {
            converted.repeats += 1;
        }
    }
    Ok(())
}

impl NewTable {
    /// Takes a row; whether it is of the case of an earlier one.
    fn add(
        &mut self,
        form: Form,
        own: Vec<String>,
        theirs: impl Iterator<Item = String>,
        (duration_us, deviation_us): (f64, Option<f64>),
    ) -> bool {
        let is_of_duration = |at: usize| form.places_of_duration().contains(&at);
        let case: Vec<&str> =
            own.iter().enumerate().filter(|(at, _)| !is_of_duration(*at)).map(|(_, cell)| cell.as_str()).collect();
        let next = self.rows.len();
        let at = *self.by_case.entry(case.join("\u{1f}")).or_insert(next);
        if let Some(known) = self.rows.get_mut(at) {
            known.durations_us.push(duration_us);
            return true;
        }
        let cells = own.into_iter().chain(theirs).collect();
        self.rows.push(NewRow { cells, durations_us: vec![duration_us], deviation_us });
        false
    }

    fn content(&self) -> Vec<u8> {
        let mut content = Vec::new();
        push_csv_row(&mut content, self.header.iter().map(String::as_str), LineEnd::CrLf);
        let place = |name: &str| self.header.iter().position(|own| own == name);
        let duration =
            place(crate::columns::MEASURED_DURATION).or_else(|| place(crate::columns::COMMUNICATION_DURATION));
        let deviation = place(DEVIATION);
        let [bytes, _, _, _, _, bandwidth] = crate::columns::COMMUNICATION.map(place);
        for row in &self.rows {
            let mut cells: Vec<std::borrow::Cow<'_, str>> = row.cells.iter().map(|cell| cell.as_str().into()).collect();
            let (mean, spread) = mean_and_deviation(&row.durations_us);
            if let (Some(cell), Some(_)) = (duration.and_then(|at| cells.get_mut(at)), spread) {
                *cell = mean.to_string().into();
                let sent = bytes.and_then(|at| row.cells[at].parse().ok());
                if let (Some(cell), Some(sent)) = (bandwidth.and_then(|at| cells.get_mut(at)), sent) {
                    *cell = operators::bandwidth(sent, mean).into();
                }
            }
            if let (Some(cell), Some(spread)) =
                (deviation.and_then(|at| cells.get_mut(at)), spread.or(row.deviation_us))
            {
                *cell = spread.to_string().into();
            }
            push_csv_row(&mut content, cells.iter().map(|cell| &**cell), LineEnd::CrLf);
        }
        content
    }
}

/// The deviation of repeated durations.
const DEVIATION: &str = crate::columns::PROFILED[2];

/// The mean, and of several the standard deviation.
fn mean_and_deviation(durations_us: &[f64]) -> (f64, Option<f64>) {
    let count = durations_us.len() as f64;
    let mean = durations_us.iter().sum::<f64>() / count;
    let squares: f64 = durations_us.iter().map(|us| (us - mean) * (us - mean)).sum();
    (mean, (durations_us.len() > 1).then(|| (squares / (count - 1.0)).sqrt()))
}
