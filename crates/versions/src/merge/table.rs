//! The tables of one kernel type.

use super::conflict::{Conflict, Decisions, Duration, Prefer, Taken};
use super::kept::{Kept, keep};
use crate::case::{COLUMNS, Naming};
use crate::{Case, Error, Place};
use perfdb_files::paths::within;
use perfdb_files::replace::{Parents, Staged};
use perfdb_store::columns::{
    COMMUNICATION, COMMUNICATION_DURATION, MEASURED_DURATION, OLD_MEASURED_DURATION, PROFILED_DURATION,
};
use perfdb_store::duration::{is_valid, number};
use perfdb_store::table::{ReadOptions, Row, Table, Written};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::path::PathBuf;

/// What a merge does to one table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableMerge {
    /// The kernel type.
    pub kernel_type: String,
    /// The target's table.
    pub path: PathBuf,
    /// Whether the target had none.
    pub is_new: bool,
    /// Rows that the target lacked.
    pub added: usize,
    /// Rows of the target that had no duration, or lacked the measured or the profiled one, and now have it.
    pub filled: usize,
    /// Rows of the others that the target has with the same durations.
    pub same: usize,
    /// Cells that describe a row and that the target has otherwise; its own stay.
    pub other_metadata: usize,
    /// Columns that the target lacked.
    pub columns_added: Vec<String>,
    /// Cases with different durations, in the order of the databases and their rows.
    pub conflicts: Vec<Conflict>,
    differs: bool,
}

impl TableMerge {
    /// Whether the table is written.
    pub fn is_changed(&self) -> bool {
        self.differs
    }
}

/// What all tables of a merge have in common.
pub(super) struct Job<'a> {
    pub(super) into: &'a Place,
    pub(super) from: &'a [Place],
    pub(super) prefer: Prefer,
    pub(super) decisions: &'a Decisions,
    pub(super) writes: bool,
}

/// The group of columns that stays together, if it is one of durations and their counters.
fn duration_of(column: &str) -> Option<Duration> {
    let is_measured = [MEASURED_DURATION, OLD_MEASURED_DURATION, COMMUNICATION_DURATION, COMMUNICATION[5]]
        .contains(&column)
        || column.starts_with("MicroBench ");
    match column {
        _ if is_measured => Some(Duration::Measured),
        _ if column.starts_with("Profiling ") => Some(Duration::Profiled),
        _ => None,
    }
}

const DURATIONS: [Duration; 2] = [Duration::Measured, Duration::Profiled];

/// Where a table keeps what merging looks at.
struct Places {
    case: [Option<usize>; COLUMNS.len()],
    /// The columns of the two durations.
    durations: [Option<usize>; 2],
    naming: Naming,
}

impl Places {
    fn of(kernel_type: &str, table: &Table) -> Places {
        let first = |names: &[&str]| names.iter().find_map(|name| table.column(name));
        Places {
            case: COLUMNS.map(|name| table.column(name)),
            durations: [
                first(&[MEASURED_DURATION, OLD_MEASURED_DURATION, COMMUNICATION_DURATION]),
                first(&[PROFILED_DURATION]),
            ],
            naming: Naming::new(kernel_type, table.columns()),
        }
    }

    fn case(&self, row: Row<'_>) -> Case {
        self.naming.case(|column| Cow::Borrowed(self.case[column].map_or("", |column| row.cell(column))))
    }

    fn duration_us(&self, row: Row<'_>, duration: Duration) -> f64 {
        self.durations[duration as usize].map_or(0.0, |column| number(row.cell(column)))
    }
}

impl Job<'_> {
    /// Merges the tables of a kernel type, and stages what changes.
    pub(super) fn run(&self, kernel_type: &str) -> Result<(TableMerge, Vec<Staged>), Error> {
        let read = |path: &PathBuf| Table::read(path, &ReadOptions::database());
        let own = self.into.tables.get(kernel_type).map(read).transpose()?;
        let path = within(&self.into.directory, format!("{kernel_type}.csv"));
        let mut merger = Merger {
            job: self,
            result: TableMerge {
                kernel_type: kernel_type.to_owned(),
                path,
                is_new: own.is_none(),
                ..TableMerge::default()
            },
            table: own,
            kept: Vec::new(),
            met: FxHashSet::default(),
        };
        for place in self.from {
            if let Some(path) = place.tables.get(kernel_type) {
                merger.take(place, &read(path)?)?;
            }
        }
        let Merger { mut result, table, kept, .. } = merger;
        result.differs |= result.is_new && table.is_some();
        let mut staged = Vec::new();
        if self.writes {
            if let Some(table) = table.filter(|_| result.differs) {
                let form = Written { byte_order_mark: table.has_byte_order_mark(), line_end: table.header_line_end() };
                staged.push(Staged::with(&result.path, &table.to_csv(form), Parents::MustExist)?);
            }
            if !kept.is_empty() {
                staged.extend(keep(&self.into.directory, kernel_type, &kept)?);
            }
        }
        Ok((result, staged))
    }
}

