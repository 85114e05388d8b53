//! Measuring what is to be measured.

use super::arguments::Arguments;
use super::publisher::TerminalPublisher;
use super::{Stopped, print_own_line};
use crate::program::words_for;
use crate::replay::{RunPrinter, stopped_run_of_all, visibility, worker_listener};
use crate::shards::print_measured;
use crate::tools::run_all_op;
use crate::{Failure, print_line, print_note, warn};
use perfdb_files::shards::{Shard, ShardSet, ShardWriter};
use perfdb_replay::accelerators::visible;
use perfdb_replay::backend::Backend;
use perfdb_replay::journal::Line;
use perfdb_replay::microbench::reporter::Reporter;
use perfdb_replay::microbench::run::{Eligibility, Measuring, Microbench};
use perfdb_replay::session::Event;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What shards attach besides their journals: the operators that were measured.
const OPERATORS: &str = "operators.bin";

/// A run as the command line asks for it.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) microbench: &'a Microbench<'a>,
}

impl Run<'_> {
    /// Measures what is to be measured, and writes it back.
    pub(super) fn measure(self, publisher: &TerminalPublisher<'_>) -> Result<(), Failure> {
        self.with(|measuring, reporter| self.microbench.measure(measuring, reporter, publisher))
    }

    /// Measures the rows of a shard. The database stays as it is.
    pub(super) fn measure_shard(self, shard: Shard, mut writer: ShardWriter) -> Result<(), Failure> {
        let folder = writer.folder().to_owned();
        let operators = self.with(|measuring, reporter| self.microbench.measure_into(measuring, &folder, reporter))?;
        writer.attach(OPERATORS, &operators)?;
        let [ran, failed] = measured_rows(&folder)?;
        writer.count(ran + failed, failed);
        print_measured(shard, ran, &writer.finish()?);
        Ok(())
    }

    /// Writes back what shards have measured.
    pub(super) fn write_back(self, set: &ShardSet, publisher: &TerminalPublisher<'_>) -> Result<(), Failure> {
        // All shards have looked at the same tables.
        let Some(operators) = set.attached::<Option<Option<Vec<String>>>>(OPERATORS)? else { return Ok(()) };
        let folders: Vec<PathBuf> = set.shards().map(|(folder, _)| folder.to_owned()).collect();
        self.with(|measuring, reporter| {
            let operators = operators.as_deref();
            self.microbench.write_back_shards(measuring, operators, &folders, reporter, publisher)
        })
    }

    /// Goes on with how the command line has cases measured and with where messages go.
    fn with<T>(
        self,
        work: impl FnOnce(&Measuring<'_, Stopped>, &Reporter<'_>) -> Result<T, Stopped>,
    ) -> Result<T, Failure> {
        let Run { arguments, .. } = self;
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
        Ok(work(&measuring, &reporter)?)
    }
}

/// How many rows ran and how many failed, by the journals of a shard.
fn measured_rows(folder: &Path) -> Result<[usize; 2], Failure> {
    let lines = perfdb_replay::microbench::run::journal_lines(folder).map_err(stopped_run_of_all)?;
    let cases = || {
        lines.iter().filter_map(|line| match line {
            Line::Case(case) => Some(case),
            Line::Run(_) => None,
        })
    };
    let ran = cases().filter(|case| case.is_ok()).count();
    Ok([ran, cases().count() - ran])
}

/// The program that msprof starts: `$PERFDB_RUN_ALL_OP` split at whitespace, else run-all-op.
fn run_all_op_program() -> Vec<OsString> {
    let given = std::env::var_os("PERFDB_RUN_ALL_OP").unwrap_or_default();
    let words = given.as_bytes().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let words: Vec<OsString> = words.map(|word| OsStr::from_bytes(word).to_owned()).collect();
    if words.is_empty() { words_for(run_all_op::TOOL.name) } else { words }
}
