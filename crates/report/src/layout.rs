//! How texts are laid out: as files have them, or for the terminal in front of a person.

mod table;

use anstyle::Style;
use perfdb_files::escape::one_line;
use std::borrow::Cow;

pub(crate) use table::Tone;
pub use table::{Cell, Column, Table};

/// What the reader's side can show. The default is what files and pipes get: nothing is left out, bars and colours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Characters in a line; lines of tables that are longer are shortened. `None`: as long as they are.
    pub columns: Option<usize>,
    /// Whether shares are shown as bars too.
    pub has_bars: bool,
    /// Whether there are colours.
    pub has_colours: bool,
    /// Whether nothing is shortened, wherever the text goes.
    pub is_whole: bool,
}

/// Fewest characters of a text that is shortened: with less nothing can be told apart.
const FEWEST: usize = 16;

/// The parts of a character that is a bar's end.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

impl Layout {
    /// A text that has what `used` characters leave of a line.
    pub(crate) fn shortened<'t>(&self, text: &'t str, used: usize) -> Cow<'t, str> {
        let Some(columns) = self.columns else { return text.into() };
        shortened(text, columns.saturating_sub(used).max(FEWEST))
    }

    /// A name behind `used` characters of a line: without its middle where the rest of the line is too short for it; elsewhere cut after
    /// `longest` characters, unless all is wanted. Control characters are escaped.
    pub(crate) fn name(&self, name: &str, longest: usize, used: usize) -> String {
        let name = one_line(name);
        match self.columns {
            Some(columns) => without_middle(&name, columns.saturating_sub(used).max(FEWEST)),
            None if self.is_whole => name,
            None => cut(&name, longest),
        }
    }

    /// A text behind `used` characters of a line, over several lines where one is too short; those that follow begin below it.
    pub(crate) fn wrapped(&self, text: &str, used: usize) -> String {
        self.filled(text, used, used)
    }

    /// A text of several lines; what goes on in the next one stands two further in than its line.
    pub(crate) fn wrapped_lines(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let said = line.trim_start_matches(' ');
            let indent = line.len() - said.len();
            out.push_str(&" ".repeat(indent));
            out.push_str(&self.filled(said.trim_end_matches('\n'), indent, indent + 2));
            out.push_str(if line.ends_with('\n') { "\n" } else { "" });
        }
        out
    }

    /// Lines of words: the first behind `first` characters, the others behind `others` spaces.
    fn filled(&self, text: &str, first: usize, others: usize) -> String {
        let columns = self.columns.filter(|columns| columns.saturating_sub(first.max(others)) >= FEWEST);
        let Some(columns) = columns.filter(|columns| first + text.chars().count() > *columns) else {
            return text.to_owned();
        };
        let mut out = String::new();
        let mut used = first;
        for (at, word) in text.split(' ').enumerate() {
            let width = word.chars().count();
            if at > 0 && used + 1 + width > columns {
                out.push('\n');
                out.push_str(&" ".repeat(others));
                used = others;
            } else if at > 0 {
                out.push(' ');
                used += 1;
            }
            out.push_str(word);
            used += width;
        }
        out
    }

    /// A bar for a part of a whole, at most `width` characters.
    fn part(&self, part: f64, width: usize) -> String {
        let eighths = (part.abs().min(1.0) * 8.0 * width as f64).round() as usize;
        "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
    }

    pub(crate) fn heading(&self, text: &str) -> String {
        self.painted(text, Style::new().bold())
    }

    /// A text in the colour of its tone.
    pub(crate) fn toned(&self, text: &str, tone: Tone) -> String {
        self.painted(text, tone.style())
    }

    fn painted(&self, text: &str, style: Style) -> String {
        if self.has_colours { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// A line about those of a list that were not shown; nothing where all were.
pub fn more(count: usize, shown: usize, what: &str) -> String {
    if count > shown { format!("… and {} more {what}\n", count - shown) } else { String::new() }
}

/// A name of at most this many characters; one that is cut ends in `...`.
pub(crate) fn cut(name: &str, characters: usize) -> String {
    match name.char_indices().nth(characters) {
        Some(_) => name.chars().take(characters.saturating_sub(3)).chain("...".chars()).collect(),
        None => name.to_owned(),
    }
}

/// A text of at most `room` characters. Where it is longer, the name before `: ` loses its middle, and if that is not enough, what is said of it
/// its end.
fn shortened(text: &str, room: usize) -> Cow<'_, str> {
    if text.chars().count() <= room {
        return text.into();
    }
    let Some((name, said)) = text.split_once(": ").filter(|_| room > FEWEST + 2) else {
        return without_middle(text, room).into();
    };
    let said_length = said.chars().count();
    let name = without_middle(name, room.saturating_sub(said_length + 2).max(FEWEST));
    let left = room.saturating_sub(name.chars().count() + 2);
    if said_length <= left {
        format!("{name}: {said}").into()
    } else {
        format!("{name}: {}…", said.chars().take(left.saturating_sub(1)).collect::<String>()).into()
    }
}

/// A text of at most `room` characters, without its middle where it is longer.
pub(crate) fn without_middle(text: &str, room: usize) -> String {
    let count = text.chars().count();
    if count <= room {
        return text.to_owned();
    }
    let head = room / 2;
    let tail = room.saturating_sub(head + 1);
    text.chars().take(head).chain(['…']).chain(text.chars().skip(count - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle() {
        let layout = Layout { columns: Some(30), ..Layout::default() };
        let name = "void flash::flash_fwd_splitkv_kernel<traits>";
        let shown = layout.shortened(name, 10);
        assert_eq!((shown.as_ref(), shown.chars().count()), ("void flash…l<traits>", 20));
        assert_eq!(layout.shortened("short", 10), "short");
        assert_eq!(layout.shortened(name, 29).chars().count(), FEWEST);
        assert_eq!(Layout::default().shortened(name, 0), name);
        let said = "hcom_allReduce_ 163840 B: 21.9 for 24.5 us";
        assert_eq!(Layout { columns: Some(36), ..layout }.shortened(said, 0), "hcom_allR…163840 B: 21.9 for 24.5 us");
        assert_eq!(Layout { columns: Some(30), ..layout }.shortened(said, 0), "hcom_all…63840 B: 21.9 for 24…");
    }

    #[test]
    fn sentences_go_on_below_themselves() {
        let layout = Layout { columns: Some(30), ..Layout::default() };
        let sentence = "later rows of one shape take longer";
        assert_eq!(layout.wrapped(sentence, 4), "later rows of one shape\n    take longer");
        assert_eq!(layout.wrapped(sentence, 20), sentence);
        assert_eq!(Layout::default().wrapped(sentence, 4), sentence);
        let long = "x".repeat(40);
        assert_eq!(layout.wrapped(&format!("a {long} b"), 0), format!("a\n{long}\nb"));
        let lines = format!("short\n  {sentence}\n");
        assert_eq!(layout.wrapped_lines(&lines), "short\n  later rows of one shape take\n    longer\n");
        assert_eq!(Layout::default().wrapped_lines(&lines), lines);
    }

    #[test]
    fn names_take_the_rest_of_a_line() {
        let name = "abcdefghij".repeat(9);
        assert_eq!(Layout { columns: Some(30), ..Layout::default() }.name(&name, 60, 10), "abcdefghij…bcdefghij");
        assert_eq!(Layout::default().name(&name, 20, 10), "abcdefghijabcdefg...");
        assert_eq!(Layout { is_whole: true, ..Layout::default() }.name(&name, 20, 10), name);
        assert_eq!(Layout::default().name("a\nb", 20, 10), "a\\nb");
    }

    #[test]
    fn bars_are_parts_of_the_whole() {
        let layout = Layout { has_bars: true, ..Layout::default() };
        let bars = [1.0, -0.5, 1.0 / 64.0, 0.0, 2.0].map(|part| layout.part(part, 4));
        assert_eq!(bars, ["████", "██", "▏", "", "████"]);
    }

    #[test]
    fn colours_only_where_they_are_wanted() {
        assert_eq!(Layout::default().toned("+1", Tone::TooMuch), "+1");
        let coloured = Layout { has_colours: true, ..Layout::default() };
        assert_eq!(coloured.toned("+1", Tone::TooMuch), "\u{1b}[33m+1\u{1b}[0m");
    }
}
