//! Measuring what is to be measured.

use super::arguments::Arguments;
use super::publisher::TerminalPublisher;
use super::{Stopped, print_own_line};
use crate::program::words_for;
use crate::replay::{RunPrinter, visibility, worker_listener};
use crate::tools::run_all_op;
use crate::{Failure, print_line, print_note, warn};
use perfdb_microbench::reporter::Reporter;
use perfdb_microbench::run::{Eligibility, Measuring, Microbench};
use perfdb_replay::accelerators::visible;
use perfdb_replay::backend::Backend;
use perfdb_replay::session::Event;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Measures what is to be measured, and writes it back.
pub(super) fn measure(
    arguments: &Arguments,
    microbench: &Microbench<'_>,
    publisher: &TerminalPublisher<'_>,
) -> Result<(), Failure> {
    let (backend, _) = arguments.replay.backend(Backend::Npu)?;
    let interrupt = perfdb_files::interrupt::cooperate().clone();
    let search_path = std::env::var_os("PATH");
    let measuring = Measuring {
        eligibility: Eligibility {
            backend,
            accelerators: visible(backend, &visibility(backend)).len(),
            per_node: arguments.dispatch_ffn_combine_nproc_per_node,
            has_variable: &|name| std::env::var(name).is_ok_and(|value| !value.trim().is_empty()),
        },
        settings: &|| arguments.settings(backend).map_err(Stopped::from),
        replay: &arguments.replay_command(run_all_op_program()),
        resume: arguments.resume,
        search_path: search_path.as_deref(),
        quiet_stdout: arguments.json_on_stdout(),
        interrupt: &interrupt,
    };
    let printer = RunPrinter::to_stderr();
    let reporter = Reporter {
        line: &|line| print_own_line(arguments, line),
        warning: &warn,
        note: &print_note,
        event: &|event: Event<'_>| printer.print(event),
        replayed: &|report| printer.print_end(report.counts, report.op_summary.as_deref()),
        remaining: &|remaining| print_line(&format!("[LEFT] {remaining}; --resume goes on with this run")),
        listener: worker_listener(),
    };
    Ok(microbench.measure(&measuring, &reporter, publisher)?)
}

/// The program that msprof starts: `$PERFDB_RUN_ALL_OP` split at whitespace, else run-all-op.
fn run_all_op_program() -> Vec<OsString> {
    let given = std::env::var_os("PERFDB_RUN_ALL_OP").unwrap_or_default();
    let words = given.as_bytes().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let words: Vec<OsString> = words.map(|word| OsStr::from_bytes(word).to_owned()).collect();
    if words.is_empty() { words_for(run_all_op::TOOL.name) } else { words }
}
