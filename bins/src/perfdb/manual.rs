//! Manual pages.

use super::Arguments;
use crate::all_tools::TOOLS;
use crate::{Failure, command_of};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use perfdb_files::escape::shown;
use perfdb_files::replace::{Parents, Staged, commit};
use std::io;
use std::path::Path;

pub(super) const EXAMPLES: &str = "\
Examples:
  perfdb man ~/.local/share/man/man1
  man compute-m6";

/// Writes `NAME.1` for perfdb and for every tool: all or none.
pub(super) fn write_pages(directory: &Path) -> Result<(), Failure> {
    let commands = std::iter::once(command_of::<Arguments>()).chain(TOOLS.iter().map(|tool| (tool.command)()));
    let mut files = Vec::new();
    for command in commands {
        let path = directory.join(format!("{}.1", command.get_name()));
        if path.is_symlink() {
            let reason = "is a link, and what it leads to is not replaced; remove it";
            return Err(Failure::lines(vec![format!("{}: {reason}", shown(&path))]));
        }
        files.push(Staged::with(&path, &page(command)?, Parents::Create)?);
    }
    Ok(commit(files)?)
}

fn page(command: Command) -> io::Result<Vec<u8>> {
    let notes = command.get_after_help().map(ToString::to_string);
    let man = Man::new(command);
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if let Some(notes) = notes {
        notes_section(&notes).to_writer(&mut out)?;
    }
    man.render_version_section(&mut out)?;
    Ok(out)
}

/// Examples and the like keep their lines.
fn notes_section(notes: &str) -> Roff {
    let mut roff = Roff::default();
    roff.control("SH", ["NOTES"]);
    roff.control("nf", []);
    for line in notes.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}
