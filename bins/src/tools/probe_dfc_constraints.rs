//! probe-dfc-constraints: which shapes DispatchFFNCombine takes on this device.

use crate::registry::{Job, Tool};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::json_file::JsonFile;
use crate::replay::{ReplayArguments, stopped, worker_listener};
use crate::{Failure, Status, command_of, print, run};
use clap::Parser;
use perfdb_replay::backend::Backend;
use perfdb_replay::executor::start::starters;
use perfdb_replay::probe::{self, ProbeReport, ProbeResult};

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "probe-dfc-constraints",
    job: Job::MeasureOperators,
    summary: "find the shapes that DispatchFFNCombine takes",
    main,
    command: command_of::<Arguments>,
};

/// Try 21 shapes of DispatchFFNCombine, each in a worker of its own, and derive alignment rules from what runs.
#[derive(Debug, Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// Who runs the tries: npu, native, torch-cpu or torch-cuda [default: $PERFDB_REPLAY_BACKEND, else npu]
    #[arg(long, value_name = "BACKEND")]
    backend: Option<Backend>,

    /// Another worker than the shipped one [default: $PERFDB_WORKER]
    #[arg(long, value_name = "CMD")]
    worker: Option<OsString>,

    /// Interpreter of the shipped worker [default: $PERFDB_PYTHON, else python3]
    #[arg(long, value_name = "PATH")]
    python: Option<OsString>,

    /// Longest time for one try, in seconds
    #[arg(long, value_name = "S", default_value = "30", value_parser = crate::database::seconds)]
    timeout: Duration,

    /// Pause between tries, in seconds
    #[arg(long, value_name = "S", default_value = "0.5", value_parser = crate::database::seconds)]
    pause: Duration,

    /// Write results, conclusions and advice as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  probe-dfc-constraints --json probe.json
  probe-dfc-constraints --backend native --pause 0
  probe-dfc-constraints --python ./venv/bin/python --json probe.json

Exit status: 0 done, 1 failed, 2 wrong usage.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], main_of)
}

fn main_of(arguments: Arguments) -> Result<Status, Failure> {
    if arguments.timeout.is_zero() {
        return Err(Failure::lines(vec!["--timeout must be a time above 0 seconds".to_owned()]));
    }
    let replay = ReplayArguments {
        backend: arguments.backend,
        worker: arguments.worker,
        python: arguments.python,
        case_timeout: Some(arguments.timeout.as_secs_f64()),
        ..ReplayArguments::default()
    };
    let (backend, _) = replay.backend(Backend::Npu)?;
    let settings = replay.settings(backend, PathBuf::from("."), String::new())?;
    let json = JsonFile::open(arguments.json.as_ref().map(|path| path.as_os_str()))?;
    let interrupt = perfdb_files::interrupt::cooperate().clone();
    let starters = starters(&settings, &interrupt, &worker_listener());
    let mut header = format!(
        "{:<8} {:<11} {:>3} {:>5} {:>6} {:>8} {:>5} result\n",
        "category", "case", "m", "k", "inter", "experts", "topk"
    );
    let report = probe::run(&*starters.single, arguments.pause, &interrupt, &mut |result| {
        let _ = print(&(std::mem::take(&mut header) + &line(result)));
    });
    let report = report.map_err(stopped)?;
    print(&conclusions(&report))?;
    if let Some(json) = json {
        json.write(&report)?;
    }
    Ok(Status::Success)
}

fn line(result: &ProbeResult) -> String {
    let ProbeResult { probe, detail, .. } = result;
    format!(
        "{:<8} {:<11} {:>3} {:>5} {:>6} {:>8} {:>5} {detail}\n",
        probe.category.name(),
        probe.case,
        probe.m,
        probe.k,
        probe.inter,
        probe.experts,
        probe.topk
    )
}

fn conclusions(report: &ProbeReport) -> String {
    let conclusions = &report.conclusions;
    let experts = conclusions.experts_max.map_or("none ran".to_owned(), |largest| format!("up to {largest}"));
    let mut text = format!(
        "\nhidden:  {}\ninter:   {}\ntokens:  {}\nexperts: {experts}\n",
        conclusions.hidden, conclusions.inter, conclusions.tokens
    );
    for (what, alignment) in
        [("hidden", report.advice.hidden_alignment), ("intermediate", report.advice.inter_alignment)]
    {
        if let Some(alignment) = alignment {
            text.push_str(&format!("Make {what} sizes a multiple of {alignment}.\n"));
        }
    }
    if report.advice.tokens_caution {
        text.push_str("Not every number of tokens runs: check the sizes that you need.\n");
    }
    text
}
