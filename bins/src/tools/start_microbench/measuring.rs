//! Measuring what is to be measured.

use super::{Run, TOOL};
use crate::program::words_for;
use crate::replay::{RunPrinter, stopped_run_of_all, visibility, worker_listener};
use crate::tools::run_all_op;
use crate::{Failure, print, print_line, print_note, warn};
use perfdb_files::lock::finish_pending;
use perfdb_microbench::directory::RunDirectory;
use perfdb_microbench::measure::MeasureOptions;
use perfdb_microbench::reporter::Reporter;
use perfdb_microbench::selection::{Selection, SelectionOptions, select};
use perfdb_replay::accelerators::visible;
use perfdb_replay::backend::Backend;
use perfdb_replay::session::Event;
use perfdb_store::update::{AggregateOptions, Samples, aggregate};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

impl Run<'_> {
    /// Measures what is to be measured, and writes it back.
    pub(super) fn measure(&self) -> Result<(), Failure> {
        let Run { arguments, database, selected } = *self;
        let folder = Some(database).filter(|database| database.is_dir());
        finish_pending(folder, &arguments.lock.options(TOOL.name))?;
        if arguments.resume
            && let Some(directory) = RunDirectory::newest_written_back(database)?
        {
            print_note(&format!("{}: its measurements are in the tables already", directory.path().display()));
            return self.clean_up(&directory);
        }
        let (backend, _) = arguments.replay.backend(Backend::Npu)?;
        let selection = SelectionOptions {
            database,
            selected,
            mode: arguments.update_mode,
            backend,
            accelerators: visible(backend, &visibility(backend)).len(),
            ep_size: arguments.dispatch_ffn_combine_ep_size,
            per_node: arguments.dispatch_ffn_combine_nproc_per_node,
            home: (!arguments.allow_foreign_times).then(|| arguments.database.home(database)),
            has_variable: &|name| std::env::var(name).is_ok_and(|value| !value.trim().is_empty()),
        };
        let line = |line: &str| self.line(line);
        let operators = match select(&selection, &line).map_err(stopped_run_of_all)? {
            Selection::Complete => return Ok(()),
            Selection::TooFewAccelerators => return self.write_back(&Samples::default(), &[], None),
            Selection::Operators(operators) => operators,
        };
        let settings = arguments.settings(backend)?;
        let interrupt = perfdb_files::interrupt::cooperate().clone();
        let printer = RunPrinter::to_stderr();
        let reporter = Reporter {
            line: &line,
            warning: &warn,
            event: &|event: Event<'_>| printer.print(event),
            replayed: &|report| printer.print_end(report.counts, report.op_summary.as_deref()),
            remaining: &|remaining| print_line(&format!("[LEFT] {remaining}; --resume goes on with this run")),
            listener: worker_listener(),
        };
        let search_path = std::env::var_os("PATH");
        let options = MeasureOptions {
            database,
            selected,
            operators: operators.as_deref(),
            settings: &settings,
            replay: &arguments.replay_command(run_all_op_program()),
            resume: arguments.resume,
            aggregate: &self.aggregate_options(true),
            search_path: search_path.as_deref(),
            quiet_stdout: arguments.json_on_stdout(),
            interrupt: &interrupt,
        };
        let measured = options.measure(&reporter).map_err(stopped_run_of_all)?;
        let samples = self.samples(&measured.summaries, true);
        let written = samples.and_then(|samples| self.write_back(&samples, &measured.summaries, Some(&measured)));
        written.inspect_err(|_| self.line(&measured.directory.preserved()))?;
        self.clean_up(&measured.directory)
    }

    fn clean_up(&self, directory: &RunDirectory) -> Result<(), Failure> {
        directory.remove()?;
        self.line(&format!("[CLEAN] removed {}", directory.path().display()));
        Ok(())
    }

    fn aggregate_options(&self, keep_durations: bool) -> AggregateOptions {
        let home = (!self.arguments.allow_foreign_times).then(|| self.arguments.database.home(self.database));
        let ep_size = self.arguments.dispatch_ffn_combine_ep_size;
        AggregateOptions { ep_size, home, keep_durations, ..AggregateOptions::default() }
    }

    pub(super) fn samples(&self, summaries: &[PathBuf], keep_durations: bool) -> Result<Samples, Failure> {
        let mut samples = aggregate(summaries, &self.aggregate_options(keep_durations))?;
        if let Some(operators) = self.selected {
            samples.retain_operators(operators);
        }
        Ok(samples)
    }

    /// A line of the run's own, on stdout; on stderr where stdout is needed for JSON.
    fn line(&self, line: &str) {
        if self.arguments.json_on_stdout() {
            print_line(line);
        } else {
            let _ = print(&format!("{line}\n"));
        }
    }
}

/// The program that msprof starts: `$PERFDB_RUN_ALL_OP` split at whitespace, else run-all-op.
fn run_all_op_program() -> Vec<OsString> {
    let given = std::env::var_os("PERFDB_RUN_ALL_OP").unwrap_or_default();
    let words = given.as_bytes().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let words: Vec<OsString> = words.map(|word| OsStr::from_bytes(word).to_owned()).collect();
    if words.is_empty() { words_for(run_all_op::TOOL.name) } else { words }
}
