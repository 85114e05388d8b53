//! What the tools of the communication bench share: options of a run, progress, and how errors and outcomes are shown.

use crate::database::LockArguments;
use crate::run_record::measured_by;
use crate::{Failure, error_line, print_error, print_line, print_note, progress, warn};
use clap::{Args, ValueEnum};
use perfdb_comm::Error;
use perfdb_comm::backend::Backend;
use perfdb_comm::bench::Outcome;
use perfdb_comm::collective::Collective;
use perfdb_comm::dtype::CollectiveDType;
use perfdb_comm::engine::{Event, Launcher, NamedInterpreter};
use perfdb_comm::plan::{BenchMode, PlanWarning};
use perfdb_comm::tables::Existing;
use perfdb_files::escape::shown;
use perfdb_store::provenance::Run;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Mutex;

/// Options of both tools that run the bench.
#[derive(Debug, Args)]
#[command(next_help_heading = "Engine and results")]
pub struct RunArguments {
    /// Engine that moves the data; `auto` takes hccl (torch_npu), else nccl (a CUDA device per rank), else gloo (CPUs)
    #[arg(long, value_name = "BACKEND", default_value = "auto")]
    pub backend: BackendName,

    /// What starts the ranks; `auto` is torchrun, and on one node the tool itself where torchrun cannot
    #[arg(long, value_name = "LAUNCHER", default_value = "auto")]
    pub launcher: LauncherName,

    /// Interpreter that has torch [default: $PERFDB_PYTHON, else python3, torchrun's, or the system's]
    #[arg(long, value_name = "PATH")]
    pub python: Option<OsString>,

    /// What happens to rows of a table that are there already: `merge` replaces those measured again
    #[arg(long, value_name = "MODE", default_value = "merge")]
    pub existing: ExistingName,

    /// Also write latencies with algorithm and bus bandwidth (nccl-tests convention): CSV, or JSON if FILE ends in .json
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Record in database.toml beside the tables that NAME has measured these operators now, and how
    #[arg(long, value_name = "NAME", conflicts_with_all = ["plan", "plan_out"])]
    pub measured_by: Option<String>,

    /// Write times into the folder of a device whose engine did not measure them
    #[arg(long)]
    pub allow_foreign_times: bool,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would show it as help")]
    pub lock: LockArguments,
}

impl RunArguments {
    /// The interpreter asked for by flag or variable.
    pub fn interpreter(&self) -> Option<NamedInterpreter> {
        let variable = std::env::var_os("PERFDB_PYTHON");
        let named = self.python.clone().filter(|value| !value.is_empty());
        named.or(variable.filter(|value| !value.is_empty())).map(|program| NamedInterpreter { program })
    }

    /// The engine asked for.
    pub fn backend(&self) -> Option<Backend> {
        match self.backend {
            BackendName::Auto => None,
            BackendName::Hccl => Some(Backend::Hccl),
            BackendName::Nccl => Some(Backend::Nccl),
            BackendName::Gloo => Some(Backend::Gloo),
        }
    }

    /// What is recorded of a run of this tool, if it is to be.
    pub fn run_of(&self, tool: &str) -> Result<Option<Run>, Failure> {
        self.measured_by.as_ref().map(|name| measured_by(name, tool)).transpose()
    }

    /// What starts the ranks.
    pub fn launcher(&self) -> Launcher {
        match self.launcher {
            LauncherName::Auto => Launcher::Auto,
            LauncherName::Torchrun => Launcher::Torchrun,
            LauncherName::Direct => Launcher::Direct,
        }
    }

    /// What happens to rows that are there already.
    pub fn existing(&self) -> Existing {
        match self.existing {
            ExistingName::Merge => Existing::Merge,
            ExistingName::Append => Existing::Append,
            ExistingName::Error => Existing::Error,
        }
    }
}

/// `--backend`
#[derive(Clone, Copy, Debug, ValueEnum)]
#[expect(missing_docs, reason = "clap would show it as help")]
pub enum BackendName {
    Auto,
    Hccl,
    Nccl,
    Gloo,
}

/// `--launcher`
#[derive(Clone, Copy, Debug, ValueEnum)]
#[expect(missing_docs, reason = "clap would show it as help")]
pub enum LauncherName {
    Auto,
    Torchrun,
    Direct,
}

/// `--existing`
#[derive(Clone, Copy, Debug, ValueEnum)]
#[expect(missing_docs, reason = "clap would show it as help")]
pub enum ExistingName {
    Merge,
    Append,
    Error,
}

