//! Checks measured communication tables against an analytic model.

use crate::gate::Gate;
use crate::one_output::verdict_is;
use crate::provenance::provenance;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print, run, warn};
use clap::{Parser, ValueEnum};
use perfdb_comm::alignment::{AlignmentOptions, ModelKind, check, to_json, to_text, verdict};
use perfdb_files::paths::normalised;
use perfdb_files::replace::{Parents, Staged, commit, refuse_inputs};
use perfdb_report::pages::alignment_page;
use perfdb_store::directory::tables_in;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "validate-comm-alignment",
    job: Job::MeasureCollectives,
    summary: "check measured collectives against a model",
    main,
    command: command_of::<Arguments>,
};

/// Compare the measured latencies of the communication tables (hcom_*.csv) of a folder with an analytic model.
///
/// Every row is PASS, WARN or FAIL by the ratio of measured to predicted latency: PASS within the tolerance, WARN within
/// twice the tolerance, FAIL beyond. The constants of the model are those of ATLAS_800_A3.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "Exit status: 0 = OK, 1 = a row fails or a file cannot be read, 2 = usage, 3 = --fail-empty.

Examples:
  Check the tables of one CANN version, and list what is off
    validate-comm-alignment --csv-dir data/ATLAS_800_A3_752T_128G_DIE/hccl/v8.5

  All rows, a stricter limit, and the result for a program
    validate-comm-alignment --csv-dir out --tolerance 1.5 --verbose \\
        --json alignment.json

  Sizes as the database means them: bytes of one rank
    validate-comm-alignment --csv-dir out --model per-rank"
)]
struct Arguments {
    /// Directory with the tables
    #[arg(long, value_name = "DIR")]
    csv_dir: OsString,

    /// Largest ratio, either way, that passes
    #[arg(long, value_name = "X", default_value = "2.0", value_parser = tolerance)]
    tolerance: f64,

    /// List every row, not only those that do not pass
    #[arg(long)]
    verbose: bool,

    /// What a row's size means: `reference` as the original tool, `per-rank` as the database
    #[arg(long, value_name = "MODEL", default_value = "reference")]
    model: Model,

    /// Exit with status 3 where no table has a row to compare
    #[arg(long)]
    fail_empty: bool,

    /// Also write the result as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Also write one HTML page with charts and all rows
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Model {
    Reference,
    PerRank,
}

fn tolerance(text: &str) -> Result<f64, &'static str> {
    match perfdb_pycompat::number::parse_float(text) {
        Some(number) if number > 0.0 => Ok(number),
        _ => Err("must be a number above 0"),
    }
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &["csv-dir", "tolerance", "verbose"], validate)
}

fn validate(arguments: Arguments) -> Result<Status, Failure> {
    let model = match arguments.model {
        Model::Reference => ModelKind::Reference,
        Model::PerRank => ModelKind::PerRank,
    };
    let folder = normalised(arguments.csv_dir.as_ref());
    if folder.is_dir() {
        let outputs = arguments.json.iter().chain(&arguments.html).map(PathBuf::as_path);
        refuse_inputs(outputs, tables_in(&folder)?.iter().map(PathBuf::as_path))?;
    }
    let alignment = check(&folder, &AlignmentOptions { tolerance: arguments.tolerance, model })?;
    alignment.warnings.iter().for_each(|warning| warn(warning));
    let mut written = Vec::new();
    if let Some(path) = &arguments.json {
        written.push(Staged::with(path, to_json(&alignment).as_bytes(), Parents::Create)?);
    }
    if let Some(path) = &arguments.html {
        let page = alignment_page(&alignment, provenance(TOOL.name, [("tables", folder.as_path())]));
        written.push(Staged::with(path, page.to_html()?.as_bytes(), Parents::Create)?);
    }
    commit(written)?;
    print(&to_text(&alignment, arguments.verbose))?;
    verdict_is(verdict(&alignment));
    if alignment.reports.iter().all(|report| report.points.is_empty()) {
        let none = format!("{}: no table has a row to compare", alignment.csv_dir);
        if arguments.fail_empty {
            let mut gate = Gate::default();
            gate.exceeded(none, "at least 1");
            return Ok(gate.status());
        } else {
            warn(&format!("{none} (--fail-empty makes that status 3)"))
        }
    }
    Ok(if alignment.is_ok() { Status::Success } else { Status::Code(1) })
}
