//! The events of a simulator's trace.

use perfdb_compare::event_table::EventCell;
use perfdb_files::tables::{Batch, Kind, Schema, Values};

/// The columns that are numbers; all others are text, as simulators and users put anything into them.
const NUMBERS: [&str; 3] = ["dur_us", "ts", "confidence"];

/// The columns of a table of events.
#[derive(Debug, Clone)]
pub struct EventColumns {
    names: Vec<String>,
    schema: Schema,
}

/// Some rows of it, and the first cell that did not fit.
#[derive(Debug, Default)]
pub struct EventBatch {
    pub rows: Batch,
    /// A number that is none: the column and the cell.
    pub misfit: Option<(String, String)>,
}

impl EventColumns {
    /// The columns of these names. `ts` is called `ts_us`, as its unit is. The error is a name that comes twice, or differs from another one in
    /// case alone, which engines take for twice.
    pub fn of(names: &[impl AsRef<str>]) -> Result<EventColumns, String> {
        let mut columns: Vec<(String, Kind)> = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            let kind = if NUMBERS.contains(&name) { Kind::Real } else { Kind::Text };
            let shown = if name == "ts" { "ts_us" } else { name };
            if columns.iter().any(|(other, _)| other.to_lowercase() == shown.to_lowercase()) {
                return Err(shown.to_owned());
            }
            columns.push((shown.to_owned(), kind));
        }
        let names = names.iter().map(|name| name.as_ref().to_owned()).collect();
        Ok(EventColumns { names, schema: Schema::new("events", columns) })
    }

    /// What a file is to be told.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Adds the row of an event; empty cells are missing ones.
    pub fn push(&self, batch: &mut EventBatch, row: &[EventCell<'_>]) {
        if batch.rows.columns.is_empty() {
            batch.rows = self.schema.batch();
        }
        for ((cell, values), name) in row.iter().zip(&mut batch.rows.columns).zip(&self.names) {
            let text = cell.text();
            match values {
                Values::Real(cells) if text.is_empty() => cells.push(None),
                Values::Real(cells) => match text.trim().parse() {
                    Ok(number) => cells.push(Some(number)),
                    Err(_) => {
                        batch.misfit.get_or_insert_with(|| (name.clone(), text.into_owned()));
                        cells.push(None);
                    }
                },
                Values::Text(cells) => cells.push((!text.is_empty()).then(|| text.into_owned())),
                Values::Integer(_) | Values::Truth(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_numbers_and_what_is_none_is_told() {
        let columns = EventColumns::of(&["op_name", "ts", "dur_us"]).unwrap();
        let names: Vec<&str> = columns.schema().columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["op_name", "ts_us", "dur_us"]);
        let mut batch = EventBatch::default();
        columns.push(&mut batch, &[EventCell::Plain(b"a"), EventCell::Plain(b"1e-05"), EventCell::Plain(b"")]);
        assert_eq!(batch.misfit, None);
        columns.push(&mut batch, &[EventCell::Plain(b""), EventCell::Plain(b"soon"), EventCell::Plain(b"2")]);
        assert_eq!(batch.misfit, Some(("ts".to_owned(), "soon".to_owned())));
        let texts = Values::Text(vec![Some("a".to_owned()), None]);
        let (starts, durations) = (Values::Real(vec![Some(1e-5), None]), Values::Real(vec![None, Some(2.0)]));
        assert_eq!(batch.rows.columns, [texts, starts, durations]);
    }

    #[test]
    fn no_name_comes_twice() {
        assert_eq!(EventColumns::of(&["ts", "TS_US"]).map(drop), Err("TS_US".to_owned()));
    }
}
