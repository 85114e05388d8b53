//! How a tool starts another one.

use std::ffi::OsString;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

static ALL_TOOLS: AtomicBool = AtomicBool::new(false);

/// Notes that this program is `perfdb`, which is every tool.
pub(crate) fn all_tools_are_here() {
    ALL_TOOLS.store(true, Ordering::Relaxed);
}

/// Whether this program is `perfdb`.
pub(crate) fn has_all_tools() -> bool {
    ALL_TOOLS.load(Ordering::Relaxed)
}

/// The words of a command line that start a tool: the file of its name beside this program, else this program where it is
/// `perfdb`, else the name, to be found on the path.
pub fn words_for(tool: &str) -> Vec<OsString> {
    let this = std::env::current_exe().ok();
    let beside = this.as_ref().map(|path| path.with_file_name(tool)).filter(|path| path.is_file());
    match (beside, this) {
        (Some(beside), _) => vec![beside.into()],
        (None, Some(this)) if has_all_tools() => vec![this.into(), tool.into()],
        (None, _) => vec![tool.into()],
    }
}

/// The command that starts a tool: [`words_for`].
pub fn command_for(tool: &str) -> Command {
    let mut words = words_for(tool).into_iter();
    let mut command = Command::new(words.next().unwrap_or_else(|| tool.into()));
    command.args(words);
    command
}
