//! The events of a piece of a trace, and the tables of names that one piece after the other has.

use std::sync::{Mutex, PoisonError};

use perfdb_doctor::Collector;

use super::taken::Numbers;
use crate::columns::{Adopted, Columns};
use crate::names::Names;

/// The events of a piece of a trace.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) columns: Columns,
    pub(super) doctor: Collector,
    pub(super) numbers: Numbers,
    /// Whether a formula says what an operator must do, by the number of its name; asked once per name.
    pub(super) has_formula: Vec<Option<bool>>,
    adopted: Adopted,
    has_begun: bool,
}

/// Rows of each kind that a piece has room for from the start: lists that grow are copied.
const ROOM: usize = 1024;

/// Names of tables that are kept: where there are more, they do not come again.
const MOST: usize = 1 << 14;

impl Piece {
    /// Takes tables before the first event.
    #[inline]
    pub(super) fn begin(&mut self, tables: &Tables) {
        if !self.has_begun {
            self.take(tables);
        }
    }

    #[inline(never)]
    fn take(&mut self, tables: &Tables) {
        self.has_begun = true;
        let Columns { kernels, launches, operators, calls, lone_frames, .. } = &mut self.columns;
        kernels.reserve_exact(ROOM);
        launches.reserve_exact(ROOM);
        operators.reserve_exact(ROOM);
        calls.reserve_exact(ROOM / 4);
        lone_frames.reserve_exact(ROOM);
        let Some(table) = tables.0.lock().unwrap_or_else(PoisonError::into_inner).pop() else { return };
        let Table { names, arguments, has_formula, adopted } = table;
        (self.columns.names, self.columns.arguments) = (names, arguments);
        (self.has_formula, self.adopted) = (has_formula, adopted);
    }
}

/// Tables of pieces that have been put together: as the same names come again, they are neither kept nor looked up once per piece.
///
/// A table has the names of its earlier pieces, which all stand in front of those to come: names are numbered in the order of the
/// file, whichever piece has which table.
#[derive(Debug, Default)]
pub(super) struct Tables(Mutex<Vec<Table>>);

#[derive(Debug)]
struct Table {
    names: Names,
    arguments: Names,
    has_formula: Vec<Option<bool>>,
    adopted: Adopted,
}

impl Tables {
    /// Puts the rows of a piece behind those of the trace, and takes its tables back; what the trace doctor has of it.
    pub(super) fn append(&self, columns: &mut Columns, piece: Piece) -> Collector {
        let Piece { columns: mut rows, doctor, has_formula, mut adopted, .. } = piece;
        columns.append(&mut rows, &mut adopted);
        let Columns { names, arguments, .. } = rows;
        if names.len() + arguments.len() > MOST {
            return doctor;
        }
        let table = Table { names, arguments, has_formula, adopted };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(table);
        doctor
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Piece, Tables};
    use crate::columns::Columns;

    fn piece<'a>(tables: &Tables, names: impl IntoIterator<Item = &'a str>) -> Piece {
        let mut piece = Piece::default();
        piece.begin(tables);
        for name in names {
            piece.columns.names.text(name);
        }
        piece
    }

    #[test]
    fn names_are_numbered_in_the_order_of_the_file_whoever_has_which_table() {
        let (tables, mut columns) = (Tables::default(), Columns::default());
        // Two pieces are under way at a time.
        let [first, second] = [["a", "b"], ["c", "a"]].map(|names| piece(&tables, names));
        tables.append(&mut columns, first);
        let third = piece(&tables, ["d", "b"]);
        tables.append(&mut columns, second);
        let fourth = piece(&tables, ["e", "c"]);
        for piece in [third, fourth] {
            tables.append(&mut columns, piece);
        }
        let names: Vec<&str> = (0..columns.names.len() as u32).map(|name| columns.names.get(name)).collect();
        assert_eq!(names, ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn a_table_of_names_that_do_not_come_again_is_not_kept() {
        let (tables, mut columns) = (Tables::default(), Columns::default());
        let names: Vec<String> = (0..=MOST).map(|name| name.to_string()).collect();
        tables.append(&mut columns, piece(&tables, names.iter().map(String::as_str)));
        assert_eq!((piece(&tables, []).columns.names.len(), columns.names.len()), (0, MOST + 1));
    }
}
