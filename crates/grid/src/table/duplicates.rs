//! Rows that are the same case as an earlier one.

use perfdb_store::columns::{EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, OUTPUT_SHAPES, OUTPUT_TYPES};
use perfdb_store::signature::{Cells, Rules, Signature, Variant};
use perfdb_store::table::StreamedRow;
use rustc_hash::FxHashSet;

use super::head::Head;
use super::row_text::{RowCells, RowText};

/// The signatures of a table, of its own rows and of those that were added.
#[derive(Debug)]
pub(crate) struct Signatures {
    rules: Rules,
    /// Where a row has the cells that count, in the order of [`CELLS`].
    columns: [Option<usize>; 6],
    seen: FxHashSet<Signature>,
}

const CELLS: [&str; 6] = [INPUT_SHAPES, INPUT_TYPES, INPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES, EP_SIZE];

impl Signatures {
    pub(crate) fn new(kernel: &str, head: &Head) -> Self {
        Self {
            rules: Rules::new(kernel, Variant::ShapeGrid),
            columns: CELLS.map(|name| head.column(name)),
            seen: FxHashSet::default(),
        }
    }

    /// Notes a row of the file.
    pub(crate) fn add_existing(&mut self, row: &StreamedRow, existing_columns: usize) {
        let cells = self.columns.map(|column| match column {
            Some(column) if column < existing_columns => row.cell(column),
            _ => "",
        });
        self.insert(cells);
    }

    /// Notes a new row; `false` if there was one like it.
    pub(crate) fn add(&mut self, text: &RowText, row: RowCells<'_>) -> bool {
        // Quotes around slots make no difference to a signature.
        self.insert(self.columns.map(|column| text.cell(column, row)))
    }

    fn insert(
        &mut self,
        [input_shapes, input_types, input_formats, output_shapes, output_types, ep_size]: [&str; 6],
    ) -> bool {
        let cells = Cells { input_shapes, input_types, input_formats, output_shapes, output_types, ep_size };
        self.seen.insert(self.rules.signature(&cells))
    }
}
