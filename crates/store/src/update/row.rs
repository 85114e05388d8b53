//! One row on its way from the old table to the new one.

use super::layout::{Layout, Source};
use crate::table::FileRow;
use perfdb_pycompat::csv_text::push_cell_bytes;
use perfdb_trace::records::{Cell, Form};
use std::borrow::Cow;

/// Where the cells of a row come from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'r> {
    /// The file.
    File(FileRow<'r>),
    /// A sample that became a row: its cells in the columns of the new table.
    Added(&'r [String]),
}

/// A row with the new texts of some of its cells.
#[derive(Debug)]
pub(super) struct Row<'r> {
    pub(super) layout: &'r Layout,
    pub(super) origin: Origin<'r>,
    pub(super) new: &'r mut NewCells,
}

/// New texts of some cells of one row after the other.
#[derive(Debug, Default)]
pub(super) struct NewCells {
    texts: Vec<String>,
    is_new: Vec<bool>,
    any: bool,
}

impl NewCells {
    /// None, for rows of this many columns.
    pub(super) fn new(width: usize) -> NewCells {
        NewCells { texts: vec![String::new(); width], is_new: vec![false; width], any: false }
    }

    fn clear(&mut self) {
        if self.any {
            self.is_new.fill(false);
            self.any = false;
        }
    }
}

impl<'r> Row<'r> {
    /// The row as it is, without what the one before it got.
    pub(super) fn start(layout: &'r Layout, origin: Origin<'r>, new: &'r mut NewCells) -> Row<'r> {
        new.clear();
        Row { layout, origin, new }
    }

    /// The cell before any change.
    pub(super) fn old(&self, column: usize) -> Cow<'r, str> {
        match self.origin {
            Origin::File(row) => super::assignment::read_cell(self.layout, row, column),
            Origin::Added(cells) => Cow::Borrowed(&cells[column]),
        }
    }

    /// The cell as it is now.
    pub(super) fn cell(&self, column: usize) -> Cow<'_, str> {
        if self.new.is_new[column] { Cow::Borrowed(&self.new.texts[column]) } else { self.old(column) }
    }

    /// Gives a cell a new text.
    pub(super) fn set(&mut self, column: usize, text: &str) {
        if self.cell(column) != text {
            self.new.texts[column].clear();
            self.new.texts[column].push_str(text);
            self.new.is_new[column] = true;
            self.new.any = true;
        }
    }

    /// The columns whose cells are other ones than before.
    pub(super) fn changed(&self) -> impl Iterator<Item = usize> + '_ {
        let columns = if self.new.any { 0..self.layout.names.len() } else { 0..0 };
        columns.filter(|&column| self.new.is_new[column] && self.old(column) != self.new.texts[column])
    }

    pub(super) fn has_duration(&self) -> bool {
        self.layout.durations.any_valid_of(|column| self.cell(column))
    }

    /// The case for people.
    pub(super) fn text_form(&self) -> String {
        self.layout.signature.texts(|column| self.cell(column)).cells().text_form()
    }

    /// Appends the row's record. Unquoted cells that stand side by side in the file are taken together.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        let width = self.layout.names.len();
        let mut at = 0;
        while at < width {
            if at > 0 {
                out.push(b',');
            }
            at = match self.run(at) {
                Some((text, next)) => {
                    out.extend_from_slice(text);
                    next
                }
                None => {
                    push_cell_bytes(out, self.cell(at).as_bytes());
                    at + 1
                }
            };
        }
        if width == 1 && out.len() == begin {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(b"\r\n");
    }

    /// The bytes of several columns from `at` on that stand in the file as they are written, and the column behind them.
    fn run(&self, at: usize) -> Option<(&'r [u8], usize)> {
        let Origin::File(row) = self.origin else { return None };
        let text = row.bytes();
        let first = self.plain_place(row, at)?;
        let (mut end, mut next) = (first.end, at + 1);
        while let Some(cell) = self.plain_place(row, next)
            && cell.start == end + 1
            && text[end] == b','
        {
            (end, next) = (cell.end, next + 1);
        }
        let run = &text[first.start..end];
        // Of all that needs quoting, a file's unquoted cells can only have quotes.
        (next > at + 1 && memchr::memchr(b'"', run).is_none()).then_some((run, next))
    }

    /// Where the file has a column's unchanged cell, if its bytes are its text.
    fn plain_place(&self, row: FileRow<'r>, column: usize) -> Option<Cell> {
        match self.layout.sources.get(column)? {
            Source::Read(from) if !self.new.is_new[column] => row.place(*from).filter(|cell| cell.form == Form::Plain),
            _ => None,
        }
    }
}
