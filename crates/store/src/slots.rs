//! Slot cells: lists separated by `;`, one slot per tensor argument of a kernel.

use perfdb_pycompat::text::{is_space, trim};
use std::borrow::Cow;

/// The slots of a cell: trimmed, without surrounding quotes, split at `;`, each trimmed and without its quotes. An empty cell has none.
///
/// ```
/// use perfdb_store::slots::split;
/// assert_eq!(split("\"16,512; 2048,512;\""), ["16,512", "2048,512", ""]);
/// assert!(split(" \"\" ").is_empty());
/// ```
pub fn split(cell: &str) -> Vec<&str> {
    let text = unquoted(cell);
    if text.is_empty() { Vec::new() } else { text.split(';').map(unquoted).collect() }
}

/// A text without whitespace and then without quotes at both ends.
pub fn unquoted(text: &str) -> &str {
    trim(text).trim_matches('"')
}

/// Whether a text is one of the words for an absent argument. These spellings exactly.
pub fn is_absent_word(text: &str) -> bool {
    matches!(text, "()" | "N/A" | "NA" | "NULL" | "None" | "none")
}

/// A shape slot in its normal form: dimensions joined by `,`, empty for an absent argument. What is not a shape keeps its parts.
///
/// ```
/// use perfdb_store::slots::normal_shape;
/// assert_eq!(normal_shape("(16, 512)"), "16,512");
/// assert_eq!(normal_shape("N/A"), "");
/// ```
pub fn normal_shape(slot: &str) -> Cow<'_, str> {
    if is_normal(slot) {
        return Cow::Borrowed(slot);
    }
    let text = trim(unquoted(slot));
    if is_absent_word(text) {
        return Cow::Borrowed("");
    }
    let text = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let mut parts = text.split(|character| character == ',' || is_space(character)).filter(|part| !part.is_empty());
    let mut normal = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        normal.push(',');
        normal.push_str(part);
    }
    Cow::Owned(normal)
}

/// Digits with single commas between them, the usual case.
fn is_normal(slot: &str) -> bool {
    let mut after_digit = false;
    for byte in slot.bytes() {
        match byte {
            b'0'..=b'9' => after_digit = true,
            b',' if after_digit => after_digit = false,
            _ => return false,
        }
    }
    after_digit || slot.is_empty()
}

/// The dimensions of a normalised slot; `None` if it is no shape. An empty slot is a shape without dimensions.
pub fn dimensions(normal: &str) -> Option<Vec<i64>> {
    if normal.is_empty() { Some(Vec::new()) } else { normal.split(',').map(integer).collect() }
}

/// An integer as Python's `int()` reads it from a text without whitespace: a sign, digits, single `_` between digits.
pub fn integer(text: &str) -> Option<i64> {
    if text.contains('_') {
        let bytes = text.as_bytes();
        let digit = |at: Option<&u8>| at.is_some_and(u8::is_ascii_digit);
        let separates = |at: usize| at > 0 && digit(bytes.get(at - 1)) && digit(bytes.get(at + 1));
        let all = (0..bytes.len()).filter(|&at| bytes[at] == b'_').all(separates);
        return all.then(|| text.replace('_', "").parse().ok()).flatten();
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_slot_takes_off_one_pair_of_parentheses() {
        assert_eq!(normal_shape("((4))"), "(4)");
        assert_eq!(normal_shape(" \" 4 5,,6, \" "), "4,5,6");
        assert_eq!(normal_shape(","), "");
        assert_eq!(normal_shape("Na"), "Na");
        assert_eq!(normal_shape("(4"), "(4");
        assert_eq!(normal_shape(")("), ")(");
    }

    #[test]
    fn dimensions_are_integers() {
        assert_eq!(dimensions("16,512"), Some(vec![16, 512]));
        assert_eq!(dimensions("-1,+2,1_0"), Some(vec![-1, 2, 10]));
        assert_eq!(dimensions("x,512"), None);
        assert_eq!(dimensions("1.5"), None);
        assert_eq!(dimensions("99999999999999999999"), None);
    }

    proptest! {
        #[test]
        fn the_short_cut_changes_nothing(slot in "[0-9,]{0,8}") {
            let parts: Vec<&str> = slot.split(',').filter(|part| !part.is_empty()).collect();
            prop_assert_eq!(normal_shape(&slot), parts.join(","));
        }

        #[test]
        fn a_normal_form_is_normal(slot in "\\PC{0,12}") {
            let once = normal_shape(&slot).into_owned();
            if !once.contains(['(', ')', '"']) && !is_absent_word(&once) {
                prop_assert_eq!(normal_shape(&once).into_owned(), once);
            }
        }
    }
}
