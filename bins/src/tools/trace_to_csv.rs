//! The events of a simulator's trace as a CSV.

mod parquet;

use crate::comparison::usable_cores;
use crate::registry::{Job, Tool};
use crate::table_file::TableFile;
use crate::{Failure, Status, command_of, print_bytes, run, warn};
use clap::Parser;
use perfdb_compare::event_table::{COLUMNS, Selection, TableError, TablePart, all_columns, read_events, read_selected};
use perfdb_files::replace::{Parents, Staged, commit, refuse_inputs};
use perfdb_report::event_table::{header, header_of, push_cells, push_event};
use std::ffi::OsString;
use std::io::{self, Read, Seek, Write};
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
  trace-to-csv --trace results/qwen3_dc_trace.json \\
      --output results/qwen3_dc_trace.csv
  trace-to-csv --trace trace.json.gz | head
  trace-to-csv --trace both.json --columns pid,ts,op_name,dur_us --pid 0
  trace-to-csv --trace trace.json --columns all
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
    if let Some(parquet) = parquet {
        let rows = parquet::write(trace, selection.as_ref(), output, &parquet)?;
        warn_of_no_row(trace, selection.as_ref(), rows == 0);
        return Ok(Status::Success);
    }
    let table = Table { trace, selection: selection.as_ref() };
    let Some(output) = output else { return table.print() };
    let create = || Staged::create(output, Parents::MustExist).map_err(io::Error::other);
    // Nobody needs the reason wrapped: the folder is missing, or no file can be made in it.
    let mut staged = Some(Staged::create(output, Parents::MustExist)?);
    table.write(&output.display().to_string(), |part| {
        if let TablePart::Restart = part {
            staged = None;
            staged = Some(create()?);
        }
        staged.as_mut().map_or(Ok(()), |staged| table.write_part(staged, part))
    })?;
    commit(staged.into_iter().collect())?;
    Ok(Status::Success)
}

/// The table that is asked for.
#[derive(Clone, Copy)]
struct Table<'t> {
    trace: &'t Path,
    /// None for the default columns of all processes.
    selection: Option<&'t Selection>,
}

impl Table<'_> {
    /// Nothing is printed before the whole trace has been read: a large table waits in a file without a name.
    fn print(self) -> Result<Status, Failure> {
        const IN_MEMORY: usize = 8 << 20;
        let mut spool = tempfile::SpooledTempFile::new(IN_MEMORY);
        self.write("temporary file", |part| {
            if let TablePart::Restart = part {
                spool.rewind()?;
                spool.set_len(0)?;
            }
            self.write_part(&mut spool, part)
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

    fn write_part(self, out: &mut impl Write, part: TablePart<Vec<u8>>) -> io::Result<()> {
        match part {
            TablePart::Rows(rows) => out.write_all(&rows),
            TablePart::Restart => {
                let header = self.selection.map_or_else(header, |selection| header_of(&selection.columns));
                out.write_all(header.as_bytes())
            }
        }
    }

    /// Reads the trace; the table starts with a [`TablePart::Restart`].
    fn write(self, target: &str, mut sink: impl FnMut(TablePart<Vec<u8>>) -> io::Result<()>) -> Result<(), Failure> {
        let unwritable = |error: io::Error| Failure::lines(vec![format!("{target}: {error}")]);
        sink(TablePart::Restart).map_err(unwritable)?;
        let mut is_empty = true;
        let sink = |part: TablePart<Vec<u8>>| {
            match &part {
                TablePart::Rows(rows) => is_empty &= rows.is_empty(),
                TablePart::Restart => is_empty = true,
            }
            sink(part)
        };
        let read = match self.selection {
            None => read_events(self.trace, usable_cores(), push_event, sink),
            Some(selection) => read_selected(self.trace, usable_cores(), selection, push_cells, sink),
        };
        read.map_err(|error| match error {
            TableError::Read(error) => error.into(),
            TableError::Sink(error) => unwritable(error),
        })?;
        warn_of_no_row(self.trace, self.selection, is_empty);
        Ok(())
    }
}

/// Warns of a process that has no event.
fn warn_of_no_row(trace: &Path, selection: Option<&Selection>, is_empty: bool) {
    if let (true, Some(pid)) = (is_empty, selection.and_then(|selection| selection.process.as_ref())) {
        warn(&format!("{}: no operator of process {pid}", trace.display()));
    }
}
