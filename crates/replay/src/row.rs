//! One record of a table as the operators see it: cells, slots, types.

mod slot;

pub use slot::{Recorded, Slot};

use std::cell::OnceCell;
use std::rc::Rc;

use crate::case::RecordedOutput;
use crate::refusal::{Refusal, bad_shape, input_count, metadata_length, output_count};
use crate::shape::{Shape, elements};

/// Column names that row rules read.
pub mod column {
    /// Shapes of the inputs, one slot per tensor.
    pub const INPUT_SHAPES: &str = "Input Shapes";
    /// Their types.
    pub const INPUT_DATA_TYPES: &str = "Input Data Types";
    /// Their formats.
    pub const INPUT_FORMATS: &str = "Input Formats";
    /// Shapes of the recorded outputs.
    pub const OUTPUT_SHAPES: &str = "Output Shapes";
    /// Their types.
    pub const OUTPUT_DATA_TYPES: &str = "Output Data Types";
    /// Their formats.
    pub const OUTPUT_FORMATS: &str = "Output Formats";
}

/// A record with its header. Cells are the text of the CSV, unquoted, otherwise as recorded.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    header: &'a [String],
    cells: &'a [&'a str],
    has_empty_words: bool,
    /// Read once, although operators ask for them as well as the plan.
    outputs: OnceCell<Result<Rc<Slots<'a>>, Refusal>>,
}

/// What some profilers write into slots that are empty, in any case.
const EMPTY_WORDS: [&str; 5] = ["UNDEFINED", "DT_UNDEFINED", "N/A", "NA", "NULL"];

impl<'a> Row<'a> {
    /// A row of these cells under this header; missing cells at the end are empty.
    pub fn new(header: &'a [String], cells: &'a [&'a str]) -> Row<'a> {
        Row { header, cells, has_empty_words: false, outputs: OnceCell::new() }
    }

    /// The same row, in which words like `UNDEFINED` and `N/A` are empty slots.
    pub fn with_empty_words(&self) -> Row<'a> {
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

    /// Parts of a metadata cell: blanks, then all double quotes at both ends are cut, then it is split at `;`.
    pub fn slots_of(&self, column: &str) -> Vec<&'a str> {
        let mut slots = split_slots(self.cell(column));
        if self.has_empty_words {
            let is_empty = |slot: &str| EMPTY_WORDS.iter().any(|word| slot.eq_ignore_ascii_case(word));
            slots.iter_mut().filter(|slot| is_empty(slot)).for_each(|slot| *slot = "");
        }
        slots
    }

    /// The inputs, all slots, empty ones holding their place. Refuses slots that are no shape, and zeros in shapes.
    pub fn inputs(&self) -> Result<Slots<'a>, Refusal> {
        self.inputs_shaped_by(column::INPUT_SHAPES)
    }

    /// [`inputs`](Row::inputs) with the shapes of another column.
    pub fn inputs_shaped_by(&self, shapes: &str) -> Result<Slots<'a>, Refusal> {
        let shapes = parse_shapes(&self.slots_of(shapes), "input")?;
        for (position, shape) in shapes.iter().enumerate() {
            if shape.as_ref().is_some_and(|shape| shape.contains(&0)) {
                return Err(bad_shape(format!("input {position} has a dimension of size 0")));
            }
        }
        Ok(Slots {
            side: "input",
            shapes,
            dtypes: self.slots_of(column::INPUT_DATA_TYPES),
            formats: self.slots_of(column::INPUT_FORMATS),
        })
    }

    /// The recorded outputs, all slots, empty ones holding their place. Zeros are allowed.
    pub fn outputs(&self) -> Result<Rc<Slots<'a>>, Refusal> {
        let read = || {
            Ok(Rc::new(Slots {
                side: "output",
                shapes: parse_shapes(&self.slots_of(column::OUTPUT_SHAPES), "output")?,
                dtypes: self.slots_of(column::OUTPUT_DATA_TYPES),
                formats: self.slots_of(column::OUTPUT_FORMATS),
            }))
        };
        self.outputs.get_or_init(read).clone()
    }

    /// The recorded outputs as a case carries them; trailing empty ones are left out.
    pub fn recorded_outputs(&self) -> Result<Vec<RecordedOutput>, Refusal> {
        let slots = self.outputs()?;
        let mut outputs: Vec<_> = (0..slots.shapes.len())
            .map(|position| {
                let slot = slots.get(position);
                let dtype = slot.shape.is_some().then(|| slot.recorded_dtype()).flatten();
                RecordedOutput { shape: slot.shape, dtype }
            })
            .collect();
        while outputs.last().is_some_and(|output| output.shape.is_none()) {
            outputs.pop();
        }
        Ok(outputs)
    }
}

/// Splits a metadata cell into its parts.
pub fn split_slots(cell: &str) -> Vec<&str> {
    let mut cell = trimmed(cell);
    while let Some(rest) = cell.strip_prefix('"') {
        cell = rest;
    }
    while let Some(rest) = cell.strip_suffix('"') {
        cell = rest;
    }
    cell.split(';').map(trimmed).collect()
}

