//! Where the time of one trace goes.

use crate::comparison::{notes_of, usable_cores};
use crate::one_output::{has_texts, markdown_is};
use crate::provenance::provenance;
use crate::registry::{Job, Tool};
use crate::table_file::TableFile;
use crate::terminal::TerminalArguments;
use crate::{Failure, Status, command_of, print_escaped, print_note, run};
use clap::builder::PossibleValuesParser;
use clap::{Parser, ValueEnum};
use perfdb_doctor::Code;
use perfdb_files::replace::{Parents, Staged, commit, refuse_inputs};
use perfdb_report::layout::Layout;
use perfdb_report::one_trace;
use perfdb_report::pages::one_trace_page;
use perfdb_trace::timeline::Target;
use perfdb_tracediff::{
    KindOfStep, LoadOptions, OneTrace, PhaseFilter, Selection, Trace, explain, kinds, listed, open_devices, tracks,
};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
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
  explain-trace trace.json.gz -o report.json -o report.html
  explain-trace trace.json.gz --phase decode --max-bytes 2000
  explain-trace trace.json.gz --testlist shapes.jsonl --trace-out steps.json.gz

Exit status: 0 done, 1 failed, 2 wrong usage."
)]
struct Arguments {
    /// Trace of a GPU profiler, gzip or not
    trace: PathBuf,

    /// Form of what is printed [default: text]
    #[arg(long, value_enum)]
    format: Option<Form>,

    /// The same as --format json
    #[arg(long, conflicts_with = "format", hide = true)]
    json: bool,

    /// Write the answer to FILE, in the form of --format
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Also write all figures as JSON to FILE
    #[arg(long, value_name = "FILE", hide = true)]
    result_json: Option<PathBuf>,

    /// Also write a row per step as CSV to FILE
    #[arg(long, value_name = "FILE", hide = true)]
    csv: Option<PathBuf>,

    /// Also write one HTML page to FILE
    #[arg(long, value_name = "FILE", hide = true)]
    html: Option<PathBuf>,

    /// Also write a row per step as a Parquet table to FILE
    #[arg(long, value_name = "FILE", hide = true)]
    parquet: Option<PathBuf>,

    /// Make the answer at most N bytes long, most important first; at least 512
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(512..))]
    max_bytes: Option<u64>,

    /// Take annotations that match a regular expression as steps
    #[arg(long, value_name = "REGEX")]
    steps: Option<String>,

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

    /// Codes of check-trace findings to accept
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = codes())]
    accept: Vec<String>,

    /// List at most N names of kernels, and at most N operators with --testlist
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Also write the operators that matter with their shapes and counts, as JSON lines
    #[arg(long, value_name = "FILE")]
    testlist: Option<PathBuf>,

    /// Also write steps, parts of the time and layers as a trace for Perfetto; gzip if the name ends in .gz
    #[arg(long, value_name = "FILE")]
    trace_out: Option<PathBuf>,
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
    /// A page that needs no network.
    Html,
    /// A row per step.
    Csv,
    /// A row per step; needs a file.
    Parquet,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let chosen = if arguments.json { Form::Json } else { arguments.format.unwrap_or(Form::Text) };
    let asked = [
        (Form::Json, &arguments.result_json),
        (Form::Csv, &arguments.csv),
        (Form::Html, &arguments.html),
        (Form::Parquet, &arguments.parquet),
        (chosen, &arguments.output),
    ];
    let files: Vec<(Form, &PathBuf)> =
        asked.into_iter().filter_map(|(form, path)| Some((form, path.as_ref()?))).collect();
    let outputs = files.iter().map(|(_, path)| *path).chain(&arguments.testlist).chain(&arguments.trace_out);
    let inputs = [Some(&arguments.trace), arguments.capture.as_ref(), arguments.devices.as_ref()];
    refuse_inputs(outputs.map(PathBuf::as_path), inputs.into_iter().flatten().map(PathBuf::as_path))?;
    let tables = files.iter().filter(|(form, _)| *form == Form::Parquet);
    // A program that does not write them says so before there is any work.
    let mut tables =
        tables.map(|(_, path)| TableFile::of(TOOL.name, path)).collect::<Result<Vec<_>, _>>()?.into_iter().peekable();
    if arguments.output.is_none() && chosen == Form::Parquet {
        return Err(Failure::usage("--format parquet needs --output FILE"));
    }
    if arguments.max_bytes.is_some() && tables.len() > 0 {
        return Err(Failure::usage("--max-bytes bounds no Parquet file"));
    }
    // Other forms show no Python frames.
    let mut forms = files.iter().map(|(form, _)| *form).chain(arguments.output.is_none().then_some(chosen));
    let shows_frames = forms.any(|form| form == Form::Html);
    let options = LoadOptions {
        stacks: shows_frames,
        alone: true,
        repeated_passes: arguments.phase != PhaseFilter::All || arguments.step.is_some(),
        pieces: arguments.trace_out.is_some(),
        steps: arguments.steps.clone(),
        accept: arguments.accept.iter().filter_map(|name| name.parse().ok()).collect(),
        threads: usable_cores(),
        ..LoadOptions::default()
    };
    let trace = Trace::open_with_capture(&arguments.trace, arguments.capture.as_deref(), &options)?;
    notes_of(&trace).for_each(|note| print_note(&note));
    let devices = arguments.devices.as_deref().map(open_devices).transpose()?.unwrap_or_default();
    let mut selection = Selection { phase: arguments.phase, rows: None, top: Some(arguments.top), devices };
    let mut one = explain(&trace, &selection)?;
    if let Some(step) = arguments.step.as_deref().filter(|step| *step != "all") {
        selection.rows = Some(rows_of(&one, step)?);
        one = explain(&trace, &selection)?;
    }
    let limit = arguments.max_bytes.map_or(usize::MAX, |bytes| bytes.try_into().unwrap_or(usize::MAX));
    let terminal = TerminalArguments::default();
    let layout = if arguments.output.is_some() { terminal.layout_of_files() } else { terminal.layout() };
    let answer = Answer { trace: &trace, one: &one, selection: &selection, limit, layout };
    let mut written = Vec::new();
    if let Some(path) = &arguments.testlist {
        written.push(Staged::with(path, one_trace::testlist(&one, arguments.top).as_bytes(), Parents::MustExist)?);
    }
    if let Some(path) = &arguments.trace_out {
        written.push(stage_tracks(path, &one_trace::tracks(&tracks(&trace, &selection)?))?);
    }
    for (form, path) in files {
        written.push(match (form, tables.next_if(|_| form == Form::Parquet)) {
            (_, Some(table)) => table.stage(perfdb_report::tables::steps(&one))?,
            (form, None) => Staged::with(path, answer.shown(form)?.as_bytes(), Parents::MustExist)?,
        });
    }
    if chosen == Form::Text && has_texts() {
        markdown_is(answer.shown(Form::Markdown)?);
    }
    if arguments.output.is_none() {
        print_escaped(&answer.shown(chosen)?)?;
    }
    commit(written)?;
    Ok(Status::Success)
}

