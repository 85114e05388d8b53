//! The usual row, whose cells are the parts of its signature as they stand.

use super::{Builder, Cells, Signature};
use crate::slots::unquoted;

/// The signature of the usual row, whose cells are its parts already: shapes in normal form, none of them empty, and no more attributes than
/// shapes. `None` for any other.
pub(super) fn usual(cells: &Cells<'_>) -> Option<Signature> {
    let inputs = unquoted(cells.input_shapes);
    let outputs = unquoted(cells.output_shapes);
    let (input_count, output_count) = (normal_slots(inputs)?, normal_slots(outputs)?);
    let attributes = |cell, count: usize| {
        let text = unquoted(cell);
        (clean_slots(text)? <= count).then(|| text.trim_end_matches(';'))
    };
    let parts = [
        inputs,
        attributes(cells.input_types, input_count)?,
        attributes(cells.input_formats, input_count)?,
        outputs,
        attributes(cells.output_types, output_count)?,
    ];
    let mut out =
        Builder { text: String::with_capacity(parts.iter().map(|part| part.len()).sum()), ..Builder::default() };
    for part in parts {
        out.text.push_str(part);
        out.end_part();
    }
    Some(out.finish())
}

/// Number of slots of a text that has only digits, commas between them and semicolons between slots, none of which is empty.
fn normal_slots(text: &str) -> Option<usize> {
    let (mut slots, mut after_digit) = (1, false);
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => after_digit = true,
            b',' | b';' if after_digit => {
                after_digit = false;
                slots += usize::from(byte == b';');
            }
            _ => return None,
        }
    }
    after_digit.then_some(slots)
}

/// Number of slots of a text without whitespace and quotes.
fn clean_slots(text: &str) -> Option<usize> {
    let mut slots = usize::from(!text.is_empty());
    for byte in text.bytes() {
        if !byte.is_ascii_graphic() || byte == b'"' {
            return None;
        }
        slots += usize::from(byte == b';');
    }
    Some(slots)
}
