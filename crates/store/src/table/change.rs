//! Changing a table in memory.

use super::{Origin, Span, Table};

impl Table {
    /// Gives a cell a new text.
    ///
    /// # Panics
    /// When the row or column is missing, as for a slice.
    pub fn set(&mut self, row: usize, column: usize, text: &str) {
        assert!(column < self.columns.len(), "column {column} of {}", self.columns.len());
        let span = self.append(text);
        let stride = self.columns.len();
        self.cells[row * stride + column] = span;
    }

    /// Adds a row at the end: what `cell` gives for each column's position and name. Returns its position.
    pub fn push_row<'a>(&mut self, mut cell: impl FnMut(usize, &str) -> &'a str) -> usize {
        let columns = std::mem::take(&mut self.columns);
        for (column, name) in columns.iter().enumerate() {
            let span = self.append(cell(column, name));
            self.cells.push(span);
        }
        self.columns = columns;
        self.rows.push(Origin::default());
        self.rows.len() - 1
    }

    /// Gives the table new columns: each with its name and the position of the old column whose cells it takes, or empty cells.
    pub(crate) fn rearrange(&mut self, columns: Vec<(String, Option<usize>)>) {
        let old = self.columns.len();
        let keeps_cells = columns.len() == old && columns.iter().enumerate().all(|(at, (_, from))| *from == Some(at));
        if keeps_cells {
            self.columns = columns.into_iter().map(|(name, _)| name).collect();
            return;
        }
        let mut cells = Vec::with_capacity(self.rows.len() * columns.len());
        for row in 0..self.rows.len() {
            let from = &self.cells[row * old..(row + 1) * old];
            cells.extend(
                columns.iter().map(|(_, source)| source.map_or(Span { start: 0, end: 0 }, |source| from[source])),
            );
        }
        self.cells = cells;
        self.columns = columns.into_iter().map(|(name, _)| name).collect();
    }

    /// Adds a column at the end with the same text in every row.
    pub fn push_column(&mut self, name: &str, text: &str) {
        let mut columns: Vec<_> = self.columns.iter().enumerate().map(|(at, name)| (name.clone(), Some(at))).collect();
        columns.push((name.to_owned(), None));
        self.rearrange(columns);
        let span = self.append(text);
        let stride = self.columns.len();
        for row in 0..self.rows.len() {
            self.cells[row * stride + stride - 1] = span;
        }
    }

    /// Puts the rows into a new order. Positions that `order` leaves out vanish; one that it repeats is copied.
    pub(crate) fn reorder(&mut self, order: &[usize]) {
        let stride = self.columns.len();
        let mut cells = Vec::with_capacity(order.len() * stride);
        for &row in order {
            cells.extend_from_slice(&self.cells[row * stride..(row + 1) * stride]);
        }
        self.cells = cells;
        self.rows = order.iter().map(|&row| self.rows[row]).collect();
    }

    fn append(&mut self, text: &str) -> Span {
        let start = self.text.len();
        self.text.push_str(text);
        Span { start, end: self.text.len() }
    }
}
