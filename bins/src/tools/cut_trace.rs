//! A piece of a trace as a trace of its own.

use crate::comparison::usable_cores;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print_escaped, print_note, run};
use clap::Parser;
use perfdb_files::replace::{Parents, Staged, commit, refuse_inputs};
use perfdb_report::one_trace;
use perfdb_trace::cut::{Counts, Cut, CutError, Piece, Spans, first_time};
use perfdb_trace::timeline::Target;
use perfdb_tracediff::{LoadOptions, PhaseFilter, Selection, Trace, explain, piece};
use std::ffi::OsString;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "cut-trace",
    job: Job::CheckTrace,
    summary: "copy one step, a phase or a span of time of a trace",
    main,
    command: command_of::<Arguments>,
};

/// Copy one step, the steps of a phase or a span of time of a GPU trace
///
/// Writes a trace that other tools and viewers open. Events are copied byte for byte, with the launches and arrows of what
/// runs on the device. Without --step, --phase and --window it lists the steps.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  cut-trace trace.json.gz
  cut-trace trace.json.gz --step ProfilerStep#6 -o step.json.gz
  cut-trace trace.json.gz --phase decode --no-stacks -o decode.json.gz
  cut-trace trace.json.gz --window 100..250 -o part.json --rest rest.json

Exit status: 0 done, 1 failed (also when there is no such step), 2 wrong usage."
)]
struct Arguments {
    /// Trace of a GPU profiler (JSON), gzip or not
    trace: PathBuf,

    /// Copy one step: its name, or its number from 0
    #[arg(long, value_name = "NAME|INDEX", requires = "output", conflicts_with_all = ["phase", "window"])]
    step: Option<String>,

    /// Copy the steps of one phase: prefill, decode or mixed
    #[arg(long, value_name = "PHASE", requires = "output", conflicts_with = "window")]
    phase: Option<PhaseFilter>,

    /// Copy a span of time, in ms from the first event
    #[arg(long, value_name = "FROM..TO", requires = "output")]
    window: Option<Window>,

    /// Trace to write; gzip if the name ends in .gz
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Leave out Python stacks
    #[arg(long)]
    no_stacks: bool,

    /// Also write everything else as a trace
    #[arg(long, value_name = "FILE", requires = "output")]
    rest: Option<PathBuf>,
}

/// A span of time in picoseconds from the first event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    from: i128,
    to: i128,
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Window, String> {
        let form = || "two times in ms are needed, such as 100..250".to_owned();
        let (from, to) = text.split_once("..").ok_or_else(form)?;
        // A number of µs a thousand times as large.
        let time = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let time = is_number.then(|| perfdb_trace::time::picoseconds(text.as_bytes())).flatten();
            time.map(|time| time * 1000).ok_or_else(form)
        };
        let window = Window { from: time(from)?, to: time(to)? };
        if window.from >= window.to {
            return Err("the end must be behind the start".to_owned());
        }
        Ok(window)
    }
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let path = &arguments.trace;
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        let reason = "it is read several times, which a pipe or folder cannot be; write it to a file first";
        return Err(Failure::lines(vec![format!("{}: {reason}", path.display())]));
    }
    let outputs = [&arguments.output, &arguments.rest].into_iter().flatten();
    refuse_inputs(outputs.map(PathBuf::as_path), [path.as_path()])?;
    let piece = match arguments.window {
        Some(window) => of_time(path, window)?,
        None => match of_steps(&arguments)? {
            Some(piece) => piece,
            None => return Ok(Status::Success),
        },
    };
    let piece = Piece { no_stacks: arguments.no_stacks, ..piece };
    let Some(output) = &arguments.output else {
        return Err(Failure::usage("--output FILE is needed"));
    };
    let counts = write(path, &piece, output, arguments.rest.as_deref())?;
    print_note(&format!("{} events written to {}", counts.piece, output.display()));
    if let Some(rest) = &arguments.rest {
        print_note(&format!("{} events written to {}; {} are in both", counts.rest, rest.display(), counts.both));
    }
    if counts.stacks > 0 {
        print_note(&format!("{} Python frames left out", counts.stacks));
    }
    Ok(Status::Success)
}

