//! The tables of one kernel type.

use super::conflict::{Conflict, Decisions, Prefer, Taken};
use super::dates::RowDates;
use super::kept::{Kept, keep};
use super::row_durations::Durations;
use crate::versions::case::{Known, Naming};
use crate::versions::{Error, Place, Source};
use perfdb_files::replace::{Parents, Staged};
use perfdb_files::time::compare_dates;
use perfdb_store::columns::{COMMUNICATION_DURATION, MEASURED_DURATION, OLD_MEASURED_DURATION};
use perfdb_store::row_identity::{RowIdentity, describes};
use perfdb_store::table::{ReadOptions, Row, Table, Written};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

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
    /// Rows of the target whose own duration answered and for which another duration answers now.
    pub answers_changed: usize,
    /// Cells that describe a row and that the target has otherwise; its own stay.
    pub other_metadata: usize,
    /// Columns that the target lacked.
    pub columns_added: Vec<String>,
    /// Cases with different durations, in the order of the databases and their rows.
    pub conflicts: Vec<Conflict>,
    differs: bool,
    /// When the rows of the table were measured, where dates are known.
    pub(super) dates: RowDates,
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

impl Job<'_> {
    /// Merges the tables of a kernel type into the one at `path`, and stages what changes.
    pub(super) fn run(&self, kernel_type: &str, path: &Path) -> Result<(TableMerge, Vec<Staged>), Error> {
        let read = |path: &PathBuf| Table::read(path, &ReadOptions::database());
        if path.is_symlink() && !path.exists() {
            return Err(Error::Link { path: path.to_owned() });
        }
        let own = self.into.tables.get(kernel_type).map(read).transpose()?;
        let dates = match &own {
            Some(table) => RowDates::of(&self.into.statement, kernel_type, table),
            None => RowDates::default(),
        };
        let mut merger = Merger {
            job: self,
            result: TableMerge {
                kernel_type: kernel_type.to_owned(),
                path: path.to_owned(),
                is_new: own.is_none(),
                dates,
                ..TableMerge::default()
            },
            table: own,
            kept: Vec::new(),
            origins: FxHashMap::default(),
            open: Vec::new(),
        };
        let mut copied = None;
        for place in self.from {
            if let Some(path) = place.tables.get(kernel_type) {
                let other = read(path)?;
                // What comes from one database alone is copied to the byte.
                copied = (merger.table.is_none()).then(|| other.source().to_vec());
                merger.take(place, &other)?;
            }
        }
        merger.settle_open();
        let Merger { mut result, table, kept, .. } = merger;
        result.differs |= result.is_new && table.is_some();
        if let Some(table) = &table {
            result.dates.identify(table);
        }
        // What is behind a link belongs to somebody else.
        if (result.differs || !kept.is_empty()) && path.is_symlink() {
            return Err(Error::Link { path: path.to_owned() });
        }
        let mut staged = Vec::new();
        if self.writes {
            if let Some(table) = table.filter(|_| result.differs) {
                let form = Written { byte_order_mark: table.has_byte_order_mark(), line_end: table.header_line_end() };
                let text = copied.unwrap_or_else(|| table.to_csv(form));
                staged.push(Staged::with(&result.path, &text, Parents::Create)?);
            }
            if !kept.is_empty() {
                let folder = path.parent().unwrap_or(Path::new("."));
                staged.extend(keep(folder, kernel_type, &kept)?);
            }
        }
        Ok((result, staged))
    }
}

/// The database whose rows are being merged.
struct Other<'a> {
    place: &'a Place,
    durations: Durations,
    dates: RowDates,
    /// The target's column for each of its own; `None` for those of measured durations, which have one place in the target.
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
    /// Database and line of the durations that this merge has added, by row.
    origins: FxHashMap<(usize, &'static str), (PathBuf, u64)>,
    /// The open conflicts of such durations, by number, with their row.
    open: Vec<(usize, usize)>,
}

fn known(naming: &Naming, row: Row<'_>) -> Known {
    naming.row(|column| Cow::Borrowed(row.cell(column)))
}

/// The own row that each of the others meets. Equal rows come together, the n-th with the n-th. Where that leaves one row on each side that
/// lookups take for the same, these two differ in a description alone.
fn partners(own: &[Known], others: &[Known]) -> Vec<Option<usize>> {
    let mut waiting: FxHashMap<RowIdentity, VecDeque<usize>> = FxHashMap::default();
    for (at, row) in own.iter().enumerate() {
        waiting.entry(row.identity).or_default().push_back(at);
    }
    let mut partners: Vec<Option<usize>> =
        others.iter().map(|row| waiting.get_mut(&row.identity).and_then(VecDeque::pop_front)).collect();
    let mut left: FxHashMap<RowIdentity, [Vec<usize>; 2]> = FxHashMap::default();
    for at in waiting.into_values().flatten() {
        left.entry(own[at].lookup).or_default()[0].push(at);
    }
    for (at, _) in partners.iter().enumerate().filter(|(_, partner)| partner.is_none()) {
        left.entry(others[at].lookup).or_default()[1].push(at);
    }
    for sides in left.into_values() {
        if let [[one], [other]] = sides.each_ref().map(Vec::as_slice) {
            partners[*other] = Some(*one);
        }
    }
    partners
}

