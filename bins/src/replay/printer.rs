//! What a run prints: a line per row on stdout, refusals and warnings on stderr, progress on a terminal.

use std::io::Write;
use std::sync::{Arc, Mutex};

use indicatif::ProgressBar;
use perfdb_replay::executor::worker::{Listener, WorkerOutput};
use perfdb_replay::microbench::status::RunStatus;
use perfdb_replay::plan::PlannedRow;
use perfdb_replay::session::{Counts, Event};

use crate::progress;
use crate::standard_streams::stdout_is_taken;

/// Prints the events of a run. Lines per row go to stdout, or to stderr where stdout is needed for something else.
pub struct RunPrinter {
    lines_to_stderr: bool,
    bar: Mutex<Option<(String, ProgressBar)>>,
}

impl RunPrinter {
    /// Lines per row go to stdout.
    pub fn to_stdout() -> RunPrinter {
        RunPrinter { lines_to_stderr: false, bar: Mutex::new(None) }
    }

    /// Everything goes to stderr.
    pub fn to_stderr() -> RunPrinter {
        RunPrinter { lines_to_stderr: true, bar: Mutex::new(None) }
    }

    /// Prints an event.
    pub fn print(&self, event: Event<'_>) {
        match event {
            Event::Invalid(row, refusal) => self.complain(&format!("[INVALID] {} {refusal}", place(row))),
            Event::Skipped(row, reason) => self.line(&format!("[SKIP] {} {}", place(row), reason.name())),
            Event::Ran(row, run) => {
                let times = match run.times {
                    Some(times) => format!(", min {:.3} us", times.min_us),
                    None => String::new(),
                };
                self.line(&format!("[OK] {} {} x{}{times}", place(row), built(row), run.repeat));
            }
            Event::Unlike(row, differences) => self.complain(&format!("[WARN] {} {differences}", place(row))),
            Event::Failed(row, error) => {
                // A framework's message may go over several lines; a row has one.
                let error = error.to_string().replace(['\r', '\n'], " ");
                self.line(&format!("[FAIL] {} {} {error}", place(row), built(row)));
            }
            Event::Dropped(row) => self.line(&format!("[DROP] {} {}", place(row), row.op)),
            Event::CleanedUp { table, rows, kept_in } => {
                self.line(&format!("[CLEANUP] {}: {rows} row(s) moved to {}", table.display(), kept_in.display()))
            }
            Event::Warning(text) => crate::warn(text),
            Event::Worker(text) => self.complain(&format!("[worker] {text}")),
            Event::Progress { op, done, total } => self.progress(op, done, total),
        }
    }

    /// Prints how a run ended.
    pub fn print_end(&self, counts: Counts, op_summary: Option<&std::path::Path>) {
        if let Some((_, bar)) = self.bar.lock().ok().and_then(|mut bar| bar.take()) {
            bar.finish_and_clear();
        }
        let Counts { ran, skipped, invalid, failed, dropped } = counts;
        let place = op_summary.map(|path| format!("; op_summary: {}", path.display())).unwrap_or_default();
        self.line(&format!(
            "[DONE] {ran} run, {skipped} skipped, {invalid} invalid, {failed} failed, {dropped} dropped{place}"
        ));
    }

    /// Prints which operators ran, failed or had no table.
    pub fn print_status(&self, status: &RunStatus) {
        let RunStatus { success, failed, skipped } = status;
        let counts = format!("{} succeeded, {} failed, {} without table", success.len(), failed.len(), skipped.len());
        self.line(&format!("[DONE] operators: {counts}"));
        for failure in failed {
            self.line(&format!("[FAILED] {}: {}", failure.op, failure.reason));
        }
    }

    fn progress(&self, op: &str, done: usize, total: usize) {
        let Ok(mut bar) = self.bar.lock() else { return };
        if bar.as_ref().is_none_or(|(shown, _)| shown != op) {
            if let Some((_, old)) = bar.take() {
                old.finish_and_clear();
            }
            let new = progress::items("replay", Some(total as u64));
            new.set_message(op.to_owned());
            *bar = Some((op.to_owned(), new));
        }
        if let Some((_, bar)) = bar.as_ref() {
            bar.set_position(done as u64);
        }
    }

    fn line(&self, line: &str) {
        if self.lines_to_stderr || stdout_is_taken() {
            return self.complain(line);
        }
        progress::suspend(|| {
            // A reader that went away does not end the measurement.
            let _ = writeln!(std::io::stdout().lock(), "{line}");
        });
    }

    fn complain(&self, line: &str) {
        crate::print_line(line);
    }
}

/// Where the shipped or another worker's own lines go.
pub fn worker_listener() -> Listener {
    Arc::new(|message| match message {
        WorkerOutput::Noise(line) | WorkerOutput::Log(line) => crate::print_line(&format!("[worker] {line}")),
        WorkerOutput::Progress(_) => {}
    })
}

fn place(row: &PlannedRow) -> String {
    format!("{}:{}", row.csv, row.row)
}

/// What was built, in short: `a bfloat16[136, 5120], b bfloat16[5120, 768]`.
fn built(row: &PlannedRow) -> String {
    let Some(case) = row.case() else { return String::new() };
    let tensors: Vec<String> =
        case.call.inputs.iter().map(|spec| format!("{} {}{:?}", spec.name, spec.dtype, spec.shape)).collect();
    format!("{} {}", case.op, tensors.join(", "))
}
