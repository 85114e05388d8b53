//! Rows that are the same case as an earlier one.

use perfdb_store::columns::{EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, OUTPUT_SHAPES, OUTPUT_TYPES};
use perfdb_store::signature::{Cells, Rules, Signature, Variant};
use perfdb_store::table::StreamedRow;
use rustc_hash::{FxHashMap, FxHashSet};

use super::head::Head;
use super::row_text::{RowCells, RowText};
use crate::candidate::Candidate;
use crate::slots::Slots;

/// The signatures of a table, of its own rows and of those that were added.
///
/// A signature is kept as its shape parts and a number for its other parts, of which a table has few. The new rows of most tables differ
/// in their shapes alone; their other parts follow from which slots are empty, so they are worked out once for each such pattern.
#[derive(Debug)]
pub(crate) struct Signatures<'a> {
    rules: Rules,
    text: &'a RowText,
    /// Where a row has the cells that count, in the order of [`CELLS`].
    columns: [Option<usize>; 6],
    new_rows_differ_in_shapes_alone: bool,
    attributes: FxHashMap<String, u32>,
    attributes_by_pattern: FxHashMap<Pattern, u32>,
    seen: FxHashSet<Box<[u8]>>,
    key: Vec<u8>,
}

const CELLS: [&str; 6] = [INPUT_SHAPES, INPUT_TYPES, INPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES, EP_SIZE];

/// What the types and formats in a signature depend on, the cells being the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pattern {
    inputs: Presence,
    outputs: Presence,
    is_product: bool,
}

/// Which slots are not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Presence {
    slots: usize,
    present: u64,
}

impl Presence {
    /// `None` for more slots than any kernel has.
    fn of(slots: &Slots) -> Option<Self> {
        let mut present = 0;
        for (position, slot) in slots.iter().enumerate() {
            present |= u64::from(!slot.is_empty()).checked_shl(u32::try_from(position).ok()?)?;
        }
        Some(Self { slots: slots.len(), present })
    }
}

impl<'a> Signatures<'a> {
    pub(crate) fn new(kernel: &str, head: &Head, text: &'a RowText) -> Self {
        let rules = Rules::new(kernel, Variant::ShapeGrid);
        let columns = CELLS.map(|name| head.column(name));
        let cells_are_constant = columns.into_iter().flatten().all(|column| !text.is_varying(column));
        Self {
            rules,
            text,
            columns,
            new_rows_differ_in_shapes_alone: rules.takes_all_shapes() && cells_are_constant,
            attributes: FxHashMap::default(),
            attributes_by_pattern: FxHashMap::default(),
            seen: FxHashSet::default(),
            key: Vec::new(),
        }
    }

    /// Notes a row of the file.
    pub(crate) fn add_existing(&mut self, row: &StreamedRow, existing_columns: usize) {
        let cells = self.columns.map(|column| match column {
            Some(column) if column < existing_columns => row.cell(column),
            _ => "",
        });
        self.set_key(&self.rules.signature(&named(cells)));
        self.insert_key();
    }

    /// Notes a new row; `false` if there was one like it.
    pub(crate) fn add(&mut self, candidate: &Candidate, row: RowCells<'_>) -> bool {
        if self.set_key_from_shapes(candidate, row).is_none() {
            self.set_key(&self.signature(row));
        }
        self.insert_key()
    }

    fn signature(&self, row: RowCells<'_>) -> Signature {
        // Quotes around slots make no difference to a signature.
        let cells = self.columns.map(|column| self.text.cell(column, row));
        self.rules.signature(&named(cells.each_ref().map(|cell| cell.as_ref())))
    }

    fn insert_key(&mut self) -> bool {
        // Looked up first, so that a repeated row costs no memory.
        !self.seen.contains(self.key.as_slice()) && self.seen.insert(self.key.as_slice().into())
    }

    /// The key of a signature: the number of its attributes, and its shape parts.
    fn set_key(&mut self, signature: &Signature) {
        let attributes = self.number_of_attributes(signature);
        self.key.clear();
        self.key.extend_from_slice(&attributes.to_ne_bytes());
        for (index, part) in signature.parts().enumerate().filter(|(index, _)| is_shape_part(*index)) {
            self.key.extend_from_slice(part.as_bytes());
            self.key.push(u8::from(index == 0));
        }
    }

    fn number_of_attributes(&mut self, signature: &Signature) -> u32 {
        let mut attributes = String::new();
        for (_, part) in signature.parts().enumerate().filter(|(index, _)| !is_shape_part(*index)) {
            attributes.push_str(part);
            attributes.push('\n');
        }
        let next = u32::try_from(self.attributes.len()).unwrap_or(u32::MAX);
        *self.attributes.entry(attributes).or_insert(next)
    }

