//! Where a prediction is wrong, adding up to 100 %.

use crate::comparison::{RegressionGate, check_regressions, print_warnings, usable_cores};
use crate::provenance::provenance;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, error_line, print_escaped, print_note, run};
use clap::Parser;
use perfdb_compare::ledger::{Families, Passes, explain_scenarios};
use perfdb_compare::regression::Regression;
use perfdb_compare::scenario::{Scenario, read_scenarios};
use perfdb_files::replace::{Parents, Staged, commit, refuse_inputs};
use perfdb_report::ledger::{NamedExplanation, document, page, rows_to_measure, scenarios_document, text, write_csv};
use perfdb_store::kernel::file_stem;
use perfdb_store::op_mapping::OpMapping;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "explain-prediction",
    job: Job::ComparePrediction,
    summary: "where a prediction is wrong, adding up to 100 %",
    main,
    command: command_of::<Arguments>,
};

/// Explain where a prediction is wrong, adding up to 100 %
///
/// Splits predicted less measured time of a forward pass, exactly, into parts with a cause each: more calls, more time per
/// call, another kernel for the same work, shapes that do not meet, kernels that nobody predicts. Errors that cancel in the
/// total show up. Ends with what to do, each line with what it is worth.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  explain-prediction --tc-trace trace.json --prof-trace pass.csv \\
      --data-dir DATABASE_FOLDER
  explain-prediction --tc-trace trace.json --prof-trace kernel_details.csv \\
      --n-forward-passes 3 --json ledger.json --html ledger.html
  explain-prediction --scenarios testdata/scenarios.yaml \\
      --data-dir testdata/scenarios
  explain-prediction --tc-trace trace.json --prof-trace pass.csv \\
      --measure-dir to_measure    # tables for start-microbench

Exit status: 0 done, 1 something failed, 2 wrong usage, 3 done but beyond --fail-regression."
)]
struct Arguments {
    /// TC chrome trace (JSON, may be gzip)
    #[arg(long, value_name = "FILE", requires = "prof_trace", required_unless_present = "scenarios")]
    tc_trace: Option<PathBuf>,

    /// CSV of the measured forward pass, cut out of kernel_details.csv (may be gzip)
    #[arg(long, value_name = "FILE", requires = "tc_trace")]
    prof_trace: Option<PathBuf>,

    /// How many forward passes the CSV holds
    #[arg(long, value_name = "N", default_value = "1", value_parser = passes, allow_negative_numbers = true)]
    n_forward_passes: Passes,

    /// Folder of the profiling database, with op_mapping.yaml
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// YAML list of scenarios, as in generate-op-comparison, instead of two files
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tc_trace", "prof_trace", "n_forward_passes"])]
    scenarios: Option<PathBuf>,

    /// What {trace_dir} stands for in the paths of the scenarios
    #[arg(long, value_name = "DIR", requires = "scenarios", default_value = "docs/perf_database/forward_pass_traces")]
    trace_dir: PathBuf,

    /// YAML map of kernel types to families, for types that this program does not know
    #[arg(long, value_name = "FILE")]
    families: Option<PathBuf>,

    /// Write everything as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the parts of the difference as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write one HTML page with charts and all rows
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the rows that are worth measuring as tables for start-microbench; the folder is created
    #[arg(long, value_name = "DIR")]
    measure_dir: Option<PathBuf>,

    /// Scenarios to explain at a time [default: one per usable core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    jobs: Option<u32>,

    #[command(flatten)]
    regression: RegressionGate,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], explain)
}

fn passes(text: &str) -> Result<Passes, String> {
    Passes::parse(text).ok_or_else(|| "a positive number such as 3 or 2.5 is needed".to_owned())
}

