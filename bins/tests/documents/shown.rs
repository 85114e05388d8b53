//! Shown output against printed output: `…` stands for what is left out.

/// Whether the printed lines are the shown ones.
pub(crate) fn matches(shown: &[String], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if is_elision(first) => (0..=printed.len()).any(|at| matches(rest, &printed[at..])),
        Some((first, rest)) => {
            printed.split_first().is_some_and(|(line, others)| is_line(first, line) && matches(rest, others))
        }
    }
}

/// Whether the shown lines stand somewhere in the printed ones.
pub(crate) fn is_within(shown: &[String], printed: &[&str]) -> bool {
    let mut open = vec!["…".to_owned()];
    open.extend_from_slice(shown);
    open.push("…".to_owned());
    matches(&open, printed)
}

fn is_elision(line: &str) -> bool {
    line.trim() == "…"
}

/// Whether a printed line is the shown one. Blanks at ends of lines are not seen and do not count.
fn is_line(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (shown.trim_end(), printed.trim_end());
    let mut parts = shown.split('…');
    let Some(mut rest) = printed.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