    /// The same key, from the shapes of a new row where that is possible.
    fn set_key_from_shapes(&mut self, candidate: &Candidate, row: RowCells<'_>) -> Option<()> {
        if !self.new_rows_differ_in_shapes_alone {
            return None;
        }
        let outputs = self.text.cell(self.columns[3], row);
        let product = if outputs.is_empty() { None } else { self.product(candidate) };
        let pattern = Pattern {
            inputs: Presence::of(&candidate.inputs)?,
            outputs: Presence::of(&candidate.outputs)?,
            is_product: product.is_some(),
        };
        let attributes = match self.attributes_by_pattern.get(&pattern) {
            Some(attributes) => *attributes,
            None => {
                let attributes = self.number_of_attributes(&self.signature(row));
                self.attributes_by_pattern.insert(pattern, attributes);
                attributes
            }
        };
        self.key.clear();
        self.key.extend_from_slice(&attributes.to_ne_bytes());
        match product {
            Some([rows, inner, columns]) => {
                let mut digits = itoa::Buffer::new();
                for (number, end) in
                    [(rows, b','), (inner, b';'), (columns, b','), (inner, 1), (rows, b','), (columns, 0)]
                {
                    self.key.extend_from_slice(digits.format(number).as_bytes());
                    self.key.push(end);
                }
            }
            None => {
                for (slots, end) in [(row.inputs, 1), (outputs.as_ref(), 0)] {
                    // Empty slots at the end do not count.
                    self.key.extend_from_slice(slots.trim_end_matches(';').as_bytes());
                    self.key.push(end);
                }
            }
        }
        Some(())
    }

    fn product(&self, candidate: &Candidate) -> Option<[i64; 3]> {
        let matrix = |slot: Option<&[i128]>| match slot? {
            &[rows, columns] => Some([i64::try_from(rows).ok()?, i64::try_from(columns).ok()?]),
            _ => None,
        };
        let mut inputs = candidate.inputs.iter();
        let (a, b) = (matrix(inputs.next())?, matrix(inputs.next())?);
        self.rules.product(a, b, matrix(candidate.outputs.iter().next())?)
    }
}

/// Input and output shapes; the others are types, formats and the expert-parallel size.
fn is_shape_part(index: usize) -> bool {
    matches!(index, 0 | 3)
}

fn named([input_shapes, input_types, input_formats, output_shapes, output_types, ep_size]: [&str; 6]) -> Cells<'_> {
    Cells { input_shapes, input_types, input_formats, output_shapes, output_types, ep_size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Semantics;
    use proptest::prelude::*;

    fn slots() -> impl Strategy<Value = Slots> {
        let dimension = prop_oneof![4 => 1_i128..4, 1 => -2_i128..2, 1 => Just(i128::MAX)];
        let slot = prop::collection::vec(dimension, 0..3);
        prop::collection::vec(slot, 0..4).prop_map(|slots| slots.iter().map(Vec::as_slice).collect())
    }

    fn attribute() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["", "A", "B", "NULL"]), 0..5)
            .prop_map(|entries| entries.join(";"))
    }

    proptest! {
        /// What is worked out from shapes must be the key of the store's own signature.
        #[test]
        fn keys_from_shapes_are_those_of_signatures(
            kernel in prop::sample::select(vec!["MatMulV2", "MatMulV3_run", "Add", "DispatchFFNCombine", "Index", "Slice"]),
            cells in prop::collection::vec(attribute(), 3),
            has_outputs: bool,
            rows in prop::collection::vec((slots(), slots()), 1..6),
        ) {
            let mut columns = vec![INPUT_SHAPES, INPUT_TYPES, INPUT_FORMATS, OUTPUT_TYPES];
            columns.extend(has_outputs.then_some(OUTPUT_SHAPES));
            let template = [vec!["1".to_owned()], cells, vec!["1".to_owned()]].concat();
            let head = Head { existing_columns: columns.len(), columns: columns.into_iter().map(str::to_owned).collect(), template };
            let text = RowText::new(&head, &[], Semantics::Upstream);
            let mut signatures = Signatures::new(kernel, &head, &text);
            for (inputs, outputs) in rows {
                let candidate = Candidate { inputs, outputs, ..Candidate::default() };
                let (mut input_text, mut output_text) = (String::new(), String::new());
                candidate.inputs.push_text(&mut input_text);
                candidate.outputs.push_text(&mut output_text);
                let row = RowCells { inputs: &input_text, outputs: &output_text, own: &[] };
                let possible = signatures.set_key_from_shapes(&candidate, row).is_some();
                prop_assert_eq!(possible, !matches!(kernel, "Index" | "Slice"));
                let key = signatures.key.clone();
                signatures.set_key(&signatures.signature(row));
                if possible {
                    prop_assert_eq!(&signatures.key, &key, "{} {}", input_text, output_text);
                }
            }
        }
    }
}
