//! What goes to the terminal: results on stdout, `warning:` lines on stderr.

use crate::failure::{Failure, escape_controls};
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
#[expect(clippy::print_stderr, reason = "the plumbing owns the terminal")]
pub fn warn(warning: &str) {
    if !quiet() {
        crate::progress::suspend(|| eprintln!("warning: {}", escape_controls(warning)));
    }
}

/// Writes text to stdout. A reader that went away is no failure: files that were asked for are still to be written.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// [`print`] for bytes.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::lines(vec![format!("stdout: {error}")]))
        }
        _ => Ok(()),
    }
}
