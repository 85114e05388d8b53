//! The slots of one side of a row, inputs or outputs.

use crate::kernels::shape::Shape;

use super::parse_shape;
use super::slot::{Recorded, Slot};
use crate::refusal::{Refusal, bad_shape, input_count, metadata_length, output_count};

/// The slots of one side of a row.
#[derive(Clone, Debug)]
pub struct Slots<'a> {
    side: &'static str,
    /// As many as the longest of the three cells has.
    slots: Vec<Slot<'a>>,
    /// Numbers of slots in the cells for shapes, types and formats.
    lengths: [usize; 3],
}

impl<'a> Slots<'a> {
    /// Pairs the parts of three cells by position. Refuses parts that are not shapes.
    pub(super) fn read(
        side: &'static str,
        mut shapes: impl Iterator<Item = &'a str>,
        mut dtypes: impl Iterator<Item = &'a str>,
        mut formats: impl Iterator<Item = &'a str>,
    ) -> Result<Slots<'a>, Refusal> {
        let mut slots = Vec::with_capacity(4);
        let mut lengths = [0; 3];
        for position in 0.. {
            let texts = [shapes.next(), dtypes.next(), formats.next()];
            if texts == [None; 3] {
                break;
            }
            lengths.iter_mut().zip(texts).for_each(|(length, text)| *length += usize::from(text.is_some()));
            let [shape, dtype, format] = texts;
            let shape = shape.unwrap_or_default();
            let shape =
                parse_shape(shape).map_err(|problem| bad_shape(format!("{side} {position}: {shape:?} {problem}")))?;
            slots.push(Slot { position, shape, side, dtype: dtype.unwrap_or_default(), format });
        }
        Ok(Slots { side, slots, lengths })
    }

    /// Number of shape slots, empty ones included.
    pub fn count(&self) -> usize {
        self.lengths[0]
    }

    /// Numbers of slots in the cells for shapes, types and formats.
    pub fn lengths(&self) -> [usize; 3] {
        self.lengths
    }

    /// Insists on exactly `count` slots in all three cells (`metadata-length`).
    pub(crate) fn exactly_in_all_lists(&self, count: usize) -> Result<(), Refusal> {
        if self.lengths() == [count; 3] {
            return Ok(());
        }
        let [shapes, dtypes, formats] = self.lengths();
        Err(metadata_length(format!(
            "{} slots: {shapes} shapes, {dtypes} types, {formats} formats, expected {count} each",
            self.side
        )))
    }

    /// The shape slots in order, empty ones holding their place.
    pub fn iter(&self) -> std::slice::Iter<'_, Slot<'a>> {
        self.slots[..self.count()].iter()
    }

    /// The slot at that position; beyond the end it is empty.
    pub fn get(&self, position: usize) -> Slot<'a> {
        let none = Slot { position, shape: None, side: self.side, dtype: "", format: None };
        self.slots.get(position).cloned().unwrap_or(none)
    }

    /// Refuses types and formats behind the last shape slot (`metadata-length`); empty ones are none.
    pub(crate) fn no_further_description(&self) -> Result<(), Refusal> {
        let further = |what, has_word: fn(&Slot<'a>) -> bool| match self.slots.iter().rposition(has_word) {
            Some(last) if last >= self.count() => {
                Err(metadata_length(format!("{} {what} for {} {}s", last + 1, self.count(), self.side)))
            }
            _ => Ok(()),
        };
        further("types", |slot| !slot.dtype.is_empty())?;
        further("formats", |slot| !slot.format_word().is_empty())
    }

    /// The first shape that is there.
    pub(crate) fn first_shape(&self) -> Option<Shape> {
        self.iter().find_map(|slot| slot.shape.clone())
    }

    /// Refuses lists in which one of the first `count` slots is empty; slots that a shorter list lacks are not.
    pub fn filled(&self, count: usize) -> Result<(), Refusal> {
        (0..count.min(self.count())).try_for_each(|position| self.get(position).required().map(drop))
    }

    /// The slots whose shape is there, renumbered.
    pub(crate) fn present(&self) -> Present<'a> {
        let mut slots = Vec::with_capacity(self.count());
        slots.extend(self.iter().cloned().filter_map(Slot::recorded));
        Present { side: self.side, slots }
    }
}

/// The slots of one side whose shape is there, in order.
#[derive(Clone, Debug)]
pub(crate) struct Present<'a> {
    side: &'static str,
    slots: Vec<Recorded<'a>>,
}

impl<'a> Present<'a> {
    pub(crate) fn slots(&self) -> &[Recorded<'a>] {
        &self.slots
    }

    /// Keeps the slots for which `keep` holds.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&Recorded<'a>) -> bool) {
        self.slots.retain(keep);
    }

    /// Exactly `N` slots (`input-count`, `output-count`).
    pub(crate) fn exactly<const N: usize>(&self) -> Result<&[Recorded<'a>; N], Refusal> {
        self.slots.as_slice().try_into().map_err(|_| self.wrong_count(&format!("{N}")))
    }

    /// At least `N` slots; further ones are ignored.
    pub(crate) fn at_least<const N: usize>(&self) -> Result<&[Recorded<'a>; N], Refusal> {
        self.slots.first_chunk().ok_or_else(|| self.wrong_count(&format!("at least {N}")))
    }

    /// Between `low` and `high` slots.
    pub(crate) fn between(&self, low: usize, high: usize) -> Result<&[Recorded<'a>], Refusal> {
        if (low..=high).contains(&self.slots.len()) {
            return Ok(&self.slots);
        }
        Err(self.wrong_count(&format!("{low} to {high}")))
    }

    /// Every slot has its type and format (`metadata-length`).
    pub(crate) fn strict(&self) -> Result<(), Refusal> {
        self.slots.iter().try_for_each(Recorded::require_described)
    }

    fn wrong_count(&self, expected: &str) -> Refusal {
        let detail = format!("{} {}s, expected {expected}", self.slots.len(), self.side);
        if self.side == "input" { input_count(detail) } else { output_count(detail) }
    }
}
