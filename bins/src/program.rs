//! How a tool starts another one.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
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

/// How `perfdb` is started where it is not a program of its own.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The words that start it: an interpreter and what it is to run.
    pub words: Vec<OsString>,
    /// The file that runs it under any name that links to it.
    pub file: PathBuf,
}

static LAUNCHER: OnceLock<Launcher> = OnceLock::new();

/// Notes how this process was started: by an interpreter that has `perfdb` as a module. The first call counts.
pub fn set_launcher(launcher: Launcher) {
    LAUNCHER.get_or_init(|| launcher);
}

/// The file that links to this program name.
pub(crate) fn file() -> io::Result<PathBuf> {
    LAUNCHER.get().map_or_else(std::env::current_exe, |launcher| Ok(launcher.file.clone()))
}

/// The words of a command line that start a tool: the file of its name beside this program, else this program where it is
/// `perfdb`, else the name, to be found on the path.
pub fn words_for(tool: &str) -> Vec<OsString> {
    if let Some(launcher) = LAUNCHER.get() {
        return launcher.words.iter().cloned().chain([tool.into()]).collect();
    }
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
