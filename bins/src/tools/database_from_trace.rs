//! A database of the operators of GPU traces.

use crate::comparison::{notes_of, usable_cores};
use crate::database::LockArguments;
use crate::registry::{Job, Tool};
use crate::run_record::run_of;
use crate::{Failure, Status, command_of, print_escaped, print_note, run, warn};
use clap::Parser;
use perfdb_files::escape::shown;
use perfdb_report::measured::{reasons, text};
use perfdb_store::dtype::DType;
use perfdb_tracediff::{LoadOptions, MeasuredOptions, Trace, measured};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "database-from-trace",
    job: Job::MakeDatabase,
    summary: "a database of the operators of GPU traces",
    main,
    command: command_of::<Arguments>,
};

/// Make a database of the operators in GPU traces: shapes, types, durations
///
/// Each operator of the host becomes a table for each library of its kernels; each set of shapes and types becomes a row with
/// the median of all its calls, their mean, deviation and P10-P90 spread, and the number of calls and runs. Collectives become
/// rows of bytes and ranks. Attention of servers takes its lengths from the annotations of steps, prefill and decode apart.
/// What has no shapes is listed with its time. Each trace is a run. No file that is there is replaced.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  database-from-trace trace.json.gz --database-path mine
  database-from-trace run1.json.gz run2.json.gz --database-path mine
  database-from-trace server.json.gz --capture capture.json.gz \\
      --database-path mine
  database-from-trace report.sqlite --dtype bf16 --database-path mine
  query-database mine --list

Exit status: 0 done, 1 failed (also when no operator has shapes), 2 wrong usage."
)]
struct Arguments {
    /// Traces of one device, gzip or not: PyTorch profiler with record_shapes=True, or nsys with NVTX shapes as .sqlite
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,

    /// Folder of the new database
    #[arg(long, value_name = "DIR")]
    database_path: PathBuf,

    /// Trace of the capture of the graphs that are replayed: it names their operators
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,

    /// Data type of tensors where the trace has none: bf16, fp16, fp32, ...
    #[arg(long, value_name = "TYPE")]
    dtype: Option<DType>,

    /// No layer of attention hides keys behind a window, where the trace does not say
    #[arg(long)]
    unwindowed: bool,

    /// List at most N tables, and at most N operators without rows
    #[arg(long, value_name = "N", default_value_t = 12)]
    top: usize,

    #[command(flatten)]
    lock: LockArguments,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let Arguments { traces, database_path, capture, dtype, unwindowed, top, lock } = arguments;
    let options =
        LoadOptions { alone: true, stacks: false, unwindowed, threads: usable_cores(), ..LoadOptions::default() };
    let open = |path: &PathBuf| Trace::open_with_capture(path, capture.as_deref(), &options);
    let traces = traces.iter().map(open).collect::<Result<Vec<Trace>, _>>()?;
    traces.iter().flat_map(notes_of).for_each(|note| print_note(&note));
    let found = measured(&traces, MeasuredOptions { dtype })?;
    if found.tables.is_empty() {
        let names: Vec<String> = traces.iter().map(|trace| shown(trace.path())).collect();
        return Err(Failure::lines(vec![format!("{}: no row: {}", names.join(", "), reasons(&found))]));
    }
    let mut record = run_of(TOOL.name)?;
    record.types = found.tables.keys().cloned().collect();
    let names = traces.iter().map(|trace| trace.path().file_name().unwrap_or_default().to_string_lossy().into_owned());
    record.settings.insert("traces".to_owned(), names.collect::<Vec<_>>().join(", "));
    record.settings.insert("framework".to_owned(), found.framework.to_owned());
    found.database().write(&database_path, record, &lock.options(TOOL.name))?;
    if found.has_collectives {
        warn("collectives include time waiting for other ranks: do not read their rows as bandwidth");
    }
    print_escaped(&text(&found, &database_path, top))?;
    Ok(Status::Success)
}
