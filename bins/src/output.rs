//! What goes to the terminal: results on stdout, `warning:` lines on stderr.

use crate::failure::Failure;
use crate::hints::{with_hint, with_hint_about_warning};
use crate::standard_streams::stdout_is_taken;
use perfdb_files::escape::{for_terminal, one_line};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);

pub(crate) fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

static VERBOSE: AtomicBool = AtomicBool::new(false);

pub(crate) fn set_verbose(verbose: bool) {
    VERBOSE.store(verbose, Ordering::Relaxed);
}

/// Whether `--verbose` was given.
pub fn verbose() -> bool {
    VERBOSE.load(Ordering::Relaxed)
}

/// Whether `--quiet` was given.
pub fn quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// A `warning: …` line on stderr, unless `--quiet` was given.
pub fn warn(warning: &str) {
    print_unless_quiet("warning: ", &with_hint_about_warning(warning));
}

/// A warning in the words of a tool's original, which start with a capital letter.
pub fn warn_as_original(warning: &str) {
    print_unless_quiet("Warning: ", warning);
}

/// A `note: …` line on stderr, what was chosen or done, unless `--quiet` was given.
pub fn print_note(text: &str) {
    print_unless_quiet("note: ", text);
}

/// A `limit: …` line on stderr: what was asked for does not hold.
pub(crate) fn print_limit(line: &str) {
    print_stderr("limit: ", line);
}

/// An `error: …` line on stderr about a part of the work, where the tool goes on.
pub fn print_error(line: &str) {
    print_stderr("error: ", &with_hint(line));
}

/// An `error: …` line that says already what to do.
pub(crate) fn print_hinted_error(line: &str) {
    print_stderr("error: ", line);
}

/// A line on stderr without a label. One that begins with `[WARN]` is a warning.
pub fn print_line(line: &str) {
    if !is_silenced(line) {
        print_stderr("", line);
    }
}

/// Whether a line is a warning in the words of an original, and `--quiet` was given.
pub(crate) fn is_silenced(line: &str) -> bool {
    quiet() && line.starts_with("[WARN]")
}

fn print_unless_quiet(label: &str, line: &str) {
    if !quiet() {
        print_stderr(label, line);
    }
}

fn print_stderr(label: &str, line: &str) {
    crate::progress::suspend(|| {
        // One write, so that other programs on the same terminal cannot get in between. A stderr that cannot be written to is no reason
        // to stop the work.
        let _ = io::stderr().lock().write_all(format!("{label}{}\n", one_line(line)).as_bytes());
    });
}

/// Where log lines go: stderr, past a progress bar.
pub(crate) struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        crate::progress::suspend(|| io::stderr().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Writes text to stdout, unless that belongs to a file that was asked for (`--json -`). A reader that went away is no failure: files that were asked for are still to be written.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// [`print()`] for tools whose output no original has: control characters in names are escaped wherever the text goes.
pub fn print_escaped(text: &str) -> Result<(), Failure> {
    print(&for_terminal(text))
}

/// [`print()`] for texts with colours, in which nothing else is left that commands a terminal.
pub fn print_styled(text: &str) -> Result<(), Failure> {
    write_to_stdout(text.as_bytes())
}

/// [`print()`] for bytes.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    // Names in traces and tables must not command a terminal.
    let shown = if io::stdout().is_terminal() { Some(String::from_utf8_lossy(bytes)) } else { None };
    let shown = shown.as_ref().map(|text| for_terminal(text));
    let bytes = shown.as_ref().map_or(bytes, |text| text.as_bytes());
    write_to_stdout(bytes)
}

fn write_to_stdout(bytes: &[u8]) -> Result<(), Failure> {
    crate::one_output::printed(bytes);
    if stdout_is_taken() {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    // A bar on the same terminal is out of the way meanwhile.
    match crate::progress::suspend(|| stdout.write_all(bytes).and_then(|()| stdout.flush())) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::lines(vec![format!("stdout: {error}")]))
        }
        _ => Ok(()),
    }
}
