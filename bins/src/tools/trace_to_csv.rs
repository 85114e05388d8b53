//! The events of a simulator's trace as a CSV.

mod csv;
mod parquet;

use crate::registry::{Job, Tool};
use crate::table_file::TableFile;
use crate::{Failure, Status, command_of, run, warn};
use clap::Parser;
use perfdb_compare::event_table::{COLUMNS, Selection, all_columns};
use perfdb_files::replace::refuse_inputs;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
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
  trace-to-csv results/qwen3_dc_trace.json --output results/qwen3_dc_trace.csv
  trace-to-csv --trace trace.json.gz | head
  trace-to-csv both.json --columns pid,ts,op_name,dur_us --pid 0
  trace-to-csv trace.json --columns all
  perfdb trace-to-csv --trace trace.json --parquet events.parquet

Exit status: 0 done, 1 failed, 2 wrong usage."
)]
struct Arguments {
    /// TC chrome trace (JSON, may be gzip)
    #[arg(long, value_name = "FILE")]
    trace: OsString,

    /// CSV to write, in a folder that exists [default: standard output]
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    output: OsString,

    /// Also write the events as a Parquet table; without --output no CSV is printed then
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,

    /// Other columns than the default ones: names of those, cat, ph, ts, pid, tid, id, and members of the events' args; or all
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = clap::builder::NonEmptyStringValueParser::new())]
    columns: Vec<String>,

    /// Only the events of this process
    #[arg(long, value_name = "PID")]
    pid: Option<String>,
}

impl Arguments {
    /// The columns and events of the table; none for the default ones.
    fn selection(&self) -> Result<Option<Selection>, Failure> {
        let trace = Path::new(&self.trace);
        let columns = match self.columns.as_slice() {
            [] if self.pid.is_none() => return Ok(None),
            [] => COLUMNS.map(str::to_owned).into(),
            [all] if all == "all" => {
                if std::fs::metadata(trace).is_ok_and(|metadata| !metadata.is_file()) {
                    let reason = "it can't be read twice, which --columns all needs: name the columns";
                    return Err(Failure::lines(vec![format!("{}: {reason}", trace.display())]));
                }
                all_columns(trace)?
            }
            names => names.to_vec(),
        };
        Ok(Some(Selection { columns, process: self.pid.clone() }))
    }
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &["trace", "output"], convert)
}

fn convert(arguments: Arguments) -> Result<Status, Failure> {
    let trace = Path::new(&arguments.trace);
    let parquet = TableFile::asked(TOOL.name, arguments.parquet.as_deref())?;
    let output = Some(Path::new(&arguments.output)).filter(|output| !output.as_os_str().is_empty());
    refuse_inputs(output.into_iter().chain(arguments.parquet.as_deref()), [trace])?;
    let selection = arguments.selection()?;
    let has_rows = match (&parquet, output) {
        (Some(parquet), _) => parquet::write(trace, selection.as_ref(), output, parquet)?,
        (None, Some(output)) => csv::write(trace, selection.as_ref(), output)?,
        (None, None) => csv::print(trace, selection.as_ref())?,
    };
    if let (false, Some(pid)) = (has_rows, &arguments.pid) {
        warn(&format!("{}: no operator of process {pid}", trace.display()));
    }
    Ok(Status::Success)
}
