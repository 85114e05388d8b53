//! Tables with typed columns, and what a form of files offers to take them.
//!
//! Results say what their columns are; [`Writer`]s put them into files. Neither knows the other, so that a program without a form of files
//! does not carry it.
//!
//! ```
//! use perfdb_files::tables::{Column, Kind, batch, schema};
//!
//! struct Kernel {
//!     name: String,
//!     duration_us: Option<f64>,
//! }
//!
//! let columns: [Column<Kernel>; 2] = [
//!     Column::text("name", |kernel| Some(kernel.name.as_str().into())),
//!     Column::real("duration_us", |kernel| kernel.duration_us),
//! ];
//! let schema = schema("kernels", &columns);
//! assert_eq!(schema.columns[1], ("duration_us".to_owned(), Kind::Real));
//!
//! let rows = batch(&columns, [Kernel { name: "Add".to_owned(), duration_us: None }].iter());
//! assert_eq!(rows.row_count(), 1);
//! ```

use crate::replace::Staged;
use std::borrow::Cow;
use std::io;

/// What the cells of a column are. Any cell may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// Integers of 64 bits.
    Integer,
    /// Doubles.
    Real,
    /// True or false.
    Truth,
}

/// What a table is called, and its columns by name; each name once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// The table's name.
    pub table: String,
    /// Names and kinds of the columns, in order.
    pub columns: Vec<(String, Kind)>,
    /// What else a file is to say of the table: keys and values.
    pub notes: Vec<(String, String)>,
}

impl Schema {
    /// A table without notes.
    pub fn new(table: &str, columns: Vec<(String, Kind)>) -> Schema {
        Schema { table: table.to_owned(), columns, notes: Vec::new() }
    }

    /// No rows yet.
    pub fn batch(&self) -> Batch {
        Batch { columns: self.columns.iter().map(|(_, kind)| Values::new(*kind)).collect() }
    }
}

/// The cells of a column, in the order of the rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    Text(Vec<Option<String>>),
    Integer(Vec<Option<i64>>),
    /// Doubles.
    Real(Vec<Option<f64>>),
    /// True or false.
    Truth(Vec<Option<bool>>),
}

impl Values {
    /// No cells yet.
    pub fn new(kind: Kind) -> Values {
        match kind {
            Kind::Text => Values::Text(Vec::new()),
            Kind::Integer => Values::Integer(Vec::new()),
            Kind::Real => Values::Real(Vec::new()),
            Kind::Truth => Values::Truth(Vec::new()),
        }
    }

    /// What the cells are.
    pub fn kind(&self) -> Kind {
        match self {
            Values::Text(_) => Kind::Text,
            Values::Integer(_) => Kind::Integer,
            Values::Real(_) => Kind::Real,
            Values::Truth(_) => Kind::Truth,
        }
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Text(cells) => cells.len(),
            Values::Integer(cells) => cells.len(),
            Values::Real(cells) => cells.len(),
            Values::Truth(cells) => cells.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves the cells of another column of the same kind behind these. Those of another kind stay where they are.
    fn append(&mut self, other: &mut Values) {
        match (self, other) {
            (Values::Text(cells), Values::Text(more)) => cells.append(more),
            (Values::Integer(cells), Values::Integer(more)) => cells.append(more),
            (Values::Real(cells), Values::Real(more)) => cells.append(more),
            (Values::Truth(cells), Values::Truth(more)) => cells.append(more),
            _ => debug_assert!(false, "columns of two kinds"),
        }
    }
}

/// Some rows of a table, column by column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// One for each column of the table, all of one length.
    pub columns: Vec<Values>,
}

impl Batch {
    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.columns.first().map_or(0, Values::len)
    }

    /// Moves rows of the same table behind these.
    pub fn append(&mut self, mut more: Batch) {
        if self.columns.is_empty() {
            *self = more
        } else {
            self.columns.iter_mut().zip(&mut more.columns).for_each(|(cells, more)| cells.append(more))
        }
    }
}

