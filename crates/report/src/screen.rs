//! Texts that fit on one screen.

/// Lines of a screen.
pub const LINES: usize = 40;
/// Columns of a screen.
pub(crate) const COLUMNS: usize = 100;

/// A line that fits on a screen; one that is cut ends in `…`.
pub(crate) fn cut(line: String) -> String {
    if line.chars().count() > COLUMNS { line.chars().take(COLUMNS - 1).chain(['…']).collect() } else { line }
}

/// The text with the most rows, at most `most` and at least `least`, that fits on a screen.
pub fn fitting(most: usize, least: usize, text: impl Fn(usize) -> String) -> String {
    let fits = |text: &String| text.lines().count() <= LINES;
    (least + 1..=most).rev().map(&text).find(fits).unwrap_or_else(|| text(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_as_there_is_room_for() {
        let text = |rows: usize| "a\nb\n".repeat(rows);
        assert_eq!(fitting(10, 3, text).lines().count(), 20);
        assert_eq!(fitting(100, 3, text).lines().count(), LINES);
        assert_eq!(fitting(100, 30, text).lines().count(), 60);
    }
}
