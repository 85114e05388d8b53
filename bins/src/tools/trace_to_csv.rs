//! The events of a simulator's trace as a CSV.

use crate::comparison::usable_cores;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print_bytes, run};
use clap::Parser;
use perfdb_compare::event_table::{TableError, TablePart, read_events};
use perfdb_files::replace::{Parents, Staged, commit, refuse_inputs};
use perfdb_report::event_table::{header, push_event};
use std::ffi::OsString;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "trace-to-csv",
    job: Job::ComparePrediction,
    summary: "the events of a simulator's trace as CSV",
    main,
    command: command_of::<Arguments>,
};

/// Write the events of a TC chrome trace as a CSV
///
/// One row per complete (X) event of every process, in the order of the file.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  trace-to-csv --trace results/qwen3_dc_trace.json \\
      --output results/qwen3_dc_trace.csv
  trace-to-csv --trace trace.json.gz | head

Exit status: 0 done, 1 failed, 2 wrong usage."
)]
struct Arguments {
    /// TC chrome trace (JSON, may be gzip)
    #[arg(long, value_name = "FILE")]
    trace: OsString,

    /// CSV to write, in a folder that exists [default: standard output]
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    output: OsString,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &["trace", "output"], convert)
}

fn convert(arguments: Arguments) -> Result<Status, Failure> {
    let trace = Path::new(&arguments.trace);
    if arguments.output.is_empty() {
        return convert_to_stdout(trace);
    }
    let output = Path::new(&arguments.output);
    refuse_inputs([output], [trace])?;
    let create = || Staged::create(output, Parents::MustExist).map_err(io::Error::other);
    // Nobody needs the reason wrapped: the folder is missing, or no file can be made in it.
    let mut staged = Some(Staged::create(output, Parents::MustExist)?);
    write_rows(trace, &output.display().to_string(), |part| {
        if let TablePart::Restart = part {
            staged = None;
            staged = Some(create()?);
        }
        staged.as_mut().map_or(Ok(()), |staged| write_part(staged, part))
    })?;
    commit(staged.into_iter().collect())?;
    Ok(Status::Success)
}

/// Nothing is printed before the whole trace has been read: a large table waits in a file without a name.
fn convert_to_stdout(trace: &Path) -> Result<Status, Failure> {
    const IN_MEMORY: usize = 8 << 20;
    let mut spool = tempfile::SpooledTempFile::new(IN_MEMORY);
    write_rows(trace, "temporary file", |part| {
        if let TablePart::Restart = part {
            spool.rewind()?;
            spool.set_len(0)?;
        }
        write_part(&mut spool, part)
    })?;
    spool.rewind()?;
    let mut piece = vec![0; 1 << 16];
    loop {
        match spool.read(&mut piece)? {
            0 => return Ok(Status::Success),
            count => print_bytes(piece.get(..count).unwrap_or_default())?,
        }
    }
}

fn write_part(out: &mut impl Write, part: TablePart<Vec<u8>>) -> io::Result<()> {
    match part {
        TablePart::Rows(rows) => out.write_all(&rows),
        TablePart::Restart => out.write_all(header().as_bytes()),
    }
}

/// Reads the trace; the table starts with a [`TablePart::Restart`].
fn write_rows(
    trace: &Path,
    target: &str,
    mut sink: impl FnMut(TablePart<Vec<u8>>) -> io::Result<()>,
) -> Result<(), Failure> {
    let unwritable = |error: io::Error| Failure::lines(vec![format!("{target}: {error}")]);
    sink(TablePart::Restart).map_err(unwritable)?;
    read_events(trace, usable_cores(), push_event, sink).map_err(|error| match error {
        TableError::Read(error) => error.into(),
        TableError::Sink(error) => unwritable(error),
    })
}
