//! Tables as texts that are put together row by row and column by column, for the way back.

use super::sizes::Timing;
use super::source::SourceTable;
use rustc_hash::FxHashMap;

impl SourceTable {
    /// All columns, in order.
    pub(super) fn all_columns(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.columns.iter().map(|(name, cells)| (name.as_str(), cells.as_slice()))
    }

    /// Whether another table has these cells under these names.
    pub(super) fn has_same_cells(&self, other: &SourceTable) -> bool {
        self.columns == other.columns
    }

    /// These rows alone.
    pub(super) fn with_rows(&self, rows: impl Iterator<Item = usize> + Clone) -> SourceTable {
        let cells = |cells: &Vec<String>| rows.clone().map(|row| cells[row].clone()).collect();
        let columns = self.columns.iter().map(|(name, own)| (name.clone(), cells(own))).collect();
        SourceTable::of_columns(&self.path, columns)
    }

    pub(super) fn set(&mut self, column: &str, row: usize, text: String) {
        if let Some((_, cells)) = self.columns.iter_mut().find(|(name, _)| name == column) {
            cells[row] = text;
        }
    }

    /// Adds a column with a cell for each row.
    pub(super) fn push_column(&mut self, name: &str, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.rows);
        self.columns.push((name.to_owned(), cells));
    }

    /// Adds a row. Columns that are new are empty above it.
    pub(super) fn push_row<'n>(&mut self, cells: impl Iterator<Item = (&'n str, String)>) {
        for (name, text) in cells {
            let at = self.place(name);
            self.columns[at].1.push(text);
        }
        self.rows += 1;
        for (_, cells) in &mut self.columns {
            cells.resize(self.rows, String::new());
        }
    }

    fn place(&mut self, column: &str) -> usize {
        self.columns.iter().position(|(name, _)| name == column).unwrap_or_else(|| {
            self.columns.push((column.to_owned(), vec![String::new(); self.rows]));
            self.columns.len() - 1
        })
    }

    /// Without this column, where all its cells are empty.
    pub(super) fn without_empty(mut self, column: &str) -> SourceTable {
        self.columns.retain(|(name, cells)| name != column || cells.iter().any(|cell| !cell.is_empty()));
        self
    }

    /// Adds the rows of another table below.
    pub(super) fn append(&mut self, other: SourceTable) {
        for (name, cells) in other.columns {
            let at = self.place(&name);
            self.columns[at].1.extend(cells);
        }
        self.rows += other.rows;
        for (_, cells) in &mut self.columns {
            cells.resize(self.rows, String::new());
        }
    }

    /// Adds half of the times of rows: to the row of the other half, where it is there.
    pub(super) fn add_half(&mut self, other: &SourceTable, half: &Timing) {
        let case = |table: &SourceTable, row: usize| {
            let own = table.columns.iter().filter(|(name, _)| !Timing::is_time(name));
            own.map(|(_, cells)| cells[row].as_str()).collect::<Vec<_>>().join("\u{1f}")
        };
        let mut known: FxHashMap<String, usize> = (0..self.rows).map(|row| (case(self, row), row)).collect();
        for row in 0..other.rows {
            match known.get(&case(other, row)) {
                Some(at) => {
                    for column in half.columns() {
                        if let Ok(text) = other.text(column, row) {
                            self.set(column, *at, text.to_owned());
                        }
                    }
                }
                None => {
                    known.insert(case(other, row), self.rows);
                    self.push_row(other.all_columns().map(|(name, cells)| (name, cells[row].clone())));
                }
            }
        }
    }
}
