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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_counted_where_the_text_is_usual() {
        for (text, slots) in [("16,512", 1), ("16,512;2048,512;8", 3), ("0", 1), ("9;9", 2)] {
            assert_eq!(normal_slots(text), Some(slots), "{text}");
        }
        for text in ["", ";", "1;", ";1", "1,", "1,,2", "1;;2", " 1", "(1)", "a", "-1"] {
            assert_eq!(normal_slots(text), None, "{text}");
        }
        for (text, slots) in [("", 0), ("A", 1), ("A;B", 2), (";", 2), ("A;;", 3)] {
            assert_eq!(clean_slots(text), Some(slots), "{text}");
        }
        for text in [" ", "A B", "\"", "A;\"B", "é", "\n"] {
            assert_eq!(clean_slots(text), None, "{text}");
        }
    }

    /// The general way gives the same; this one is there to be quick, so it has to be taken.
    #[test]
    fn usual_rows_are_taken_and_others_left() {
        let row = Cells {
            input_shapes: "\"16,512;512,8\"",
            input_types: "DT_BF16;DT_BF16",
            input_formats: "ND",
            output_shapes: "16,8",
            output_types: "DT_BF16",
            ep_size: "",
        };
        let signature = usual(&row).map(|signature| signature.parts().map(str::to_owned).collect::<Vec<_>>());
        let expected = ["16,512;512,8", "DT_BF16;DT_BF16", "ND", "16,8", "DT_BF16"].map(str::to_owned);
        assert_eq!(signature, Some(expected.to_vec()));
        assert_eq!(usual(&Cells { input_types: "A;B;C", ..row }), None, "more types than shapes");
        assert_eq!(usual(&Cells { input_shapes: "16,512;", ..row }), None);
    }
}
