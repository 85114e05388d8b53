//! Names and pieces of input in messages: on one line, and without power over a terminal.

use std::borrow::Cow;
use std::path::Path;

/// A path for a message: control characters escaped, so that it stays on one line.
pub fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}

/// A piece of input for a message: control characters escaped, cut after 80 characters.
pub fn excerpt(text: &str) -> String {
    let escaped = one_line(text);
    match escaped.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &escaped[..end]),
        None => escaped,
    }
}

/// A text on one line: control characters, and the two line ends of Unicode that are none, as Rust writes them.
///
/// ```
/// use perfdb_files::escape::one_line;
/// assert_eq!(one_line("red \u{1b}[31m\n"), "red \\u{1b}[31m\\n");
/// assert_eq!(one_line("a\u{2028}b"), "a\\u{2028}b");
/// ```
pub fn one_line(text: &str) -> String {
    escaped(text, |_| false).into_owned()
}

/// A text of several lines for a terminal: everything but line feeds and tabs as [`one_line`] has it.
///
/// ```
/// use perfdb_files::escape::for_terminal;
/// assert_eq!(for_terminal("kernel\u{1b}]0;title\u{7}\t1\n"), "kernel\\u{1b}]0;title\\u{7}\t1\n");
/// ```
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_harmless = |character: char| stays(character) || !is_control(character);
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_harmless(character) {
            out.push(character);
        } else {
            out.extend(character.escape_default());
        }
    }
    Cow::Owned(out)
}

/// Whether a character moves the cursor, begins a terminal's command, ends a line for some reader, or turns the direction of what
/// follows, so that a name reads as another one.
fn is_control(character: char) -> bool {
    const DIRECTION: [std::ops::RangeInclusive<char>; 4] =
        ['\u{200e}'..='\u{200f}', '\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}', '\u{61c}'..='\u{61c}'];
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}')
        || DIRECTION.iter().any(|marks| marks.contains(&character))
}

/// A text cell of a CSV that people open in a spreadsheet: on one line as [`one_line`] has it, and what a spreadsheet would take for a formula
/// gets an apostrophe in front. For texts alone; a number may begin with a sign.
///
/// ```
/// use perfdb_files::escape::spreadsheet_text;
/// assert_eq!(spreadsheet_text("=cmd()"), "'=cmd()");
/// assert_eq!(spreadsheet_text("MatMulV2"), "MatMulV2");
/// ```
pub fn spreadsheet_text(cell: &str) -> Cow<'_, str> {
    let cell = escaped(cell, |_| false);
    if cell.starts_with(['=', '+', '-', '@']) { Cow::Owned(format!("'{cell}")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_that_ends_a_line_or_commands_a_terminal_is_escaped() {
        let hostile =
            "\0\u{7}\u{8}\t\n\u{b}\u{c}\r\u{1b}\u{7f}\u{85}\u{9b}\u{2028}\u{2029}\u{202e}\u{2066}\u{200f}\u{61c}";
        for character in hostile.chars() {
            let escaped = one_line(&format!("a{character}b"));
            assert!(escaped.starts_with("a\\") && escaped.chars().all(|c| !is_control(c)), "{escaped}");
        }
        assert_eq!(one_line("µ 算子 é"), "µ 算子 é");
        assert!(matches!(for_terminal("line\n\tline"), Cow::Borrowed(_)));
    }

    #[test]
    fn an_excerpt_is_cut_behind_its_escapes() {
        assert_eq!(excerpt(&"\n".repeat(50)), format!("{}…", "\\n".repeat(40)));
        assert_eq!(excerpt("short"), "short");
    }

    #[test]
    fn only_what_a_spreadsheet_computes_gets_an_apostrophe() {
        for (cell, expected) in
            [("+1", "'+1"), ("-x", "'-x"), ("@a", "'@a"), ("a=b", "a=b"), ("", ""), ("'=", "'="), ("=a\nb", "'=a\\nb")]
        {
            assert_eq!(spreadsheet_text(cell), expected);
        }
    }
}
