//! One record of a table as the operators see it: cells, slots, types.

mod slot;
mod slots;

pub(crate) use slot::dtype_of_cell;
pub use slot::{Recorded, Slot};
pub(crate) use slots::Present;
pub use slots::Slots;

use std::cell::OnceCell;

use crate::kernels::shape::{Shape, elements};

use crate::case::RecordedOutput;
use crate::refusal::{Refusal, bad_shape};

/// Column names that row rules read.
pub mod column {
    /// Shapes of the inputs, one slot per tensor.
    pub(crate) const INPUT_SHAPES: &str = "Input Shapes";
    /// Their types.
    pub(crate) const INPUT_DATA_TYPES: &str = "Input Data Types";
    /// Their formats.
    pub(crate) const INPUT_FORMATS: &str = "Input Formats";
    /// Shapes of the recorded outputs.
    pub(crate) const OUTPUT_SHAPES: &str = "Output Shapes";
    /// Their types.
    pub(crate) const OUTPUT_DATA_TYPES: &str = "Output Data Types";
    /// Their formats.
    pub(crate) const OUTPUT_FORMATS: &str = "Output Formats";
    /// All of them, in the order in which profilers write them.
    pub(crate) const TENSORS: [&str; 6] =
        [INPUT_SHAPES, INPUT_DATA_TYPES, INPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_DATA_TYPES, OUTPUT_FORMATS];
    /// All but the last.
    pub(crate) const BUT_OUTPUT_FORMATS: &[&str] = TENSORS.split_at(5).0;
}

/// A record with its header. Cells are the text of the CSV, unquoted, otherwise as recorded.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    header: &'a [String],
    cells: &'a [&'a str],
    has_empty_words: bool,
    /// Read once, although operators ask for them as well as the plan.
    outputs: OnceCell<Result<Slots<'a>, Refusal>>,
}

/// What some profilers write into slots that are empty, in any case.
const EMPTY_WORDS: [&str; 5] = ["UNDEFINED", "DT_UNDEFINED", "N/A", "NA", "NULL"];

impl<'a> Row<'a> {
    /// A row of these cells under this header; missing cells at the end are empty.
    pub fn new(header: &'a [String], cells: &'a [&'a str]) -> Row<'a> {
        Row { header, cells, has_empty_words: false, outputs: OnceCell::new() }
    }

    /// The same row, in which words like `UNDEFINED` and `N/A` are empty slots.
    pub(crate) fn with_empty_words(&self) -> Row<'a> {
        if self.has_empty_words {
            return self.clone();
        }
        Row { has_empty_words: true, ..Row::new(self.header, self.cells) }
    }

    /// The cell's text, empty where the column or the cell is missing.
    pub fn cell(&self, column: &str) -> &'a str {
        let at = self.header.iter().position(|name| name == column);
        at.and_then(|at| self.cells.get(at)).copied().unwrap_or_default()
    }

    /// Parts of a metadata cell: whitespace, then all double quotes at both ends are cut, then it is split at `;`.
    pub(crate) fn slots_of(&self, column: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let has_empty_words = self.has_empty_words;
        let is_empty = |slot: &str| EMPTY_WORDS.iter().any(|word| slot.eq_ignore_ascii_case(word));
        split_slots(self.cell(column)).map(move |slot| if has_empty_words && is_empty(slot) { "" } else { slot })
    }

    /// The inputs, all slots, empty ones holding their place. Refuses slots that are not shapes, and zeros in shapes.
    pub fn inputs(&self) -> Result<Slots<'a>, Refusal> {
        self.inputs_shaped_by(column::INPUT_SHAPES)
    }

    /// [`inputs`](Row::inputs) with the shapes of another column.
    pub(crate) fn inputs_shaped_by(&self, shapes: &str) -> Result<Slots<'a>, Refusal> {
        let slots = self.read_slots("input", [shapes, column::INPUT_DATA_TYPES, column::INPUT_FORMATS])?;
        match slots.iter().find(|slot| slot.shape.as_ref().is_some_and(|shape| shape.contains(&0))) {
            Some(slot) => Err(bad_shape(format!("input {} has a dimension of size 0", slot.position))),
            None => Ok(slots),
        }
    }

    /// The recorded outputs, all slots, empty ones holding their place. Zeros are allowed.
    pub fn outputs(&self) -> Result<&Slots<'a>, Refusal> {
        const COLUMNS: [&str; 3] = [column::OUTPUT_SHAPES, column::OUTPUT_DATA_TYPES, column::OUTPUT_FORMATS];
        self.outputs.get_or_init(|| self.read_slots("output", COLUMNS)).as_ref().map_err(Refusal::clone)
    }

    fn read_slots(&self, side: &'static str, columns: [&str; 3]) -> Result<Slots<'a>, Refusal> {
        let [shapes, dtypes, formats] = columns.map(|column| self.slots_of(column));
        Slots::read(side, shapes, dtypes, formats)
    }

    /// The recorded outputs as a case carries them; trailing empty ones are left out.
    pub fn recorded_outputs(&self) -> Result<Vec<RecordedOutput>, Refusal> {
        let slots = self.outputs()?;
        let count = slots.iter().rposition(|slot| slot.shape.is_some()).map_or(0, |last| last + 1);
        let recorded = |slot: &Slot<'_>| RecordedOutput {
            shape: slot.shape.clone(),
            dtype: slot.shape.as_ref().and_then(|_| slot.recorded_dtype()),
        };
        Ok(slots.iter().take(count).map(recorded).collect())
    }
}

