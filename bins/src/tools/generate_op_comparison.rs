//! Predicted and measured time per kernel type, for any number of scenarios.

use crate::comparison::{GivenNumber, Semantics, say_warnings, usable_cores};
use crate::path_argument::path;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, error_line, print, print_limit, run};
use clap::Parser;
use perfdb_compare::Warning;
use perfdb_compare::operators::{Gate, GateFinding, Offence, OpRow};
use perfdb_compare::scenario::{Options, Scenario, ScenarioOutcome, compare_scenarios, read_scenarios};
use perfdb_files::replace::{Parents, Staged, commit};
use perfdb_pycompat::value::Value;
use perfdb_report::comparison_page::page;
use perfdb_report::operators::{json, table};
use perfdb_store::op_mapping::OpMapping;
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "generate-op-comparison",
    job: Job::ComparePrediction,
    summary: "predicted and measured time per kernel type",
    main,
    command: command_of::<Arguments>,
};

const DATA_DIR: &str = "tensor_cast/performance_model/profiling_database/data/ATLAS_800_A3_752T_128G_DIE/vllm_ascend/vllm0.18.0_torch2.9.0_cann8.5";

/// Generate per-operator TC vs Profiling comparison data
///
/// Per kernel type: predicted and measured time and count of a forward pass, and how far they are apart. Prints a table per
/// scenario (the 15 largest kernel types) and writes all rows as JSON. A scenario with a missing file is skipped.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  generate-op-comparison         # the four default scenarios, below results/
  generate-op-comparison --scenarios testdata/scenarios.yaml \\
      --data-dir testdata/scenarios --output target/op_comparison.json
  generate-op-comparison --semantics corrected --fail-above 20 --min-share 2

Exit status: 0 done (also when every scenario was skipped), 1 something failed, 2 wrong usage, 3 done but beyond --fail-above."
)]
struct Arguments {
    /// Folder of the forward-pass CSVs
    #[arg(long, value_name = "DIR", default_value = "docs/perf_database/forward_pass_traces", value_parser = path())]
    trace_dir: PathBuf,

    /// Folder of the profiling database, with op_mapping.yaml
    #[arg(long, value_name = "DIR", default_value = DATA_DIR, value_parser = path())]
    data_dir: PathBuf,

    /// JSON to write; missing folders are created
    #[arg(long, value_name = "FILE", default_value = "results/op_comparison.json", value_parser = path())]
    output: PathBuf,

    /// Also write the comparison as one HTML page with charts
    #[arg(long, value_name = "FILE", value_parser = path())]
    html_output: Option<PathBuf>,

    /// YAML list of scenarios instead of the default four: name, tc_trace, trace_csv and m6 or n_forward_passes each
    #[arg(long, value_name = "FILE", value_parser = path())]
    scenarios: Option<PathBuf>,

    /// Scenarios to compare at a time [default: one per usable core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    jobs: Option<u32>,

    /// Write the JSON of the scenarios that worked when others failed
    #[arg(long)]
    keep_going: bool,

    /// Whether known faults of the original tool are kept
    #[arg(long, value_enum, default_value_t = Semantics::Upstream)]
    semantics: Semantics,

    /// Exit with status 3 if a kernel type is off by more than this, in percent of its measured time
    #[arg(long, value_name = "PCT", value_parser = GivenNumber::not_negative)]
    fail_above: Option<GivenNumber>,

    /// Smallest share of the measured time that --fail-above looks at, in percent [default: 1]
    #[arg(long, value_name = "PCT", requires = "fail_above", value_parser = GivenNumber::not_negative)]
    min_share: Option<GivenNumber>,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &["trace-dir", "data-dir", "output"], compare)
}