/// The text without blanks at both ends; most texts have none, which their first and last bytes tell.
fn trimmed(text: &str) -> &str {
    match text.as_bytes() {
        [] => text,
        [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => text,
        _ => text.trim(),
    }
}

fn parse_shapes(slots: &[&str], side: &str) -> Result<Vec<Option<Shape>>, Refusal> {
    slots
        .iter()
        .enumerate()
        .map(|(position, text)| {
            parse_shape(text).map_err(|problem| bad_shape(format!("{side} {position}: {text:?} {problem}")))
        })
        .collect()
}

/// A shape slot: integers separated by `,`, empty parts ignored; an empty slot is absent.
pub fn parse_shape(text: &str) -> Result<Option<Shape>, &'static str> {
    if text.is_empty() {
        return Ok(None);
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

/// The slots of one side of a row.
#[derive(Clone, Debug)]
pub struct Slots<'a> {
    side: &'static str,
    shapes: Vec<Option<Shape>>,
    dtypes: Vec<&'a str>,
    formats: Vec<&'a str>,
}

impl<'a> Slots<'a> {
    /// Number of shape slots, empty ones included.
    pub fn count(&self) -> usize {
        self.shapes.len()
    }

    /// Numbers of slots in the cells for shapes, types and formats.
    pub fn lengths(&self) -> [usize; 3] {
        [self.shapes.len(), self.dtypes.len(), self.formats.len()]
    }

    /// Insists on exactly `count` slots in all three cells (`metadata-length`).
    pub fn exactly_in_all_lists(&self, count: usize) -> Result<(), Refusal> {
        if self.lengths() == [count; 3] {
            return Ok(());
        }
        let [shapes, dtypes, formats] = self.lengths();
        Err(metadata_length(format!(
            "{} slots: {shapes} shapes, {dtypes} types, {formats} formats, expected {count} each",
            self.side
        )))
    }

    /// The slot at that position; beyond the end it is empty.
    pub fn get(&self, position: usize) -> Slot<'a> {
        Slot {
            position,
            shape: self.shapes.get(position).cloned().flatten(),
            side: self.side,
            dtype: self.dtypes.get(position).copied().unwrap_or_default(),
            format: self.formats.get(position).copied(),
        }
    }

    /// Refuses types and formats behind the last shape slot (`metadata-length`); empty ones are none.
    pub fn no_further_description(&self) -> Result<(), Refusal> {
        for (what, list) in [("types", &self.dtypes), ("formats", &self.formats)] {
            let used = list.iter().rposition(|text| !text.is_empty()).map_or(0, |last| last + 1);
            if used > self.count() {
                return Err(metadata_length(format!("{used} {what} for {} {}s", self.count(), self.side)));
            }
        }
        Ok(())
    }

    /// The first shape that is there.
    pub fn first_shape(&self) -> Option<Shape> {
        self.shapes.iter().flatten().next().cloned()
    }

    /// Refuses lists in which one of the first `count` slots is empty; slots that a shorter list lacks are not.
    pub fn filled(&self, count: usize) -> Result<(), Refusal> {
        (0..count.min(self.count())).try_for_each(|position| self.get(position).required().map(drop))
    }

    /// The slots whose shape is there, numbered anew.
    pub fn present(&self) -> Present<'a> {
        let slots = (0..self.count()).filter_map(|position| self.get(position).recorded()).collect();
        Present { side: self.side, slots }
    }
}

/// The slots of one side whose shape is there, in order.
#[derive(Clone, Debug)]
pub struct Present<'a> {
    side: &'static str,
    slots: Vec<Recorded<'a>>,
}

impl<'a> Present<'a> {
    /// The slots.
    pub fn slots(&self) -> &[Recorded<'a>] {
        &self.slots
    }

    /// Keeps the slots for which `keep` holds.
    pub fn retain(&mut self, keep: impl FnMut(&Recorded<'a>) -> bool) {
        self.slots.retain(keep);
    }

    /// Exactly `N` slots (`input-count`, `output-count`).
    pub fn exactly<const N: usize>(&self) -> Result<&[Recorded<'a>; N], Refusal> {
        self.slots.as_slice().try_into().map_err(|_| self.wrong_count(&format!("{N}")))
    }

    /// At least `N` slots; further ones are ignored.
    pub fn at_least<const N: usize>(&self) -> Result<&[Recorded<'a>; N], Refusal> {
        self.slots.first_chunk().ok_or_else(|| self.wrong_count(&format!("at least {N}")))
    }

    /// Between `low` and `high` slots.
    pub fn between(&self, low: usize, high: usize) -> Result<&[Recorded<'a>], Refusal> {
        if (low..=high).contains(&self.slots.len()) {
            return Ok(&self.slots);
        }
        Err(self.wrong_count(&format!("{low} to {high}")))
    }

    /// Every slot has its type and format (`metadata-length`).
    pub fn strict(&self) -> Result<(), Refusal> {
        self.slots.iter().try_for_each(Recorded::require_described)
    }

    fn wrong_count(&self, expected: &str) -> Refusal {
        let detail = format!("{} {}s, expected {expected}", self.slots.len(), self.side);
        if self.side == "input" { input_count(detail) } else { output_count(detail) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Format;
    use crate::dtype::DType;
    use crate::refusal::RefusalKind;

    fn header() -> Vec<String> {
        ["Input Shapes", "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types"]
            .map(str::to_owned)
            .to_vec()
    }

    #[test]
    fn shapes_and_their_faults() {
        assert_eq!(parse_shape("102,"), Ok(Some(vec![102])));
        assert_eq!(parse_shape(""), Ok(None));
        assert_eq!(parse_shape(" 2 , 3".trim()), Ok(Some(vec![2, 3])));
        for text in ["N/A", "2.5", "-1", "2,x", "+3", "()", "2 3"] {
            assert_eq!(parse_shape(text), Err("is no shape"), "{text}");
        }
        assert!(parse_shape("99999999999999999999").is_err());
        assert!(parse_shape("4294967296,4294967296").is_err());
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
        assert_eq!(recorded, [RecordedOutput { shape: Some(vec![4]), dtype: Some(DType::BFloat16) }]);
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
