//! Measuring: msprof around run-all-op, or the other backends in this process.

use super::arguments::{Arguments, UpdateMode};
use crate::program::words_for;
use crate::replay::{Narrator, repeat_count, run_id, stopped, worker_listener};
use crate::tools::run_all_op;
use crate::{Failure, print};
use perfdb_files::interrupt::Interrupt;
use perfdb_microbench::directory::RunDirectory;
use perfdb_microbench::msprof::{Profiled, Profiling, read_status, require_data, require_msprof};
use perfdb_microbench::origin::Asked;
use perfdb_microbench::resume::{own_profiles, strike_unmeasured};
use perfdb_microbench::run_all::{self, RunAllOptions};
use perfdb_replay::backend::Backend;
use perfdb_replay::error::Error;
use perfdb_replay::executor::start::starters;
use perfdb_replay::operator::PlanOptions;
use perfdb_replay::plan::UpdateMode as PlanUpdateMode;
use perfdb_replay::settings::{Launch, Repeats, RunSettings};
use perfdb_report::microbench::ExecutionStatus;
use perfdb_store::update::{AggregateOptions, find_profiles, summaries_of};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A measuring run.
pub struct Measuring<'a> {
    /// The command line.
    pub arguments: &'a Arguments,
    /// The database directory.
    pub database: &'a Path,
    /// The backend.
    pub backend: Backend,
    /// Operators that the user selected.
    pub selected: Option<&'a [String]>,
    /// Operators that the run names.
    pub operators: Option<&'a [String]>,
    /// How samples are aggregated.
    pub aggregate: &'a AggregateOptions,
    /// The wish to stop.
    pub interrupt: &'a Interrupt,
}

/// What was measured, and where it lies.
pub struct Measured {
    /// The run's folder.
    pub directory: RunDirectory,
    /// The op_summary files, in order.
    pub summaries: Vec<PathBuf>,
    /// What the replay said about its operators.
    pub status: Option<ExecutionStatus>,
    /// What was asked for, for the origin file.
    pub asked: Asked,
}