fn explain(arguments: Arguments) -> Result<Status, Failure> {
    let mapping = match &arguments.data_dir {
        Some(folder) => {
            let path = folder.join("op_mapping.yaml");
            let missing = || Failure::lines(vec![format!("{}: there is no such file", path.display())]);
            Some(OpMapping::load(&path)?.ok_or_else(missing)?)
        }
        None => None,
    };
    let families = arguments.families.as_deref().map(Families::read).transpose()?.unwrap_or_default();
    let scenarios = match (&arguments.scenarios, &arguments.tc_trace, &arguments.prof_trace) {
        (Some(path), _, _) => read_scenarios(path, &arguments.trace_dir)?,
        (None, Some(trace), Some(profile)) => {
            vec![Scenario::of_files("", trace, profile, arguments.n_forward_passes.value())]
        }
        _ => return Err(Failure::Usage("--tc-trace and --prof-trace, or --scenarios, are needed".to_owned())),
    };
    let baseline = arguments.regression.read()?;
    let mapping_file = arguments.data_dir.as_ref().map(|folder| folder.join("op_mapping.yaml"));
    let named =
        [&arguments.scenarios, &arguments.families, &mapping_file].into_iter().filter_map(|file| file.as_deref());
    let inputs = scenarios.iter().flat_map(Scenario::files).chain(named).chain(arguments.regression.baseline_file());
    let outputs = [&arguments.json, &arguments.csv, &arguments.html].into_iter().filter_map(|file| file.as_deref());
    refuse_inputs(outputs, inputs)?;
    let jobs = arguments.jobs.map_or_else(usable_cores, |jobs| jobs as usize);
    let mut explanations: Vec<NamedExplanation> = Vec::new();
    let mut errors = Vec::new();
    explain_scenarios(&scenarios, mapping.as_ref(), &families, jobs, |name, result| match result {
        Ok(outcome) => {
            print_warnings(&outcome.warnings);
            explanations.push(NamedExplanation { name: name.to_owned(), explanation: outcome.result });
        }
        Err(error) => errors.push(error_line(&error)),
    });
    if !errors.is_empty() {
        return Err(Failure::lines(errors));
    }
    let texts: Vec<String> = explanations.iter().map(text).collect();
    print_escaped(&texts.join("\n\n"))?;
    write(&arguments, &scenarios, &explanations)?;
    let Some((baseline, limit)) = baseline else { return Ok(Status::Success) };
    let check = |named: &NamedExplanation| baseline.check_explanation(&named.name, &named.explanation, limit);
    let regressions: Vec<Regression> = explanations.iter().flat_map(check).collect();
    Ok(if check_regressions(&regressions, limit) { Status::Success } else { Status::LimitPassed })
}

/// Writes what was asked for: all of it or none.
fn write(arguments: &Arguments, scenarios: &[Scenario], explanations: &[NamedExplanation]) -> Result<(), Failure> {
    let mut files = Vec::new();
    if let Some(path) = &arguments.json {
        let json = match (&arguments.scenarios, explanations) {
            (None, [one]) => document(&one.explanation)?,
            _ => scenarios_document(explanations)?,
        };
        files.push(Staged::with(path, json.as_bytes(), Parents::MustExist)?);
    }
    if let Some(path) = &arguments.csv {
        let mut csv = Vec::new();
        write_csv(explanations, &mut csv)?;
        files.push(Staged::with(path, &csv, Parents::MustExist)?);
    }
    if let Some(path) = &arguments.html {
        let page = page(explanations, provenance(TOOL.name, inputs_of(arguments, scenarios)));
        files.push(Staged::with(path, page.to_html()?.as_bytes(), Parents::MustExist)?);
    }
    let mut rows = 0;
    if let Some(folder) = &arguments.measure_dir {
        for table in rows_to_measure(explanations) {
            let Some(stem) = file_stem(&table.kernel_type) else { continue };
            rows += table.rows;
            files.push(Staged::with(&folder.join(stem + ".csv"), table.text.as_bytes(), Parents::Create)?);
        }
    }
    commit(files)?;
    if let Some(folder) = &arguments.measure_dir {
        print_note(&format!("{rows} rows to measure written to {}", folder.display()));
    }
    Ok(())
}

/// What a page says that it comes from.
fn inputs_of<'a>(arguments: &'a Arguments, scenarios: &'a [Scenario]) -> impl Iterator<Item = (&'a str, &'a Path)> {
    let sides = |scenario: &'a Scenario| {
        [("predicted", scenario.tc_trace.as_path()), ("measured", scenario.trace_csv.as_path())]
    };
    let data_dir = arguments.data_dir.as_deref().map(|folder| ("operator mapping of", folder));
    scenarios.iter().flat_map(sides).chain(data_dir)
}
