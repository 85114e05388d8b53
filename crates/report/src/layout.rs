//! How texts are laid out: as files have them, or for the terminal in front of a person.

use anstyle::{AnsiColor, Style};
use std::borrow::Cow;

/// What the reader's side can show. The default is what files and pipes get: nothing is left out, bars and colours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Characters in a line; lines of tables that are longer are shortened. `None`: as long as they are.
    pub columns: Option<usize>,
    /// Whether shares are shown as bars too.
    pub has_bars: bool,
    /// Whether there are colours.
    pub has_colours: bool,
}

/// Fewest characters of a text that is shortened: with less nothing can be told apart.
const FEWEST: usize = 16;

/// The parts of a character that is a bar's end.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

impl Layout {
    /// A text that has what `used` characters leave of a line. Where it is longer, the name before `: ` loses its middle, and if that is not
    /// enough, what is said of it its end.
    pub(crate) fn shortened<'t>(&self, text: &'t str, used: usize) -> Cow<'t, str> {
        let Some(columns) = self.columns else { return text.into() };
        let room = columns.saturating_sub(used).max(FEWEST);
        if text.chars().count() <= room {
            return text.into();
        }
        let Some((name, said)) = text.split_once(": ").filter(|_| room > FEWEST + 2) else {
            return without_middle(text, room).into();
        };
        let said_length = said.chars().count();
        let name = without_middle(name, room.saturating_sub(said_length + 2).max(FEWEST));
        let left = room.saturating_sub(name.chars().count() + 2);
        match said_length <= left {
            true => format!("{name}: {said}").into(),
            false => format!("{name}: {}…", said.chars().take(left.saturating_sub(1)).collect::<String>()).into(),
        }
    }

    /// A bar of up to `width` characters and spaces behind it, with a space before; nothing where there are no bars.
    pub(crate) fn bar(&self, part: i128, whole: i128, width: usize) -> String {
        if !self.has_bars {
            return String::new();
        }
        let eighths = match whole {
            0 => 0,
            _ => ((part.unsigned_abs() as f64 / whole.unsigned_abs() as f64).min(1.0) * 8.0 * width as f64).round()
                as usize,
        };
        let bar = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
        let spaces = width - bar.chars().count();
        format!(" {bar}{}", " ".repeat(spaces))
    }

    /// What is too much, or too little.
    pub(crate) fn signed(&self, text: &str, is_too_much: bool) -> String {
        let colour = if is_too_much { AnsiColor::Yellow } else { AnsiColor::Cyan };
        self.painted(text, colour.on_default())
    }

    /// A heading.
    pub(crate) fn heading(&self, text: &str) -> String {
        self.painted(text, Style::new().bold())
    }

    fn painted(&self, text: &str, style: Style) -> String {
        if self.has_colours { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

fn without_middle(text: &str, room: usize) -> String {
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
    fn bars_are_parts_of_the_whole() {
        let layout = Layout { has_bars: true, ..Layout::default() };
        let bars = [(8, 8), (-4, 8), (1, 64), (0, 8), (5, 0)].map(|(part, whole)| layout.bar(part, whole, 4));
        assert_eq!(bars, [" ████", " ██  ", " ▏   ", "     ", "     "]);
        assert_eq!(Layout::default().bar(1, 2, 4), "");
    }

    #[test]
    fn colours_only_where_they_are_wanted() {
        assert_eq!(Layout::default().signed("+1", true), "+1");
        let coloured = Layout { has_colours: true, ..Layout::default() };
        assert_eq!(coloured.signed("+1", true), "\u{1b}[33m+1\u{1b}[0m");
    }
}
