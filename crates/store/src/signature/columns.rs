//! Where a table keeps the cells that signatures are made of.

use super::Cells;
use crate::columns::{EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, OUTPUT_SHAPES, OUTPUT_TYPES};
use crate::table::{Row, Table};
use std::borrow::Cow;

/// Where a table keeps the cells of a signature.
#[derive(Debug, Clone, Copy)]
pub struct SignatureColumns([Option<usize>; 6]);

impl SignatureColumns {
    /// Looks the columns up; one that is missing counts as empty.
    pub fn of(table: &Table) -> Self {
        SignatureColumns::find(|name| table.column(name))
    }

    /// The columns, where `position` gives the position of a name.
    pub(crate) fn find(position: impl Fn(&str) -> Option<usize>) -> Self {
        let names = [INPUT_SHAPES, INPUT_TYPES, INPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES, EP_SIZE];
        SignatureColumns(names.map(position))
    }

    /// The cells of a row.
    pub fn cells<'t>(&self, row: Row<'t>) -> Cells<'t> {
        let cell = |at: usize| self.0[at].map_or("", |column| row.cell(column));
        Cells {
            input_shapes: cell(0),
            input_types: cell(1),
            input_formats: cell(2),
            output_shapes: cell(3),
            output_types: cell(4),
            ep_size: cell(5),
        }
    }

    /// The texts of a row's cells, where `cell` gives the text of a column.
    pub(crate) fn texts<'t>(&self, cell: impl Fn(usize) -> Cow<'t, str>) -> CellTexts<'t> {
        CellTexts(self.0.map(|column| column.map_or(Cow::Borrowed(""), &cell)))
    }
}

/// The texts behind [`Cells`], where some had to be decoded.
#[derive(Debug)]
pub(crate) struct CellTexts<'t>([Cow<'t, str>; 6]);

impl CellTexts<'_> {
    pub(crate) fn cells(&self) -> Cells<'_> {
        let [input_shapes, input_types, input_formats, output_shapes, output_types, ep_size] = &self.0;
        Cells { input_shapes, input_types, input_formats, output_shapes, output_types, ep_size }
    }
}
