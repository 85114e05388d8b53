//! Where the time of one trace goes.

use crate::comparison::usable_cores;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print_escaped, print_note, run};
use clap::{Parser, ValueEnum};
use perfdb_files::escape::shown;
use perfdb_files::replace::{Parents, Staged, commit, refuse_inputs};
use perfdb_report::one_trace;
use perfdb_tracediff::{
    KindOfStep, LoadOptions, OneTrace, PhaseFilter, Selection, Trace, explain, kinds, open_devices,
};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "explain-trace",
    job: Job::CheckTrace,
    summary: "say where the time of a step goes, from one trace",
    main,
    command: command_of::<Arguments>,
};

/// Say where the time of a step goes, from one GPU trace
///
/// Each instant of a step belongs to exactly one of five parts: compute, exposed communication, exposed copies, host late and
/// device idle. The text is about the kind of step with most time; JSON and CSV have all steps.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  explain-trace trace.json.gz
  explain-trace --json trace.json.gz > report.json
  explain-trace --phase decode --max-bytes 2000 trace.json.gz
  explain-trace --testlist shapes.jsonl trace.json.gz

Exit status: 0 done, 1 failed, 2 wrong usage."
)]
struct Arguments {
    /// Trace of a GPU profiler, gzip or not
    trace: PathBuf,

    /// Form of the answer
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Write the answer to FILE
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Make the answer at most N bytes long, most important first; at least 512
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(512..))]
    max_bytes: Option<u64>,

    /// Look at one step: its name, its number from 0, or all
    #[arg(long, value_name = "NAME|INDEX|all")]
    step: Option<String>,

    /// Look at the steps of one phase: prefill, decode or mixed
    #[arg(long, value_name = "PHASE", default_value = "all", hide_default_value = true)]
    phase: PhaseFilter,

    /// Trace of the capture of the graphs that are replayed: it names their operators
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,

    /// Peaks of devices as YAML
    #[arg(long, value_name = "FILE")]
    devices: Option<PathBuf>,

    /// List at most N names of kernels, and at most N operators with --testlist
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Also write the operators that matter with their shapes and counts, as JSON lines
    #[arg(long, value_name = "FILE")]
    testlist: Option<PathBuf>,
}

/// Form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// One screen.
    Text,
    /// All figures (docs/formats/explain-trace.md).
    Json,
    /// Tables for a comment.
    Markdown,
    /// A row per step.
    Csv,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let form = if arguments.json { Form::Json } else { arguments.format };
    let outputs = [&arguments.output, &arguments.testlist].into_iter().flatten();
    let inputs = [Some(&arguments.trace), arguments.capture.as_ref(), arguments.devices.as_ref()];
    refuse_inputs(outputs.map(PathBuf::as_path), inputs.into_iter().flatten().map(PathBuf::as_path))?;
    let options = LoadOptions { alone: true, threads: usable_cores(), ..LoadOptions::default() };
    let trace = Trace::open_with_capture(&arguments.trace, arguments.capture.as_deref(), &options)?;
    for note in trace.notes() {
        print_note(&format!("{}: {note}", shown(trace.path())));
    }
    let devices = arguments.devices.as_deref().map(open_devices).transpose()?.unwrap_or_default();
    let mut selection = Selection { phase: arguments.phase, rows: None, top: Some(arguments.top), devices };
    let mut one = explain(&trace, &selection)?;
    if let Some(step) = arguments.step.as_deref().filter(|step| *step != "all") {
        selection.rows = Some(rows_of(&one, step)?);
        one = explain(&trace, &selection)?;
    }
    let answer = answer(&trace, &one, &selection, form, arguments.max_bytes)?;
    let mut written = Vec::new();
    if let Some(path) = &arguments.testlist {
        written.push(Staged::with(path, one_trace::testlist(&one, arguments.top).as_bytes(), Parents::MustExist)?);
    }
    match &arguments.output {
        Some(path) => written.push(Staged::with(path, answer.as_bytes(), Parents::MustExist)?),
        None => print_escaped(&answer)?,
    }
    commit(written)?;
    Ok(Status::Success)
}

/// Rows of the step of that name or number.
fn rows_of(one: &OneTrace, step: &str) -> Result<Vec<usize>, Failure> {
    let named = |row: &usize| one.steps[*row].name.as_deref() == Some(step);
    let mut rows: Vec<usize> = (0..one.steps.len()).filter(named).collect();
    if rows.is_empty() {
        rows.extend(step.parse::<usize>().ok().filter(|number| *number < one.steps.len()));
    }
    if rows.is_empty() {
        let names: Vec<&str> = one.steps.iter().filter_map(|step| step.name.as_deref()).take(20).collect();
        let count = one.steps.len();
        let reason = format!("{}: no step {step:?}; it has {count}: {}", one.file, names.join(", "));
        return Err(Failure::lines(vec![reason]));
    }
    Ok(rows)
}

fn answer(
    trace: &Trace,
    one: &OneTrace,
    selection: &Selection,
    form: Form,
    max_bytes: Option<u64>,
) -> Result<String, Failure> {
    let limit = max_bytes.map_or(usize::MAX, |bytes| bytes.try_into().unwrap_or(usize::MAX));
    let json = |one: &OneTrace| serde_json::to_string(one).unwrap_or_default() + "\n";
    match form {
        Form::Json => Ok(one_trace::bounded_json(one, limit, json)),
        Form::Csv => Ok(one_trace::bounded_lines(one, limit, one_trace::csv)),
        Form::Text | Form::Markdown => {
            let kinds = kinds(one);
            let (shown, lines) = match (kinds.as_slice(), &selection.rows) {
                ([most, _, ..], None) => {
                    let one = explain(trace, &Selection { rows: Some(most.rows.clone()), ..selection.clone() })?;
                    let lines = first_lines(&one, &kinds);
                    (one, lines)
                }
                _ => (one.clone(), vec![one.verdict.clone()]),
            };
            let render = if form == Form::Text { one_trace::text } else { one_trace::markdown };
            Ok(one_trace::bounded_lines(&shown, limit, |one| render(one, &lines)))
        }
    }
}

/// The verdict about the kind with most time, and how many steps of the others there are.
fn first_lines(one: &OneTrace, kinds: &[KindOfStep]) -> Vec<String> {
    let name = |kind: &KindOfStep| kind.phase.map_or_else(String::new, |phase| format!(" {phase}"));
    let kind = |kind: &KindOfStep| format!("{}{} of {:.3} ms", kind.rows.len(), name(kind), kind.median_ms);
    let all: Vec<String> = kinds.iter().take(4).map(kind).collect();
    vec![one.verdict.clone(), format!("steps: {} (medians); below: the first kind", all.join(", "))]
}