fn codes() -> PossibleValuesParser {
    PossibleValuesParser::new(Code::ALL.iter().map(|code| code.name()))
}

fn stage_tracks(path: &Path, text: &str) -> Result<Staged, Failure> {
    let unwritten = |error: io::Error| Failure::lines(vec![format!("{}: {error}", path.display())]);
    let mut out = Target::of_name(path, Staged::create(path, Parents::MustExist)?);
    out.write_all(text.as_bytes()).map_err(unwritten)?;
    out.finish().map_err(unwritten)
}

/// Rows of the step of that name or number.
pub(super) fn rows_of(one: &OneTrace, step: &str) -> Result<Vec<usize>, Failure> {
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

/// What is shown in any form.
struct Answer<'a> {
    trace: &'a Trace,
    one: &'a OneTrace,
    selection: &'a Selection,
    /// Bytes at most.
    limit: usize,
    layout: Layout,
}

impl Answer<'_> {
    fn shown(&self, form: Form) -> Result<String, Failure> {
        let Answer { trace, one, limit, .. } = *self;
        match form {
            Form::Json => Ok(one_trace::bounded_json(one, limit)),
            Form::Csv | Form::Parquet => Ok(one_trace::bounded_csv(one, limit)),
            Form::Text | Form::Markdown | Form::Html => {
                let (shown, lines) = self.most_time()?;
                Ok(match form {
                    Form::Text => one_trace::bounded_text(&shown, &lines, limit, self.layout),
                    Form::Markdown => one_trace::bounded_markdown(&shown, &lines, limit),
                    _ => {
                        let page = one_trace_page(one, provenance(TOOL.name, [("explained", trace.path())]));
                        one_trace::bounded_html(&page, &shown, &lines, limit)?
                    }
                })
            }
        }
    }

    /// The kind of step with most time, and the first lines about it.
    fn most_time(&self) -> Result<(OneTrace, Vec<String>), Failure> {
        let kinds = kinds(self.one);
        Ok(match (kinds.as_slice(), &self.selection.rows) {
            ([most, _, ..], None) => {
                let selection = Selection { rows: Some(most.rows.clone()), ..self.selection.clone() };
                let one = explain(self.trace, &selection)?;
                let lines = first_lines(&one, &kinds);
                (one, lines)
            }
            _ => (self.one.clone(), vec![self.one.verdict.clone()]),
        })
    }
}

/// The verdict about the kind with most time, and how many steps of the others there are.
fn first_lines(one: &OneTrace, kinds: &[KindOfStep]) -> Vec<String> {
    vec![one.verdict.clone(), format!("steps: {} (medians); below: the first kind", listed(kinds))]
}
