//! What the terminal in front of a person can show.

use clap::Args;
use perfdb_report::layout::Layout;
use std::io::IsTerminal as _;

/// How much of a line is shown.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct TerminalArguments {
    /// Names and lines as long as they are, not shortened to the width of the terminal
    #[arg(long)]
    wide: bool,
}

impl TerminalArguments {
    /// How a text on stdout is laid out: for a terminal as wide as it is, unless all is wanted; as files have it elsewhere.
    pub(crate) fn layout(self) -> Layout {
        if !std::io::stdout().is_terminal() {
            return self.layout_of_files();
        }
        let size = terminal_size::terminal_size().map(|(terminal_size::Width(columns), _)| usize::from(columns));
        let columns = size.filter(|_| !self.wide);
        Layout { columns, has_bars: true, has_colours: has_colours(), is_whole: self.wide }
    }

    /// How a text in a file is laid out.
    pub(crate) fn layout_of_files(self) -> Layout {
        Layout { is_whole: self.wide, ..Layout::default() }
    }
}

/// Whether a terminal shows colours and nobody has forbidden them (no-color.org).
fn has_colours() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
