//! Predicted and measured time per kernel type and shape.

use crate::comparison::print_warnings;
use crate::path_argument::path;
use crate::provenance::provenance;
use crate::registry::{Job, Tool};
use crate::semantics::{DEFAULT_SEMANTICS, semantics};
use crate::table_file::TableFile;
use crate::{Failure, Status, command_of, print, print_bytes, print_note, run};
use clap::Parser;
use perfdb_compare::Semantics;
use perfdb_compare::shapes::{ShapeComparison, compare_files};
use perfdb_files::replace::{Parents, Staged, commit, refuse_inputs};
use perfdb_report::pages::shapes_page;
use perfdb_report::shapes::write_csv;
use perfdb_report::tables;
use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "generate-per-shape-comparison",
    job: Job::ComparePrediction,
    summary: "predicted and measured time per shape",
    main,
    command: command_of::<Arguments>,
};

/// Generate a per-shape comparison of a TC chrome trace with a measured forward pass
///
/// One CSV row per kernel type and shape, the largest time first: predicted and measured time and count, and how far they
/// are apart. All processes of the trace count.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  generate-per-shape-comparison trace.json pass.csv \\
      --output results/per_shape.csv
  generate-per-shape-comparison --tc-trace trace.json.gz \\
      --prof-trace pass.csv | head
  generate-per-shape-comparison trace.json pass.csv --semantics corrected \\
      --output per_shape.csv --html per_shape.html

Exit status: 0 done, 1 failed, 2 wrong usage."
)]
struct Arguments {
    /// TC chrome trace (JSON, may be gzip)
    #[arg(long, value_name = "FILE")]
    tc_trace: OsString,

    /// CSV of one forward pass, cut out of kernel_details.csv (may be gzip)
    #[arg(long, value_name = "FILE")]
    prof_trace: OsString,

    /// CSV to write, in a folder that exists [default: standard output]
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    output: OsString,

    /// Also write one HTML page with charts and all rows
    #[arg(long, value_name = "FILE", value_parser = path())]
    html: Option<PathBuf>,

    /// Also write the rows as a Parquet table; without --output no CSV is printed then
    #[arg(long, value_name = "FILE", value_parser = path())]
    parquet: Option<PathBuf>,

    /// Whether known faults of the original tool are kept
    #[arg(long, default_value = DEFAULT_SEMANTICS, value_parser = semantics())]
    semantics: Semantics,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &["tc-trace", "prof-trace", "output"], compare)
}

fn compare(arguments: Arguments) -> Result<Status, Failure> {
    let inputs = [Path::new(&arguments.tc_trace), Path::new(&arguments.prof_trace)];
    let page = arguments.html.as_deref();
    let parquet = arguments.parquet.as_deref();
    refuse_inputs([Path::new(&arguments.output)].into_iter().chain(page).chain(parquet), inputs)?;
    let parquet = TableFile::asked(TOOL.name, parquet)?;
    parquet.iter().try_for_each(TableFile::check)?;
    let outcome = compare_files(Path::new(&arguments.tc_trace), Path::new(&arguments.prof_trace), arguments.semantics)?;
    print_warnings(&outcome.warnings);
    let page = page.map(|path| -> Result<Staged, Failure> {
        let read = provenance(TOOL.name, [("predicted", inputs[0]), ("measured", inputs[1])]);
        Ok(Staged::with(path, shapes_page(&outcome.result, read).to_html()?.as_bytes(), Parents::MustExist)?)
    });
    let table = parquet.as_ref().map(|file| file.stage(tables::shapes(&outcome.result.rows))).transpose()?;
    let others = page.transpose()?.into_iter().chain(table);
    let ShapeComparison { rows, joined_share } = outcome.result;
    if arguments.output.is_empty() {
        let mut csv = Vec::new();
        write_csv(&rows, &mut csv)?;
        commit(others.collect())?;
        if parquet.is_none() {
            print_bytes(&csv)?;
        }
        print_joined_share(joined_share, arguments.semantics);
        return Ok(Status::Success);
    }
    let output = Path::new(&arguments.output);
    let unwritable = |error| Failure::lines(vec![format!("{}: {error}", output.display())]);
    let mut staged = BufWriter::new(Staged::create(output, Parents::MustExist)?);
    write_csv(&rows, &mut staged).and_then(|()| staged.flush()).map_err(unwritable)?;
    let staged = staged.into_inner().map_err(|error| unwritable(error.into_error()))?;
    commit(others.chain([staged]).collect())?;
    print(&format!("Generated {} per-shape comparison rows → {}\n", rows.len(), output.display()))?;
    print_joined_share(joined_share, arguments.semantics);
    Ok(Status::Success)
}

/// Below this share of the measured time most rows are on one side only, and percentages mean little.
const FEW: f64 = 0.2;

fn print_joined_share(share: Option<f64>, semantics: Semantics) {
    let Some(share) = share else { return };
    let percent = perfdb_pycompat::format::fixed(100.0 * share, 1);
    let hint = match semantics {
        Semantics::Upstream if share < FEW => " (--semantics corrected joins on the rows that answered)",
        _ => "",
    };
    print_note(&format!("shapes match for {percent} % of the measured time{hint}"));
}
