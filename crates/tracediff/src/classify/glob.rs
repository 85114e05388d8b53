//! Patterns with `*`, matched against a whole name.

/// True when `name` is `pattern` with every `*` replaced by some text. Both sides in the same case.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for piece in pieces {
        if let Some(earlier) = last.replace(piece) {
            // The leftmost place is as good as any other for a piece that is not the last.
            let Some(at) = rest.find(earlier) else { return false };
            rest = &rest[at + earlier.len()..];
        }
    }
    match last {
        None => rest.is_empty(),
        Some(last) => rest.ends_with(last),
    }
}

/// True when every name that `pattern` matches is matched by `wider` too.
///
/// A `*` in `pattern` stands for texts that no other part of a pattern can name, so only a `*` of `wider` covers it: it is one more letter.
pub(crate) fn covers(wider: &str, pattern: &str) -> bool {
    matches(wider, pattern)
}

#[cfg(test)]
mod tests {
    use super::{covers, matches};
    use proptest::prelude::*;

    #[test]
    fn wider_patterns_cover_narrower_ones() {
        for (wider, pattern, expected) in [
            ("*", "a*", true),
            ("a*", "a*b", true),
            ("*b*", "a*b", true),
            ("a*", "*", false),
            ("a*c", "a*", false),
            ("abc", "abc", true),
            ("abc", "ab*", false),
            ("*a*a*", "*a*", false),
        ] {
            assert_eq!(covers(wider, pattern), expected, "{wider} over {pattern}");
        }
    }

    proptest! {
        #[test]
        fn a_covered_pattern_matches_nothing_else(wider in "[ab*]{0,5}", pattern in "[ab*]{0,5}", name in "[ab]{0,6}") {
            if covers(&wider, &pattern) && matches(&pattern, &name) {
                prop_assert!(matches(&wider, &name), "{} over {} on {}", wider, pattern, name);
            }
        }
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "abc", true),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a*c", "ac", true),
            ("a*c", "abbc", true),
            ("a*c", "abcd", false),
            ("*b*", "abc", true),
            ("*b*b*", "abc", false),
            ("*b*b*", "abcb", true),
            ("ab*ba", "aba", false),
            ("*a*ab", "aab", true),
            ("é*", "été", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} on {name}");
        }
    }
}