/// How a column's cell comes from a row of a result.
#[derive(Debug)]
enum Cell<R> {
    Text(fn(&R) -> Option<Cow<'_, str>>),
    Integer(fn(&R) -> Option<i64>),
    Real(fn(&R) -> Option<f64>),
    Truth(fn(&R) -> Option<bool>),
}

/// A column of a table that is made of rows `R`.
#[derive(Debug)]
pub struct Column<R> {
    name: &'static str,
    cell: Cell<R>,
}

impl<R> Column<R> {
    /// A column of texts.
    pub const fn text(name: &'static str, cell: fn(&R) -> Option<Cow<'_, str>>) -> Column<R> {
        Column { name, cell: Cell::Text(cell) }
    }

    /// A column of integers.
    pub const fn integer(name: &'static str, cell: fn(&R) -> Option<i64>) -> Column<R> {
        Column { name, cell: Cell::Integer(cell) }
    }

    /// A column of doubles.
    pub const fn real(name: &'static str, cell: fn(&R) -> Option<f64>) -> Column<R> {
        Column { name, cell: Cell::Real(cell) }
    }

    /// A column of truths.
    pub const fn truth(name: &'static str, cell: fn(&R) -> Option<bool>) -> Column<R> {
        Column { name, cell: Cell::Truth(cell) }
    }

    fn kind(&self) -> Kind {
        match self.cell {
            Cell::Text(_) => Kind::Text,
            Cell::Integer(_) => Kind::Integer,
            Cell::Real(_) => Kind::Real,
            Cell::Truth(_) => Kind::Truth,
        }
    }
}

/// The schema of a table of these columns.
pub fn schema<R>(table: &str, columns: &[Column<R>]) -> Schema {
    Schema::new(table, columns.iter().map(|column| (column.name.to_owned(), column.kind())).collect())
}

/// The rows as a table of these columns.
pub fn batch<'r, R: 'r>(columns: &[Column<R>], rows: impl Iterator<Item = &'r R>) -> Batch {
    let mut batch = Batch { columns: columns.iter().map(|column| Values::new(column.kind())).collect() };
    rows.for_each(|row| push(columns, &mut batch, row));
    batch
}

/// Adds a row to a table that was made of the same columns.
pub fn push<R>(columns: &[Column<R>], batch: &mut Batch, row: &R) {
    for (column, values) in columns.iter().zip(&mut batch.columns) {
        match (&column.cell, values) {
            (Cell::Text(cell), Values::Text(cells)) => cells.push(cell(row).map(Cow::into_owned)),
            (Cell::Integer(cell), Values::Integer(cells)) => cells.push(cell(row)),
            (Cell::Real(cell), Values::Real(cells)) => cells.push(cell(row)),
            (Cell::Truth(cell), Values::Truth(cells)) => cells.push(cell(row)),
            _ => debug_assert!(false, "a table of other columns"),
        }
    }
}

/// A file that a table is written to. A trait, because programs that write no such files are not to carry the form: the one program that
/// does hands it to the tools as an [`Open`].
pub trait Writer: Send {
    /// Takes the next rows.
    ///
    /// # Errors
    /// When they cannot be written.
    fn write(&mut self, rows: Batch) -> io::Result<()>;

    /// Ends the file, which is then to be committed.
    ///
    /// # Errors
    /// When what is left cannot be written.
    fn finish(self: Box<Self>) -> io::Result<Staged>;
}

/// Begins a file of a form: the content of `file` is a table of this schema.
pub type Open = fn(file: Staged, schema: &Schema) -> io::Result<Box<dyn Writer>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_appended_column_by_column() {
        let schema = Schema::new("t", vec![("a".to_owned(), Kind::Integer), ("b".to_owned(), Kind::Truth)]);
        let mut rows = schema.batch();
        for (number, truth) in [(1, None), (2, Some(true))] {
            rows.append(Batch { columns: vec![Values::Integer(vec![Some(number)]), Values::Truth(vec![truth])] });
        }
        assert_eq!(rows.row_count(), 2);
        assert_eq!(rows.columns[0], Values::Integer(vec![Some(1), Some(2)]));
        assert_eq!(rows.columns[1], Values::Truth(vec![None, Some(true)]));
    }

    #[test]
    fn nothing_takes_the_form_of_what_comes() {
        let mut rows = Batch::default();
        rows.append(Batch { columns: vec![Values::Real(vec![Some(0.5)])] });
        assert_eq!((rows.row_count(), rows.columns[0].kind()), (1, Kind::Real));
    }
}