impl Merger<'_> {
    /// Takes the rows of another database.
    fn take(&mut self, place: &Place, other: &Table) -> Result<(), Error> {
        let mut table = match self.table.take() {
            Some(table) => table,
            None => Table::new(&self.result.path, other.columns()),
        };
        let kernel_type = self.result.kernel_type.clone();
        let namings = [
            Naming::new(&kernel_type, table.columns(), other.columns()),
            Naming::new(&kernel_type, other.columns(), table.columns()),
        ];
        let own: Vec<Known> = table.rows().map(|row| known(&namings[0], row)).collect();
        let found: Vec<Known> = other.rows().map(|row| known(&namings[1], row)).collect();
        let partners = partners(&own, &found);
        let columns = self.unite_columns(&mut table, other);
        let theirs = Other {
            place,
            durations: Durations::of(other),
            dates: RowDates::of(&place.statement, &kernel_type, other),
            columns,
        };
        let own = Durations::of(&table);
        let mut sources = vec![None; table.columns().len()];
        for (source, column) in theirs.columns.iter().enumerate() {
            column.iter().for_each(|column| sources[*column] = Some(source));
        }
        for ((row, found), partner) in other.rows().zip(&found).zip(partners) {
            match partner {
                Some(at) => self.meet((&mut table, at), own, (row, found), &theirs)?,
                None => {
                    // Each duration stays in its column, so that the row answers as it did; a lone one takes the place there is.
                    let keeps_columns = own.takes(&theirs.durations.of_row(row));
                    let measured = theirs.durations.measured_text(row);
                    table.push_row(|column, name| match (theirs.durations.text_of(name, row), sources[column]) {
                        (Some(text), _) if keeps_columns => text,
                        (Some(_), _) if Some(column) == own.measured => measured,
                        (None, Some(source)) => row.cell(source),
                        _ => "",
                    });
                    let durations = theirs.durations.of_row(row);
                    let at = table.row_count() - 1;
                    for source in Source::ALL.into_iter().filter(|source| durations.of(*source).is_some()) {
                        self.note_origin(at, source, theirs.place, row);
                    }
                    self.result.dates.push(theirs.dates.of_row(row.index()));
                    self.result.added += 1;
                    self.result.differs = true;
                }
            }
        }
        self.table = Some(table);
        Ok(())
    }

    /// Gives the table the columns that it lacks. Returns its column for each of the other's.
    fn unite_columns(&mut self, table: &mut Table, other: &Table) -> Vec<Option<usize>> {
        let mut places = Vec::with_capacity(other.columns().len());
        for name in other.columns() {
            let is_measured = Source::is_measured_duration(name);
            // Old and new tables call the measured duration differently; what collectives call it is another column.
            let has_place = match name.as_str() {
                COMMUNICATION_DURATION => table.column(name).is_some(),
                _ => [MEASURED_DURATION, OLD_MEASURED_DURATION].iter().any(|name| table.column(name).is_some()),
            };
            if is_measured && has_place {
                places.push(None);
                continue;
            }
            let known = table.column(name).unwrap_or_else(|| {
                table.push_column(name, "");
                self.result.columns_added.push(name.clone());
                self.result.differs = true;
                table.columns().len() - 1
            });
            places.push((!is_measured).then_some(known));
        }
        places
    }

    /// Merges a row into the equal one.
    fn meet(
        &mut self,
        (table, at): (&mut Table, usize),
        own: Durations,
        (row, found): (Row<'_>, &Known),
        theirs: &Other<'_>,
    ) -> Result<(), Error> {
        let (into, from) = (own.of_row(table.row(at)), theirs.durations.of_row(row));
        let mut after = into;
        let mut taken_over = Vec::new();
        let (mut is_filled, mut has_conflict, mut is_replaced, mut is_refused) = (false, false, false, false);
        for source in Source::ALL {
            let Some(from_us) = from.of(source) else { continue };
            let into_us = into.of(source);
            if into_us == Some(from_us) {
                continue;
            }
            let with = own.with(&after, source, from_us);
            if into_us.is_none() && (self.job.prefer != Prefer::Into || !into.is_contradicted_by(&with)) {
                taken_over.push(source);
                after = with;
                is_filled = true;
                continue;
            }
            has_conflict = true;
            let mut conflict = Conflict {
                kernel_type: self.result.kernel_type.clone(),
                case: found.case.clone(),
                duration: source,
                from: theirs.place.name.clone(),
                from_line: row.line().unwrap_or_default(),
                into_line: table.line(at),
                into_us: into_us.or(into.answer()).unwrap_or_default(),
                from_us,
                taken: Taken::Undecided,
            };
            let dates = (self.result.dates.of_row(at), theirs.dates.of_row(row.index()));
            conflict.taken = match into_us {
                Some(_) => self.decide(&conflict, theirs.place, dates)?,
                None => Taken::Into,
            };
            if conflict.taken == Taken::Undecided && conflict.into_line.is_none() {
                if self.take_provisionally(at, conflict) {
                    taken_over.push(source);
                    after = with;
                    self.note_origin(at, source, theirs.place, row);
                }
                continue;
            }
            match conflict.taken {
                Taken::From => {
                    taken_over.push(source);
                    after = with;
                    is_replaced = true;
                }
                Taken::Into => is_refused = true,
                Taken::Undecided => {}
            }
            self.result.conflicts.push(conflict);
        }
        if is_replaced {
            let cells = table.columns().iter().cloned().zip(table.row(at).cells().map(str::to_owned)).collect();
            self.keep("replaced", theirs.place, cells);
        }
        if is_refused {
            let named = |(column, cell): (usize, &str)| (table.columns()[column].clone(), cell.to_owned());
            let measured = own.measured.map(|column| (column, theirs.durations.measured_text(row)));
            self.keep("not taken", theirs.place, theirs.cells(row).chain(measured).map(named).collect());
        }
        self.result.answers_changed += usize::from(table.line(at).is_some() && into.is_contradicted_by(&after));
        self.copy(table, at, theirs.cells(row), &taken_over);
        if taken_over.contains(&Source::Measured) {
            own.set_measured(table, at, theirs.durations.measured_text(row));
            self.result.differs = true;
        }
        if !taken_over.is_empty() {
            self.result.dates.set(at, theirs.dates.of_row(row.index()));
        }
        self.result.filled += usize::from(is_filled);
        self.result.same += usize::from(!is_filled && !has_conflict);
        Ok(())
    }

    fn note_origin(&mut self, at: usize, source: Source, place: &Place, row: Row<'_>) {
        self.origins.insert((at, source.name()), (place.name.clone(), row.line().unwrap_or_default()));
    }

    /// Adds an open conflict of a row that the target never had, as if the shorter duration had come first: the order of the databases decides
    /// nothing. Returns whether the other duration is taken until somebody has decided.
    fn take_provisionally(&mut self, at: usize, conflict: Conflict) -> bool {
        let origin = self.origins.get(&(at, conflict.duration.name())).cloned();
        let Some((from, from_line)) = origin else {
            self.result.conflicts.push(conflict);
            return false;
        };
        let (into_us, from_us) = (conflict.from_us, conflict.into_us);
        let mut turned = Conflict { from, from_line, into_us, from_us, ..conflict.clone() };
        let takes = match self.job.decisions.of(&turned) {
            Some(decided) => {
                turned.taken = decided;
                self.result.conflicts.push(turned);
                return decided == Taken::Into;
            }
            None => into_us < from_us,
        };
        self.open.push((self.result.conflicts.len(), at));
        self.result.conflicts.push(if takes { turned } else { conflict });
        takes
    }

    /// The open conflicts of added rows are with what the table has in the end.
    fn settle_open(&mut self) {
        let Some(table) = &self.table else { return };
        let durations = Durations::of(table);
        for (number, at) in &self.open {
            let conflict = &mut self.result.conflicts[*number];
            if let Some(us) = durations.of_row(table.row(*at)).of(conflict.duration) {
                conflict.into_us = us;
            }
        }
    }

    /// Keeps a row that lost beside the table.
    fn keep(&mut self, what: &'static str, place: &Place, cells: Vec<(String, String)>) {
        self.kept.push(Kept { what, database: place.name.to_string_lossy().into_owned(), cells });
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
                None if cell.is_empty() => false,
                None => {
                    self.result.other_metadata += usize::from(!own.is_empty() && describes(name));
                    own.is_empty()
                }
            };
            if takes {
                table.set(at, column, cell);
                self.result.differs = true;
            }
        }
    }

    fn decide(&self, conflict: &Conflict, place: &Place, dates: (Option<&str>, Option<&str>)) -> Result<Taken, Error> {
        if let Some(decided) = self.job.decisions.of(conflict) {
            return Ok(decided);
        }
        // Of rows that the target never had the order of the databases decides nothing.
        let is_added = conflict.into_line.is_none();
        let is_faster = conflict.from_us < conflict.into_us;
        let takes_from = match self.job.prefer {
            Prefer::AskList => return Ok(Taken::Undecided),
            Prefer::Into => is_added && is_faster,
            Prefer::Fastest => is_faster,
            Prefer::Newest => {
                let no_date = |place: &Place| Error::NoDate {
                    path: place.name.clone(),
                    kernel_type: conflict.kernel_type.clone(),
                };
                let from = dates.1.ok_or_else(|| no_date(place))?;
                let into = dates.0.ok_or_else(|| no_date(self.job.into))?;
                match compare_dates(from, into) {
                    Ordering::Equal => is_added && is_faster,
                    order => order == Ordering::Greater,
                }
            }
        };
        Ok(if takes_from { Taken::From } else { Taken::Into })
    }
}
