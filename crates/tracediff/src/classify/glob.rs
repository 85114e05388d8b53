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

#[cfg(test)]
mod tests {
    use super::matches;

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
