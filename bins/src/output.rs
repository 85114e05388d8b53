//! What goes to the terminal: results on stdout, `warning:` lines on stderr.

use crate::failure::Failure;
use perfdb_files::escape::one_line;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);

pub(crate) fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether `--quiet` was given.
pub fn quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// A `warning: …` line on stderr, unless `--quiet` was given.
pub fn warn(warning: &str) {
    say_unless_quiet("warning: ", warning);
}

/// A warning in the words of a tool's original, which start with a capital letter.
pub fn warn_as_original(warning: &str) {
    say_unless_quiet("Warning: ", warning);
}

/// A `note: …` line on stderr: what was chosen or done. Silenced by `--quiet`.
pub fn inform(text: &str) {
    say_unless_quiet("note: ", text);
}

/// A `limit: …` line on stderr: what was asked for does not hold. Not silenced.
pub fn say_limit(line: &str) {
    say("limit: ", line);
}

/// An `error: …` line on stderr about a part of the work, where the tool goes on. Not silenced.
pub fn say_error(line: &str) {
    say("error: ", line);
}

/// A line on stderr that is part of what a tool says. Not silenced.
pub fn note(line: &str) {
    say("", line);
}

fn say_unless_quiet(label: &str, line: &str) {
    if !quiet() {
        say(label, line);
    }
}

fn say(label: &str, line: &str) {
    crate::progress::suspend(|| {
        // A stderr that cannot be written to is no reason to stop the work.
        let _ = writeln!(io::stderr().lock(), "{label}{}", one_line(line));
    });
}

/// Writes text to stdout. A reader that went away is no failure: files that were asked for are still to be written.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// [`print()`] for bytes.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::lines(vec![format!("stdout: {error}")]))
        }
        _ => Ok(()),
    }
}
