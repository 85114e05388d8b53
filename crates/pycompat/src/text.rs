//! Character classes and trimming of Python's `str`.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Whether `str.isspace()` holds: Unicode White_Space, and the separators U+001C to U+001F.
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// `str.strip()` without arguments.
///
/// ```
/// assert_eq!(perfdb_pycompat::text::trim("\u{1c} 1742968801234567.123\t"), "1742968801234567.123");
/// ```
#[inline]
pub fn trim(text: &str) -> &str {
    match text.as_bytes() {
        // Nearly all texts neither begin nor end with whitespace.
        [b'!'..=b'~'] | [b'!'..=b'~', .., b'!'..=b'~'] => text,
        _ => text.trim_matches(is_space),
    }
}

/// Whether `str.isprintable()` holds for one character.
pub(crate) fn is_printable(character: char) -> bool {
    use GeneralCategory as G;
    match character {
        ' '..='~' => true,
        _ if character.is_ascii() => false,
        _ => !matches!(
            get_general_category(character),
            G::Control
                | G::Format
                | G::Surrogate
                | G::PrivateUse
                | G::Unassigned
                | G::LineSeparator
                | G::ParagraphSeparator
                | G::SpaceSeparator
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_as_python_has_it() {
        assert!(is_printable('é') && is_printable('次') && is_printable(' '));
        for character in ['\u{7f}', '\u{a0}', '\u{200b}', '\u{2028}', '\u{e000}', '\u{ad}'] {
            assert!(!is_printable(character), "{character:?}");
        }
    }
}