fn of_time(path: &Path, window: Window) -> Result<Piece, Failure> {
    let Some(first) = first_time(path)? else {
        return Err(Failure::lines(vec![format!("{}: no events", path.display())]));
    };
    Ok(Piece::of_time(Spans::new([(first + window.from, first + window.to)])))
}

/// The piece of the steps that are chosen; where none is, they are listed.
fn of_steps(arguments: &Arguments) -> Result<Option<Piece>, Failure> {
    let chosen = arguments.step.is_some() || arguments.phase.is_some();
    let options =
        LoadOptions { alone: true, windows: chosen, stacks: false, threads: usable_cores(), ..LoadOptions::default() };
    let trace = Trace::open(&arguments.trace, &options)?;
    let mut selection = Selection { phase: arguments.phase.unwrap_or_default(), ..Selection::default() };
    let one = explain(&trace, &selection)?;
    if one.kind != "gpu-trace" {
        let reason = format!("{}: only traces in JSON are cut, and this is {}", one.file, one.kind);
        return Err(Failure::lines(vec![reason]));
    }
    if arguments.step.is_none() && arguments.phase.is_none() {
        if arguments.output.is_some() {
            return Err(Failure::usage("one of --step, --phase and --window must say what is copied"));
        }
        print_escaped(&one_trace::steps(&one))?;
        return Ok(None);
    }
    let title = match (&arguments.step, arguments.phase) {
        (Some(step), _) => {
            selection.rows = Some(super::explain_trace::rows_of(&one, step)?);
            format!("step {step}")
        }
        (None, phase) => format!("{} steps", phase.unwrap_or_default().name()),
    };
    let none = || {
        let reason = "no steps are annotated; --window FROM..TO cuts by time";
        Failure::lines(vec![format!("{}: {reason}", one.file)])
    };
    let piece = piece(&trace, &selection)?.ok_or_else(none)?;
    Ok(Some(Piece { title: Some(title), ..piece }))
}

fn write(path: &Path, piece: &Piece, output: &Path, rest: Option<&Path>) -> Result<Counts, Failure> {
    let target = |path: &Path| -> Result<_, Failure> {
        Ok(Target::of_name(path, BufWriter::new(Staged::create(path, Parents::MustExist)?)))
    };
    let mut out = target(output)?;
    let mut out_of_rest = rest.map(target).transpose()?;
    let unwritten = |path: &Path, error: io::Error| Failure::lines(vec![format!("{}: {error}", path.display())]);
    let counts = Cut::new(path, piece)?.write(&mut out, out_of_rest.as_mut().map(|out| out as &mut dyn io::Write));
    let counts = counts.map_err(|error| match error {
        CutError::Trace(error) => Failure::from(error),
        CutError::Write(error) => unwritten(output, error),
    })?;
    let staged = |path: &Path, out: Target<BufWriter<Staged>>| {
        let out = out.finish().map_err(|error| unwritten(path, error))?;
        out.into_inner().map_err(|error| unwritten(path, error.into_error()))
    };
    let mut written = vec![staged(output, out)?];
    if let (Some(path), Some(out)) = (rest, out_of_rest) {
        written.push(staged(path, out)?);
    }
    commit(written)?;
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::Window;

    #[test]
    fn windows_are_two_times_in_ms() {
        assert_eq!("1.5..20".parse(), Ok(Window { from: 1_500_000_000, to: 20_000_000_000 }));
        for text in ["", "1", "1..", "..2", "2..1", "1..1", "-1..2", "1e3..2", "nan..2"] {
            assert!(text.parse::<Window>().is_err(), "{text}");
        }
    }
}
