//! The durations of a row, and which of them a lookup returns.

use crate::versions::Source;
use perfdb_store::columns::{COMMUNICATION_DURATION, MEASURED_DURATION, PROFILED_DURATION};
use perfdb_store::duration::{is_valid, number};
use perfdb_store::table::{Row, Table};

/// Where a table keeps durations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Durations {
    /// The columns of measured durations, the one that counts first in front.
    columns: [Option<usize>; 3],
    profiled: Option<usize>,
    /// The column that a measured duration is written into.
    pub(super) measured: Option<usize>,
}

/// The valid durations of one row.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct RowDurations {
    /// By the columns of [`Source::MEASURED_COLUMNS`].
    measured: [Option<f64>; 3],
    profiled: Option<f64>,
}

/// Position of the columns that lookups read in [`Source::MEASURED_COLUMNS`].
const AVERAGE: usize = 0;
const COMMUNICATION: usize = 2;

impl RowDurations {
    /// The duration from a source.
    pub(super) fn of(&self, source: Source) -> Option<f64> {
        match source {
            Source::Measured => self.measured.into_iter().flatten().next(),
            Source::Profiled => self.profiled,
        }
    }

    /// What a lookup returns.
    pub(super) fn answer(&self) -> Option<f64> {
        self.measured[AVERAGE].or(self.profiled).or(self.measured[COMMUNICATION])
    }

    /// Whether this row answers, and a lookup of the `other` durations returns something else.
    pub(super) fn is_contradicted_by(&self, other: &RowDurations) -> bool {
        self.answer().is_some() && self.answer() != other.answer()
    }
}

impl Durations {
    pub(super) fn of(table: &Table) -> Durations {
        debug_assert_eq!(Source::MEASURED_COLUMNS[AVERAGE], MEASURED_DURATION);
        debug_assert_eq!(Source::MEASURED_COLUMNS[COMMUNICATION], COMMUNICATION_DURATION);
        let columns = Source::MEASURED_COLUMNS.map(|name| table.column(name));
        Durations { columns, profiled: table.column(PROFILED_DURATION), measured: columns.into_iter().flatten().next() }
    }

    pub(super) fn of_row(&self, row: Row<'_>) -> RowDurations {
        let valid = |column: Option<usize>| Some(number(row.cell(column?))).filter(|us| is_valid(*us));
        RowDurations { measured: self.columns.map(valid), profiled: valid(self.profiled) }
    }

    /// The durations of a row of this table once one from a source is written into it.
    pub(super) fn with(&self, durations: &RowDurations, source: Source, us: f64) -> RowDurations {
        let mut with = *durations;
        match source {
            Source::Profiled => with.profiled = Some(us),
            Source::Measured => {
                let at = self.columns.iter().position(Option::is_some).unwrap_or(AVERAGE);
                with.measured = [None; 3];
                with.measured[at] = Some(us);
            }
        }
        with
    }

    /// The text of a row's measured duration; empty without a valid one.
    pub(super) fn measured_text<'t>(&self, row: Row<'t>) -> &'t str {
        let texts = || self.columns.iter().flatten().map(|column| row.cell(*column));
        texts().find(|text| is_valid(number(text))).or_else(|| texts().next()).unwrap_or_default()
    }

    /// The text of a row's duration in the column of a name, where it is a measured one.
    pub(super) fn text_of<'t>(&self, name: &str, row: Row<'t>) -> Option<&'t str> {
        let at = Source::MEASURED_COLUMNS.iter().position(|known| *known == name)?;
        Some(self.columns[at].map_or("", |column| row.cell(column)))
    }

    /// Whether the table has a column for each measured duration that a row has.
    pub(super) fn takes(&self, durations: &RowDurations) -> bool {
        durations.measured.iter().zip(self.columns).all(|(us, column)| us.is_none() || column.is_some())
    }

    /// Writes a row's measured duration into its one place.
    pub(super) fn set_measured(&self, table: &mut Table, row: usize, text: &str) {
        for column in self.columns.iter().flatten() {
            table.set(row, *column, if Some(*column) == self.measured { text } else { "" });
        }
    }
}