fn compare(arguments: Arguments) -> Result<Status, Failure> {
    if arguments.output.as_os_str().is_empty() {
        return Err(Failure::lines(vec!["--output: a file name is needed".to_owned()]));
    }
    let mapping_path = arguments.data_dir.join("op_mapping.yaml");
    let mapping = OpMapping::load(&mapping_path)?.unwrap_or_default();
    let scenarios = match &arguments.scenarios {
        Some(path) => read_scenarios(path, &arguments.trace_dir)?,
        None => Scenario::defaults(&arguments.trace_dir),
    };
    let options = Options {
        mapping: &mapping,
        semantics: arguments.semantics.into(),
        jobs: arguments.jobs.map_or_else(usable_cores, |jobs| jobs as usize),
    };
    let mut compared: Vec<(String, Vec<OpRow>)> = Vec::new();
    let mut errors = Vec::new();
    let mut unprinted = Ok(());
    let mut mapping_used = false;
    compare_scenarios(&scenarios, options, |report| {
        say_warnings(&report.warnings);
        mapping_used |= report.mapping_used;
        let text = match report.outcome {
            ScenarioOutcome::Compared(rows) => {
                let table = table(&report.name, &rows);
                compared.push((report.name, rows));
                table
            }
            ScenarioOutcome::Skipped(path) => {
                let path = Value::Text(path).list_form();
                format!("SKIP {}: [Errno 2] No such file or directory: {path}\n", report.name)
            }
            ScenarioOutcome::Failed(error) => {
                errors.push(error_line(&error));
                return;
            }
        };
        if unprinted.is_ok() {
            unprinted = print(&text);
        }
    });
    unprinted?;
    if arguments.semantics == Semantics::Upstream && mapping.operator_mappings.is_some() && !mapping_used {
        say_warnings(&[Warning::NestedMapping { path: mapping_path }]);
    }
    if errors.is_empty() || arguments.keep_going {
        match write(&arguments, &compared) {
            Ok(()) => print(&format!("\nSaved to {}\n", arguments.output.display()))?,
            Err(error) => errors.push(error_line(&*error)),
        }
    }
    let passed = arguments.fail_above.is_none_or(|limit| {
        let min_share_pct = arguments.min_share.map_or(1.0, |share| share.value);
        check(&compared, &limit.text, Gate { fail_above_pct: limit.value, min_share_pct })
    });
    match (errors.is_empty(), passed) {
        (false, _) => Err(Failure::lines(errors)),
        (true, true) => Ok(Status::Success),
        (true, false) => Ok(Status::LimitPassed),
    }
}

/// Writes the JSON, and the page if it was asked for: both or none.
fn write(arguments: &Arguments, compared: &[(String, Vec<OpRow>)]) -> Result<(), Box<dyn Error>> {
    let json = json(compared.iter().map(|(name, rows)| (name.as_str(), rows.as_slice())));
    let mut files = vec![Staged::with(&arguments.output, json.as_bytes(), Parents::Create)?];
    if let Some(path) = &arguments.html_output {
        files.push(Staged::with(path, page(compared)?.as_bytes(), Parents::Create)?);
    }
    Ok(commit(files)?)
}

/// Says what is beyond the limit; true if nothing is.
fn check(compared: &[(String, Vec<OpRow>)], limit: &str, gate: Gate) -> bool {
    if compared.is_empty() {
        print_limit("no scenario was compared");
    }
    let mut passed = !compared.is_empty();
    for (name, rows) in compared {
        match gate.check(rows) {
            None => continue,
            Some(GateFinding::Beyond { worst, offence, count }) => {
                let kernel_type = &worst.kernel_type;
                let how = match offence {
                    Offence::Error(error) => format!("is off by {}%", Value::Float(error).list_form()),
                    Offence::NeverMeasured => "is predicted and was never measured".to_owned(),
                };
                print_limit(&format!("{name}: {kernel_type} {how} (limit {limit}%), {count} kernel types beyond it"));
            }
            Some(GateFinding::NothingToLookAt) => {
                print_limit(&format!(
                    "{name}: no kernel type has {}% of the measured time, nothing to look at",
                    gate.min_share_pct
                ));
            }
        }
        passed = false;
    }
    passed
}
