//! What is wrong with a trace or kernel table, and a repaired copy of it.

use crate::hints::{ForeignFormat, foreign_format};
use crate::json_file::JsonFile;
use crate::provenance::provenance;
use crate::registry::{Job, Tool};
use crate::terminal::TerminalArguments;
use crate::{Failure, Status, command_of, print_escaped, print_line, print_note, print_styled, run};
use clap::Parser;
use clap::builder::PossibleValuesParser;
use perfdb_doctor::{Code, Input, Kind, Options, Packing, Report, Selection, repaired_line};
use perfdb_files::replace::{Parents, Staged, commit, refuse_inputs};
use perfdb_report::list_csv::{OF_TRACE_CHECK, list_csv};
use perfdb_report::pages::doctor_page;
use perfdb_report::trace_check::text;
use perfdb_trace::profile::file_in;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "check-trace",
    job: Job::CheckTrace,
    summary: "find what is wrong with a trace, and repair it",
    main,
    command: command_of::<Arguments>,
};

/// Report what is wrong with a trace, how much of its time that touches, and how far its numbers can be trusted.
///
/// FILE is a chrome trace of a GPU profiler (any Kineto since 1.8) or of the simulator, or a table with a row per kernel
/// (kernel_details, a forward pass, op_summary), gzip or not, or the folder of a profiler. Exit status 3 when something is found; notes do not
/// count.
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// Trace or kernel table, or the folder of a profiler that has one
    file: PathBuf,

    /// Print the report as JSON (docs/schemas/check-trace.json)
    #[arg(long)]
    json: bool,

    /// Also write one HTML page with all findings
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Also write the report as JSON to FILE
    #[arg(long, value_name = "FILE")]
    result_json: Option<PathBuf>,

    /// Also write a line for each finding as CSV to FILE
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write a repaired copy to OUT; gzip if the name ends in .gz
    ///
    /// Fixes damaged text, doubled events and old names; invents no time, name or id.
    #[arg(long, value_name = "OUT")]
    repair: Option<PathBuf>,

    #[command(flatten)]
    terminal: TerminalArguments,

    /// Look for these findings only
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = codes(), hide_possible_values = true, action = clap::ArgAction::Set)]
    only: Vec<String>,

    /// Findings that are listed and count neither for the exit status nor for the trust
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = codes(), hide_possible_values = true, action = clap::ArgAction::Set)]
    ignore: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  check-trace trace.json.gz
  check-trace --json --ignore OVERLAP_PDL,ENDS_EARLY trace.json > report.json
  check-trace --repair mended.json.gz broken.json
  check-trace -o findings.html kernel_details.csv

The findings are explained in docs/guide/check-trace.md.

Exit status: 0 nothing but notes, 1 failed, 2 wrong usage, 3 something found.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let file = if arguments.file.is_dir() { file_in(&arguments.file)? } else { arguments.file };
    let outputs = [&arguments.repair, &arguments.html, &arguments.result_json, &arguments.csv].into_iter().flatten();
    refuse_inputs(outputs.map(PathBuf::as_path), [file.as_path()])?;
    let json = JsonFile::open(arguments.result_json.as_ref().map(|path| path.as_os_str()))?;
    let csv = JsonFile::open(arguments.csv.as_ref().map(|path| path.as_os_str()))?;
    let selection = Selection { only: known(&arguments.only), ignore: known(&arguments.ignore) };
    let input = Input::open(&file).map_err(|error| perfdb_files::Error::io(&file, error))?;
    let report = input.check(&Options { selection, ..Options::default() })?;
    let mut written = Vec::new();
    if let Some(path) = &arguments.html {
        let page = doctor_page(&report, provenance(TOOL.name, [("checked", file.as_path())]));
        written.push(Staged::with(path, page.to_html()?.as_bytes(), Parents::MustExist)?);
    }
    if let Some(json) = json {
        written.push(json.stage_text(&(serde_json::to_string_pretty(&report.to_json())? + "\n"))?);
    }
    if let Some(csv) = csv {
        let document = report.to_json();
        let findings = [&document["findings"], &document["notes"]].into_iter().filter_map(Value::as_array).flatten();
        written.push(csv.stage_text(&list_csv(&OF_TRACE_CHECK, &findings.cloned().collect()))?);
    }
    let is_read = |format: &ForeignFormat| *format == ForeignFormat::Sqlite && report.kind != Kind::Unknown;
    if let Some(format) = foreign_format(&file).filter(|format| !is_read(format)) {
        print_note(&format!("{}: {}", report.file, format.hint(&file)));
    }
    if arguments.json {
        print_escaped(&(serde_json::to_string_pretty(&report.to_json())? + "\n"))?;
    } else {
        print_styled(&text(&report, arguments.terminal.layout()))?;
    }
    let mut repaired = Vec::new();
    if let Some(out) = &arguments.repair {
        let (staged, lines) = stage_repaired(&input, &report, out)?;
        written.push(staged);
        repaired = lines;
    }
    commit(written)?;
    for line in repaired {
        if arguments.json { print_line(&line) } else { print_escaped(&(line + "\n"))? }
    }
    let broken = report.certificate.broken();
    if !broken.is_empty() {
        let reason = format!("{}: sums do not add up ({}): a bug of check-trace", report.file, broken.join(", "));
        return Err(Failure::lines(vec![reason]));
    }
    Ok(if report.has_findings() { Status::LimitPassed } else { Status::Success })
}

/// Stages the copy; what was repaired.
fn stage_repaired(input: &Input, report: &Report, out: &Path) -> Result<(Staged, Vec<String>), Failure> {
    let mut staged = Staged::create(out, Parents::MustExist)?;
    let repairs = input.repair(report, &mut staged, Packing::of(out))?;
    Ok((staged, repairs.counts().iter().map(|(code, count)| repaired_line(*code, *count)).collect()))
}

fn codes() -> PossibleValuesParser {
    PossibleValuesParser::new(Code::ALL.iter().map(|code| code.name()))
}

fn known(names: &[String]) -> Vec<Code> {
    names.iter().filter_map(|name| name.parse().ok()).collect()
}