/// `--bench-mode`
#[derive(Clone, Copy, Debug, ValueEnum)]
#[expect(missing_docs, reason = "clap would show it as help")]
pub enum BenchModeName {
    Kernel,
    Event,
}

impl From<BenchModeName> for BenchMode {
    fn from(name: BenchModeName) -> Self {
        match name {
            BenchModeName::Kernel => Self::Kernel,
            BenchModeName::Event => Self::Event,
        }
    }
}

/// Parses an operator.
pub fn collective(text: &str) -> Result<Collective, String> {
    let names = Collective::ALL.map(Collective::name).join(", ");
    Collective::from_name(text).ok_or_else(|| format!("unknown operator; one of {names}"))
}

/// Parses a dtype.
pub fn data_type(text: &str) -> Result<CollectiveDType, String> {
    CollectiveDType::from_torch_name(text).ok_or_else(|| format!("unknown dtype; one of {}", CollectiveDType::names()))
}

/// Parses an integer of 0 or more, in digits alone.
pub fn count(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| "not an integer of 0 or more".to_owned())
}

/// The library's error as the tool's failure: options by the names of their flags, with the flag that would help, and exit 2
/// where the command line or the environment is at fault.
pub fn failure(error: Error) -> Failure {
    let text = message(&error);
    if error.is_usage() { Failure::usage(text) } else { Failure::lines(vec![text]) }
}

/// The text of an error, with the flags of the tools.
pub fn message(error: &Error) -> String {
    let text = error_line(error);
    match error {
        Error::Usage { option, reason } => format!("{}: {reason}", flag(option)),
        Error::SeveralOperators => {
            format!("{}; name one with --ops, or use --output-dir", text.replacen("output_csv", "--output-csv", 1))
        }
        Error::WorldTooSmall { .. } | Error::NoBackend { .. } => format!("--{text}"),
        Error::ForeignTimes { .. } => format!("{text}; --allow-foreign-times writes them all the same"),
        Error::TableExists(_) => format!("{text}; --existing merge or --existing append extends it"),
        Error::ResultsExist { .. } => format!(
            "{}; name another folder, or turn them into rows with --from-results",
            text.replacen("results_dir", "--results-dir", 1)
        ),
        Error::NoInterpreter { .. } => {
            format!("{text}, or name an interpreter with --python; --plan needs none")
        }
        Error::Interrupted { results: Some(folder) } => {
            format!("ended by a signal; --from-results {} makes rows of what was measured", shown(folder))
        }
        _ => text,
    }
}

/// The flag of an option; a variable of the environment is its own name.
fn flag(option: &str) -> String {
    if option.contains(|character: char| character.is_ascii_lowercase()) {
        format!("--{}", option.replace('_', "-"))
    } else {
        option.to_owned()
    }
}

/// A warning of a plan, with the flag.
pub fn plan_warning(warning: &PlanWarning) -> String {
    format!("{} {}: {}", flag(warning.option), warning.value, warning.reason)
}

/// Shows what a run reports: notes and warnings as lines, progress as a bar.
#[derive(Default)]
pub struct Display {
    bar: Mutex<Option<indicatif::ProgressBar>>,
}

impl Display {
    /// Shows one event.
    pub fn show(&self, event: Event) {
        match event {
            Event::Note(text) => print_note(&text),
            Event::Waiting(text) => print_line(&text),
            Event::Warning(text) => warn(&text),
            Event::ResultsKept(folder) => {
                print_note(&format!("raw results are in {}; --from-results makes rows of them", shown(&folder)));
            }
            Event::Progress { phase, step, steps, point } => {
                if let Ok(mut bar) = self.bar.lock() {
                    let bar = bar.get_or_insert_with(|| progress::items("points", Some(steps)));
                    bar.set_position(step.saturating_sub(1));
                    bar.set_message(format!("{} {point}", phase.name()));
                }
            }
            Event::ProgressEnd => {
                if let Some(bar) = self.bar.lock().ok().and_then(|mut bar| bar.take()) {
                    bar.finish_and_clear();
                }
            }
        }
    }
}

/// Shows what a run left out and where its results are.
pub fn report_outcome(outcome: &Outcome) {
    if let Some(failure) = &outcome.failure {
        print_error(failure);
    }
    for missing in &outcome.missing {
        print_error(&format!("no row for {}: {}", missing.point, missing.reason));
    }
    for table in &outcome.written {
        print_note(&table.to_string());
    }
    if outcome.bad_shutdown {
        print_note("the launcher died while shutting down; all data was safe by then");
    }
    if let Some(folder) = &outcome.kept_results {
        print_note(&format!("raw results are in {}", folder.display()));
    }
}
