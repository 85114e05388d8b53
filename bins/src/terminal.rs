//! What the terminal in front of a person can show.

use perfdb_report::layout::Layout;
use std::io::IsTerminal as _;

/// How a text on stdout is laid out: for a terminal as wide as it is, unless all is wanted (`--wide`); as files have it elsewhere.
pub(crate) fn layout(is_wide: bool) -> Layout {
    if !std::io::stdout().is_terminal() {
        return Layout::default();
    }
    let size = terminal_size::terminal_size().map(|(terminal_size::Width(columns), _)| usize::from(columns));
    Layout { columns: size.filter(|_| !is_wide), has_bars: true, has_colours: has_colours() }
}

/// Whether a terminal shows colours and nobody has forbidden them (no-color.org).
fn has_colours() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
