//! The tables of one kernel type.

use super::conflict::{Conflict, Decisions, Prefer, Taken};
use super::kept::{Kept, keep};
use crate::case::{COLUMNS, Naming};
use crate::{Case, Error, Place, Source};
use perfdb_files::paths::within;
use perfdb_files::replace::{Parents, Staged};
use perfdb_store::columns::{MEASURED_DURATION, OLD_MEASURED_DURATION};
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

/// Where a table keeps what merging looks at.
struct Places {
    case: [Option<usize>; COLUMNS.len()],
    /// The columns of the durations of each source.
    durations: [Option<usize>; Source::ALL.len()],
    naming: Naming,
}

impl Places {
    fn of(kernel_type: &str, table: &Table) -> Places {
        Places {
            case: COLUMNS.map(|name| table.column(name)),
            durations: Source::ALL.map(|source| source.columns().iter().find_map(|name| table.column(name))),
            naming: Naming::new(kernel_type, table.columns()),
        }
    }

    fn case(&self, row: Row<'_>) -> Case {
        self.naming.case(|column| Cow::Borrowed(self.case[column].map_or("", |column| row.cell(column))))
    }

    fn duration_us(&self, row: Row<'_>, source: Source) -> f64 {
        self.durations[source as usize].map_or(0.0, |column| number(row.cell(column)))
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

/// The database whose rows are being merged.
struct Other<'a> {
    place: &'a Place,
    places: Places,
    /// The target's column for each of its own.
    columns: Vec<Option<usize>>,
}

impl Other<'_> {
    /// The cells of a row with the target's columns that they belong in.
    fn cells<'r>(&'r self, row: Row<'r>) -> impl Iterator<Item = (usize, &'r str)> {
        self.columns.iter().zip(row.cells()).filter_map(|(column, cell)| Some(((*column)?, cell)))
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
        let mut sources = vec![None; table.columns().len()];
        for (source, column) in columns.iter().enumerate().filter_map(|(source, column)| Some((source, (*column)?))) {
            sources[column] = Some(source);
        }
        let own = Places::of(&self.result.kernel_type, &table);
        let theirs = Other { place, places: Places::of(&self.result.kernel_type, other), columns };
        self.met.clear();
        let mut known: FxHashMap<Case, usize> = FxHashMap::default();
        for row in table.rows() {
            // Of rows that stand twice the first one answers.
            known.entry(own.case(row)).or_insert(row.index());
        }
        for row in other.rows() {
            let case = theirs.places.case(row);
            match known.get(&case) {
                Some(&at) => self.meet((&mut table, at), &own, (row, &case), &theirs)?,
                None => {
                    let at = table.push_row(|column, _| sources[column].map_or("", |source| row.cell(source)));
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
    fn unite_columns(&mut self, table: &mut Table, other: &Table) -> Vec<Option<usize>> {
        // Old and new tables call the measured duration differently.
        let (own, old) = (table.column(MEASURED_DURATION), table.column(OLD_MEASURED_DURATION));
        let is_renamed = other.column(MEASURED_DURATION).is_some();
        let mut places = Vec::with_capacity(other.columns().len());
        for name in other.columns() {
            let known = match name.as_str() {
                MEASURED_DURATION => own.or(old),
                OLD_MEASURED_DURATION if !is_renamed => own.or(old),
                // Of two measured durations the one of the new name counts, and takes the one place there is.
                OLD_MEASURED_DURATION if own.is_none() && old.is_some() => {
                    places.push(None);
                    continue;
                }
                name => table.column(name),
            };
            places.push(Some(known.unwrap_or_else(|| {
                table.push_column(name, "");
                self.result.columns_added.push(name.clone());
                self.result.differs = true;
                table.columns().len() - 1
            })));
        }
        places
    }

    /// Merges a row into the one of the same case.
    fn meet(
        &mut self,
        (table, at): (&mut Table, usize),
        own: &Places,
        (row, case): (Row<'_>, &Case),
        theirs: &Other<'_>,
    ) -> Result<(), Error> {
        let mut taken_over = Vec::new();
        let (mut is_filled, mut has_conflict, mut is_replaced, mut is_refused) = (false, false, false, false);
        for source in Source::ALL {
            let (into_us, from_us) = (own.duration_us(table.row(at), source), theirs.places.duration_us(row, source));
            if !is_valid(from_us) {
                continue;
            }
            if !is_valid(into_us) {
                taken_over.push(source);
                is_filled = true;
            } else if into_us != from_us {
                has_conflict = true;
                let mut conflict = Conflict {
                    kernel_type: self.result.kernel_type.clone(),
                    case: case.clone(),
                    duration: source,
                    from: theirs.place.directory.clone(),
                    from_line: row.line().unwrap_or_default(),
                    into_line: table.line(at),
                    into_us,
                    from_us,
                    taken: Taken::Undecided,
                };
                conflict.taken = self.decide(&conflict, theirs.place, self.met.contains(&at))?;
                match conflict.taken {
                    Taken::From => {
                        taken_over.push(source);
                        is_replaced = true;
                    }
                    Taken::Into => is_refused = true,
                    Taken::Undecided => {}
                }
                self.result.conflicts.push(conflict);
            }
        }
        if is_replaced {
            let cells = table.columns().iter().cloned().zip(table.row(at).cells().map(str::to_owned)).collect();
            self.keep("replaced", theirs.place, cells);
        }
        if is_refused {
            let named = |(column, cell): (usize, &str)| (table.columns()[column].clone(), cell.to_owned());
            self.keep("not taken", theirs.place, theirs.cells(row).map(named).collect());
        }
        self.copy(table, at, theirs.cells(row), &taken_over);
        self.met.insert(at);
        self.result.filled += usize::from(is_filled);
        self.result.same += usize::from(!is_filled && !has_conflict);
        Ok(())
    }

    /// Keeps a row that lost beside the table.
    fn keep(&mut self, what: &'static str, place: &Place, cells: Vec<(String, String)>) {
        self.kept.push(Kept { what, database: place.directory.to_string_lossy().into_owned(), cells });
    }

    /// Copies the durations that are taken over with their counters, and fills empty cells that belong to no duration.
    fn copy<'r>(
        &mut self,
        table: &mut Table,
        at: usize,
        cells: impl Iterator<Item = (usize, &'r str)>,
        taken_over: &[Source],
    ) {
        for (column, cell) in cells {
            let (name, own) = (table.columns()[column].as_str(), table.cell(at, column));
            if own == cell {
                continue;
            }
            let takes = match Source::of_column(name) {
                Some(source) => taken_over.contains(&source),
                None if COLUMNS.contains(&name) || cell.is_empty() => false,
                None => {
                    self.result.other_metadata += usize::from(!own.is_empty());
                    own.is_empty()
                }
            };
            if takes {
                table.set(at, column, cell);
                self.result.differs = true;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_not_later_than_a_time_of_it() {
        assert!(is_later("2026-02-01", "2026-01-31T23:00:00Z"));
        assert!(!is_later("2026-02-01", "2026-02-01T08:00:00Z") && !is_later("2026-02-01T08:00:00Z", "2026-02-01"));
    }
}