impl Measuring<'_> {
    /// Measures. Where that fails, the run's folder stays and is named.
    pub fn run(&self) -> Result<Measured, Failure> {
        if self.backend == Backend::Npu {
            require_msprof(std::env::var_os("PATH").as_deref())?;
        }
        let kept = if self.arguments.resume { RunDirectory::newest(self.database)? } else { None };
        if self.arguments.resume && kept.is_none() {
            crate::warn(&format!("{}: no preserved run to resume, starting afresh", self.database.display()));
        }
        let resumed = kept.is_some();
        // What contradicts itself is told before a folder is made.
        let settings = self.settings()?;
        let directory = kept.map_or_else(|| RunDirectory::fresh(self.database), Ok)?;
        let result = match self.backend {
            Backend::Npu => self.under_msprof(&directory, resumed),
            _ => self.in_this_process(&directory, &settings),
        };
        match result {
            Ok(Profiled { summaries, status }) => Ok(Measured {
                directory,
                summaries,
                status: status
                    .and_then(|status| serde_json::to_value(status).ok())
                    .and_then(|value| serde_json::from_value(value).ok()),
                asked: Asked { resumed, ..asked(&settings, self.arguments) },
            }),
            Err(error) => {
                preserved(self.arguments, &directory);
                Err(stopped(error))
            }
        }
    }

    fn under_msprof(&self, directory: &RunDirectory, resumed: bool) -> Result<Profiled, Error> {
        if resumed {
            strike_unmeasured(directory.path(), self.aggregate)?;
        }
        let replay = self.arguments.replay_command(run_all_op_program());
        let profiling = Profiling {
            replay: &replay,
            selected: self.selected,
            operators: self.operators,
            quiet_stdout: self.arguments.json_on_stdout(),
            tell: &|line| notice(self.arguments, line),
            interrupt: self.interrupt,
        };
        profiling.run(directory.path())
    }

    fn in_this_process(&self, directory: &RunDirectory, settings: &RunSettings) -> Result<Profiled, Error> {
        let output = directory.path();
        let settings =
            RunSettings { output: output.to_owned(), journal: Some(directory.journal()), ..settings.clone() };
        let old = own_profiles(output)?;
        let options = RunAllOptions {
            database: self.database.to_owned(),
            operators: run_all::choose(self.operators.unwrap_or_default())?,
            continue_on_error: !self.arguments.fail_fast,
            status_file: directory.status_file(),
        };
        let narrator = Narrator::to_stderr();
        let notify = |event: perfdb_replay::session::Event<'_>| narrator.tell(event);
        let starters = starters(&settings, self.interrupt, &worker_listener());
        let outcome = run_all::run(&options, &settings, starters, self.interrupt, &notify)?;
        if let Some(report) = &outcome.report {
            narrator.tell_end(report.counts, report.op_summary.as_deref());
            if report.op_summary.is_some() {
                // The new file has the earlier samples too.
                for profile in &old {
                    std::fs::remove_dir_all(profile).map_err(|source| Error::io(profile, source))?;
                }
            }
        }
        let profiles = find_profiles(output)?;
        let summaries = summaries_of(&profiles)?;
        match outcome.stopped_by {
            Some(error @ Error::Interrupted(_)) => return Err(error),
            Some(error) if summaries.is_empty() => return Err(error),
            Some(error) => notice(
                self.arguments,
                &format!(
                    "[WARN] the replay stopped ({error}), but {} op_summary file(s) were generated under {}. \
                     Continuing with generated profiling data.",
                    summaries.len(),
                    output.display()
                ),
            ),
            None => {}
        }
        require_data(output, &profiles, &summaries)?;
        Ok(Profiled { summaries, status: read_status(output) })
    }

    /// The settings of a run in this process, which the command line of run-all-op stands for.
    fn settings(&self) -> Result<RunSettings, Failure> {
        let arguments = self.arguments;
        let mut settings = arguments.replay.settings(self.backend, PathBuf::new(), run_id(None))?;
        settings.tool = "start-microbench";
        settings.update_mode = match arguments.update_mode {
            UpdateMode::All => PlanUpdateMode::All,
            UpdateMode::MissingOnly => PlanUpdateMode::MissingOnly,
        };
        settings.lock_timeout = arguments.lock.lock_timeout;
        if self.backend == Backend::Npu {
            settings.repeats =
                Repeats { flag: u32::try_from(arguments.repeat_count).ok().filter(|&count| count > 0), variable: None };
            return Ok(settings);
        }
        settings.repeats = repeat_count(Some(arguments.repeat_count).filter(|&count| count != 0))?;
        let number = |name: &str, value: i64| {
            u32::try_from(value)
                .map_err(|_| Failure::lines(vec![format!("--dispatch-ffn-combine-{name}: {value} is out of range")]))
        };
        let defaults = PlanOptions::default();
        let ep_size = number("ep-size", arguments.dispatch_ffn_combine_ep_size)?;
        settings.dispatch = PlanOptions { ep_size: if ep_size == 0 { defaults.ep_size } else { ep_size }, ..defaults };
        let port = arguments.dispatch_ffn_combine_master_port.map(|port| number("master-port", port)).transpose()?;
        settings.launch = Launch {
            per_node: arguments
                .dispatch_ffn_combine_nproc_per_node
                .map(|count| number("nproc-per-node", count))
                .transpose()?,
            nodes: number("nnodes", arguments.dispatch_ffn_combine_nnodes)?,
            node_rank: number("node-rank", arguments.dispatch_ffn_combine_node_rank)?,
            master_port: port.and_then(|port| u16::try_from(port).ok()),
            ..settings.launch
        };
        settings.check()?;
        Ok(settings)
    }
}

fn asked(settings: &RunSettings, arguments: &Arguments) -> Asked {
    Asked {
        backend: settings.backend.name().to_owned(),
        repeats: u32::try_from(arguments.repeat_count).ok().filter(|&count| count > 0),
        warmup: settings.warmup,
        seed: settings.seed,
        fresh_inputs: settings.has_fresh_inputs(),
        resumed: false,
    }
}

/// The program that msprof starts: `$PERFDB_RUN_ALL_OP` split at blanks, else run-all-op.
fn run_all_op_program() -> Vec<OsString> {
    let variable = std::env::var("PERFDB_RUN_ALL_OP").unwrap_or_default();
    let words: Vec<OsString> = variable.split_whitespace().map(OsString::from).collect();
    if !words.is_empty() {
        return words;
    }
    words_for(run_all_op::TOOL.name)
}

/// A line of the run's own, on stdout; on stderr where stdout is needed for JSON.
pub fn notice(arguments: &Arguments, line: &str) {
    if arguments.json_on_stdout() {
        crate::print_line(line);
    } else {
        let _ = print(&format!("{line}\n"));
    }
}

/// Says where a failed run's data is.
pub fn preserved(arguments: &Arguments, directory: &RunDirectory) {
    notice(arguments, &format!("[PRESERVE] profiling data kept for debugging: {}", directory.path().display()));
}