/// A table while rows are merged into it.
struct Merger<'a> {
    job: &'a Job<'a>,
    result: TableMerge,
    table: Option<Table>,
    kept: Vec<Kept>,
    /// Rows that an earlier row of the database whose rows are being merged was the same case as.
    met: FxHashSet<usize>,
}

impl Merger<'_> {
    /// Takes the rows of another database.
    fn take(&mut self, place: &Place, other: &Table) -> Result<(), Error> {
        let mut table = match self.table.take() {
            Some(table) => table,
            None => Table::new(&self.result.path, other.columns()),
        };
        let columns = self.unite_columns(&mut table, other);
        let kernel_type = self.result.kernel_type.clone();
        let own = Places::of(&kernel_type, &table);
        let theirs = Places::of(&kernel_type, other);
        self.met.clear();
        let mut known: FxHashMap<Case, usize> = FxHashMap::default();
        for row in table.rows() {
            // Of rows that stand twice the first one answers.
            known.entry(own.case(row)).or_insert(row.index());
        }
        for row in other.rows() {
            let case = theirs.case(row);
            match known.get(&case) {
                Some(&at) => self.meet(&mut table, at, &own, place, (row, &case), &theirs, &columns)?,
                None => {
                    let cell = |column: usize| columns.iter().position(|target| *target == column);
                    let at = table.push_row(|column, _| cell(column).map_or("", |column| row.cell(column)));
                    self.result.added += 1;
                    self.result.differs = true;
                    self.met.insert(at);
                    known.insert(case, at);
                }
            }
        }
        self.table = Some(table);
        Ok(())
    }

    /// Gives the table the columns that it lacks. Returns its column for each of the other's.
    fn unite_columns(&mut self, table: &mut Table, other: &Table) -> Vec<usize> {
        let has = |table: &Table, name: &str| table.column(name).is_some();
        let mut places = Vec::with_capacity(other.columns().len());
        for name in other.columns() {
            // Old and new tables call the measured duration differently.
            let known = match name.as_str() {
                MEASURED_DURATION if !has(table, MEASURED_DURATION) => table.column(OLD_MEASURED_DURATION),
                OLD_MEASURED_DURATION if !has(other, MEASURED_DURATION) => {
                    table.column(MEASURED_DURATION).or(table.column(OLD_MEASURED_DURATION))
                }
                name => table.column(name),
            };
            places.push(known.unwrap_or_else(|| {
                table.push_column(name, "");
                self.result.columns_added.push(name.clone());
                self.result.differs = true;
                table.columns().len() - 1
            }));
        }
        places
    }

    /// Merges a row into the one of the same case.
    #[allow(clippy::too_many_arguments)]
    fn meet(
        &mut self,
        table: &mut Table,
        at: usize,
        own: &Places,
        place: &Place,
        (row, case): (Row<'_>, &Case),
        theirs: &Places,
        columns: &[usize],
    ) -> Result<(), Error> {
        let before: Vec<(String, String)> = named(table.row(at), table.columns());
        let (mut is_filled, mut has_conflict, mut is_replaced, mut is_refused) = (false, false, false, false);
        for duration in DURATIONS {
            let (into_us, from_us) = (own.duration_us(table.row(at), duration), theirs.duration_us(row, duration));
            if !is_valid(from_us) {
                continue;
            }
            if !is_valid(into_us) {
                self.copy(table, at, row, columns, duration);
                is_filled = true;
            } else if into_us != from_us {
                has_conflict = true;
                let mut conflict = Conflict {
                    kernel_type: self.result.kernel_type.clone(),
                    case: case.clone(),
                    duration,
                    from: place.directory.clone(),
                    from_line: row.line().unwrap_or_default(),
                    into_line: table.line(at),
                    into_us,
                    from_us,
                    taken: Taken::Undecided,
                };
                conflict.taken = self.decide(&conflict, place, self.met.contains(&at))?;
                match conflict.taken {
                    Taken::From => {
                        self.copy(table, at, row, columns, duration);
                        is_replaced = true;
                    }
                    Taken::Into => is_refused = true,
                    Taken::Undecided => {}
                }
                self.result.conflicts.push(conflict);
            }
        }
        self.fill_gaps(table, at, row, columns);
        self.met.insert(at);
        self.result.filled += usize::from(is_filled);
        self.result.same += usize::from(!is_filled && !has_conflict);
        let database = place.directory.to_string_lossy();
        if is_replaced {
            self.kept.push(Kept { what: "replaced", database: database.clone().into_owned(), cells: before });
        }
        if is_refused {
            let cells =
                row.cells().zip(columns).map(|(cell, column)| (table.columns()[*column].clone(), cell.to_owned()));
            self.kept.push(Kept { what: "not taken", database: database.into_owned(), cells: cells.collect() });
        }
        Ok(())
    }

    /// Copies a duration with its counters.
    fn copy(&mut self, table: &mut Table, at: usize, row: Row<'_>, columns: &[usize], duration: Duration) {
        for (cell, &column) in row.cells().zip(columns) {
            if duration_of(&table.columns()[column]) == Some(duration) && table.cell(at, column) != cell {
                table.set(at, column, cell);
                self.result.differs = true;
            }
        }
    }

    /// Fills empty cells that belong to no duration.
    fn fill_gaps(&mut self, table: &mut Table, at: usize, row: Row<'_>, columns: &[usize]) {
        for (cell, &column) in row.cells().zip(columns) {
            let name = &table.columns()[column];
            if duration_of(name).is_some() || COLUMNS.contains(&name.as_str()) || cell.is_empty() {
                continue;
            }
            let own = table.cell(at, column);
            if own.is_empty() {
                table.set(at, column, cell);
                self.result.differs = true;
            } else if own != cell {
                self.result.other_metadata += 1;
            }
        }
    }

    fn decide(&self, conflict: &Conflict, place: &Place, is_repeated: bool) -> Result<Taken, Error> {
        if let Some(decided) = self.job.decisions.of(conflict) {
            return Ok(decided);
        }
        if is_repeated {
            // Of rows that stand twice in a database the first one answers.
            return Ok(Taken::Into);
        }
        let takes_from = match self.job.prefer {
            Prefer::AskList => return Ok(Taken::Undecided),
            Prefer::Into => false,
            Prefer::Fastest => conflict.from_us < conflict.into_us,
            Prefer::Newest => {
                let date = |place: &Place| match place.statement.date_of(&conflict.kernel_type) {
                    Some(date) => Ok(date.to_owned()),
                    None => {
                        Err(Error::NoDate { path: place.directory.clone(), kernel_type: conflict.kernel_type.clone() })
                    }
                };
                is_later(&date(place)?, &date(self.job.into)?)
            }
        };
        Ok(if takes_from { Taken::From } else { Taken::Into })
    }
}

/// Whether a date is later than another; a day is not later than a time of it.
fn is_later(date: &str, other: &str) -> bool {
    let length = date.len().min(other.len());
    date.as_bytes()[..length] > other.as_bytes()[..length]
}

fn named(row: Row<'_>, columns: &[String]) -> Vec<(String, String)> {
    columns.iter().cloned().zip(row.cells().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_not_later_than_a_time_of_it() {
        assert!(is_later("2026-02-01", "2026-01-31T23:00:00Z"));
        assert!(!is_later("2026-02-01", "2026-02-01T08:00:00Z") && !is_later("2026-02-01T08:00:00Z", "2026-02-01"));
    }

    #[test]
    fn counters_go_with_their_duration() {
        assert_eq!(duration_of("MicroBench aiv_time(us)"), Some(Duration::Measured));
        assert_eq!(duration_of("Profiling Average aiv_time(us)"), Some(Duration::Profiled));
        assert_eq!(duration_of("bandwidth_gbps"), Some(Duration::Measured));
        assert_eq!(duration_of("OP State"), None);
    }
}
