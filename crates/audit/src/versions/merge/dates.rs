//! When the rows of a table were measured.

use perfdb_store::provenance::Statement;
use perfdb_store::row_identity::IdentityColumns;
use perfdb_store::table::Table;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The date of each row of a table, in order; `None` where none is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RowDates {
    dates: Vec<Option<Arc<str>>>,
    /// Names of the rows, once the table is complete; empty where all dates are alike.
    keys: Vec<String>,
}

impl RowDates {
    /// The dates of a table's rows, by what its database states.
    pub(super) fn of(statement: &Statement, kernel_type: &str, table: &Table) -> RowDates {
        let usual: Option<Arc<str>> = statement.date_of(kernel_type).map(Arc::from);
        let single = statement.record.as_ref().map(|record| record.row_dates(kernel_type)).unwrap_or_default();
        if single.is_empty() {
            return RowDates { dates: vec![usual; table.row_count()], keys: Vec::new() };
        }
        let of_key = |key: &String| match single.get(key.as_str()) {
            Some(date) => (!date.is_empty()).then(|| Arc::from(*date)),
            None => usual.clone(),
        };
        RowDates { dates: keys(table).iter().map(of_key).collect(), keys: Vec::new() }
    }

    pub(super) fn of_row(&self, row: usize) -> Option<&str> {
        self.dates.get(row)?.as_deref()
    }

    /// Adds the date of a row at the end of the table.
    pub(super) fn push(&mut self, date: Option<&str>) {
        let date = self.shared(date);
        self.dates.push(date);
    }

    pub(super) fn set(&mut self, row: usize, date: Option<&str>) {
        let date = self.shared(date);
        if let Some(known) = self.dates.get_mut(row) {
            *known = date;
        }
    }

    fn shared(&self, date: Option<&str>) -> Option<Arc<str>> {
        let date = date?;
        let known = self.dates.last().and_then(Option::as_ref).filter(|known| ***known == *date);
        Some(known.cloned().unwrap_or_else(|| Arc::from(date)))
    }

    /// Names the rows of the complete table, where their dates differ.
    pub(super) fn identify(&mut self, table: &Table) {
        if self.dates.iter().any(Option::is_some) {
            self.keys = keys(table);
        }
    }

    /// The rows that have another date than `usual`, by date; an unknown date is empty.
    pub(super) fn exceptions(&self, usual: Option<&str>) -> BTreeMap<String, Vec<String>> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (date, key) in self.dates.iter().zip(&self.keys) {
            if date.as_deref() != usual {
                found.entry(date.as_deref().unwrap_or_default().to_owned()).or_default().push(key.clone());
            }
        }
        found
    }
}

/// A name for each row that does not change when rows change their order: its identity and, from the second of equal rows on, a number.
fn keys(table: &Table) -> Vec<String> {
    let columns = IdentityColumns::of_lookups(table.columns());
    let mut met: HashMap<_, usize> = HashMap::new();
    let name = |row: perfdb_store::table::Row<'_>| {
        let identity = columns.of_row(|column| Cow::Borrowed(row.cell(column)));
        let count = met.entry(identity).or_insert(0);
        *count += 1;
        if *count == 1 { identity.to_string() } else { format!("{identity}#{count}") }
    };
    table.rows().map(name).collect()
}