/// Splits a metadata cell into its parts.
pub(crate) fn split_slots(cell: &str) -> impl Iterator<Item = &str> {
    let mut cell = trimmed(cell);
    while let Some(rest) = cell.strip_prefix('"') {
        cell = rest;
    }
    while let Some(rest) = cell.strip_suffix('"') {
        cell = rest;
    }
    cell.split(';').map(trimmed)
}

/// The text without whitespace at both ends; most cells have none, as their first and last bytes show.
fn trimmed(text: &str) -> &str {
    match text.as_bytes() {
        [] => text,
        [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => text,
        _ => text.trim(),
    }
}

/// A shape as all tools write it, digits and commas alone, of few elements; `None` for what needs a closer look.
fn plain_shape(text: &str) -> Option<Shape> {
    let (mut shape, mut size, mut product) = (Shape::new(), 0_u32, 1_u64);
    for byte in text.bytes().chain([b',']) {
        match byte {
            b'0'..=b'9' => size = size.checked_mul(10)?.checked_add(u32::from(byte - b'0'))?,
            b',' if size > 0 => {
                product = product.checked_mul(size.into()).filter(|&product| product <= u64::from(u32::MAX))?;
                shape.push(size as usize);
                size = 0;
            }
            _ => return None,
        }
    }
    Some(shape)
}

/// A shape slot: integers separated by `,`, empty parts ignored; an empty slot is absent.
pub(crate) fn parse_shape(text: &str) -> Result<Option<Shape>, &'static str> {
    if text.is_empty() {
        return Ok(None);
    }
    if let Some(shape) = plain_shape(text) {
        return Ok(Some(shape));
    }
    let mut shape = Shape::new();
    for part in text.split(',').map(trimmed).filter(|part| !part.is_empty()) {
        if !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("is no shape");
        }
        shape.push(part.parse().map_err(|_| "has a dimension that is too large")?);
    }
    if shape.is_empty() {
        return Ok(None);
    }
    // 16 bytes per element leave room for every type and for sums of a few tensors.
    if elements(&shape) > usize::MAX / 16 {
        return Err("has too many elements");
    }
    Ok(Some(shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Format;
    use crate::refusal::RefusalKind;
    use perfdb_store::dtype::DType;
    use proptest::prelude::*;

    fn header() -> Vec<String> {
        ["Input Shapes", "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types"]
            .map(str::to_owned)
            .to_vec()
    }

    #[test]
    fn shapes_and_their_faults() {
        assert_eq!(parse_shape("102,"), Ok(Some([102].into())));
        assert_eq!(parse_shape(""), Ok(None));
        assert_eq!(parse_shape(" 2 , 3".trim()), Ok(Some([2, 3].into())));
        for text in ["N/A", "2.5", "-1", "2,x", "+3", "()", "2 3"] {
            assert_eq!(parse_shape(text), Err("is no shape"), "{text}");
        }
        assert!(parse_shape("99999999999999999999").is_err());
        assert!(parse_shape("4294967296,4294967296").is_err());
    }

    proptest! {
        /// An empty part changes nothing, but has the shape read part by part.
        #[test]
        fn plain_shapes_are_read_like_all_others(text in "[0-9]{0,6}(,[0-9]{1,5}){0,6}") {
            prop_assert_eq!(parse_shape(&text), parse_shape(&format!("{text},")));
        }
    }

    #[test]
    fn slots_are_paired_by_position() {
        let header = header();
        let cells = ["\"4,5;;6\"", "DT_BF16;DT_UNDEFINED;INT32", "ND;NULL;FRACTAL_NZ", "4;;", "DT_BF16;;"];
        let row = Row::new(&header, &cells);
        let inputs = row.inputs().expect("shapes");
        assert_eq!(inputs.count(), 3);
        let present = inputs.present();
        let [first, second] = present.exactly().expect("two");
        assert_eq!((first.position, first.dtype()), (0, Ok(DType::BFloat16)));
        assert_eq!((second.position, second.dtype(), second.format()), (2, Ok(DType::Int32), Format::FractalNz));
        assert_eq!(second.logical().map_err(|refusal| refusal.kind), Err(RefusalKind::BadRank));
        assert_eq!(present.exactly::<3>().map_err(|refusal| refusal.kind).err(), Some(RefusalKind::InputCount));
        let recorded = row.recorded_outputs().expect("shapes");
        assert_eq!(recorded, [RecordedOutput { shape: Some([4].into()), dtype: Some(DType::BFloat16) }]);
    }

    #[test]
    fn zero_is_refused_in_inputs_alone() {
        let header = header();
        let cells = ["4,0", "FLOAT", "ND", "4,0", "FLOAT"];
        let row = Row::new(&header, &cells);
        assert_eq!(row.inputs().map_err(|refusal| refusal.kind).err(), Some(RefusalKind::BadShape));
        assert!(row.outputs().is_ok());
    }
}
