//! Predicted and measured time per kernel type, for any number of scenarios.

mod arguments;
mod gates;
mod outputs;

use crate::comparison::{print_warnings, usable_cores};
use crate::registry::{Job, Tool};
use crate::table_file::TableFile;
use crate::{Failure, Status, command_of, error_line, print, run, warn};
use arguments::{Arguments, DATA_DIR};
use perfdb_compare::operators::{OpRow, Order, sort_rows};
use perfdb_compare::scenario::{Options, Scenario, ScenarioOutcome, compare_scenarios, read_scenarios};
use perfdb_compare::{Semantics, Warning};
use perfdb_files::replace::refuse_inputs;
use perfdb_pycompat::value::Value;
use perfdb_report::operators::{english_table, table};
use perfdb_store::op_mapping::OpMapping;
use std::ffi::OsString;
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "generate-op-comparison",
    job: Job::ComparePrediction,
    summary: "predicted and measured time per kernel type",
    main,
    command: command_of::<Arguments>,
};

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &["trace-dir", "data-dir", "output"], compare)
}

fn compare(arguments: Arguments) -> Result<Status, Failure> {
    if arguments.output.as_os_str().is_empty() {
        return Err(Failure::lines(vec!["--output: a file name is needed".to_owned()]));
    }
    let parquet = TableFile::asked(TOOL.name, arguments.parquet.as_deref())?;
    let mapping_path = arguments.data_dir.join("op_mapping.yaml");
    let mapping = OpMapping::load(&mapping_path)?;
    // The folder of the default is there in a checkout of the simulator alone.
    if mapping.is_none() && arguments.data_dir.as_os_str() != DATA_DIR {
        let reason = "there is no such file, so operators without a row stay under their own names";
        warn(&format!("{}: {reason}", mapping_path.display()));
    }
    let mapping = mapping.unwrap_or_default();
    let baseline = arguments.regression.read()?;
    let mut scenarios = scenarios(&arguments)?;
    let named = [&arguments.scenarios].into_iter().filter_map(|file| file.as_deref()).chain([mapping_path.as_path()]);
    let inputs = scenarios.iter().flat_map(Scenario::files).chain(named).chain(arguments.regression.baseline_file());
    let optional = [&arguments.html, &arguments.csv, &arguments.parquet].into_iter().filter_map(|file| file.as_deref());
    refuse_inputs(optional.chain([arguments.output.as_path()]), inputs)?;
    let computed = match arguments.compute_missing_m6 || arguments.semantics == Semantics::Corrected {
        true => outputs::missing_m6(&mut scenarios)?,
        false => Vec::new(),
    };
    let Comparison { of, compared, mut errors, mapping_used } = print_tables(&arguments, &scenarios, &mapping)?;
    if arguments.semantics == Semantics::Upstream && mapping.operator_mappings.is_some() && !mapping_used {
        print_warnings(&[Warning::NestedMapping { path: mapping_path }]);
    }
    if errors.is_empty() || arguments.keep_going {
        match outputs::write(&arguments, &scenarios, &compared, computed, parquet) {
            Ok(()) => print(&format!("\nSaved to {}\n", arguments.output.display()))?,
            Err(error) => errors.push(error_line(&*error)),
        }
    }
    let is_accurate = gates::is_accurate(&arguments, &compared);
    let is_as_before = gates::is_as_before(&arguments, &of, &compared, baseline)?;
    match (errors.is_empty(), is_accurate && is_as_before) {
        (false, _) => Err(Failure::lines(errors)),
        (true, true) => Ok(Status::Success),
        (true, false) => Ok(Status::LimitPassed),
    }
}

fn scenarios(arguments: &Arguments) -> Result<Vec<Scenario>, Failure> {
    Ok(match (&arguments.scenarios, &arguments.tc_trace, &arguments.prof_trace) {
        (Some(path), _, _) => read_scenarios(path, &arguments.trace_dir)?,
        (None, Some(trace), Some(profile)) => {
            let name = trace.file_stem().unwrap_or_default().to_string_lossy();
            vec![Scenario::of_files(name, trace, profile, 1.0)]
        }
        _ => Scenario::defaults(&arguments.trace_dir),
    })
}

/// What came of the scenarios.
#[derive(Default)]
struct Comparison<'s> {
    /// Those that were compared.
    of: Vec<&'s Scenario>,
    /// Their names and rows.
    compared: Vec<(String, Vec<OpRow>)>,
    errors: Vec<String>,
    /// Whether the mapping had an entry for any operator.
    mapping_used: bool,
}

/// Compares the scenarios and prints the table of each as soon as it is there.
fn print_tables<'s>(
    arguments: &Arguments,
    scenarios: &'s [Scenario],
    mapping: &OpMapping,
) -> Result<Comparison<'s>, Failure> {
    let jobs = arguments.jobs.map_or_else(usable_cores, |jobs| jobs as usize);
    let options = Options { mapping, semantics: arguments.semantics, jobs };
    let mut comparison = Comparison::default();
    let mut waiting = scenarios.iter();
    let mut printed = Ok(());
    compare_scenarios(scenarios, options, |report| {
        let Some(scenario) = waiting.next() else { return };
        print_warnings(&report.warnings);
        comparison.mapping_used |= report.mapping_used;
        let text = match report.outcome {
            ScenarioOutcome::Compared(mut rows) => {
                sort_rows(&mut rows, arguments.sort.map_or(Order::Time, Order::from));
                let table = if arguments.speaks_english() { english_table } else { table }(&report.name, &rows);
                comparison.of.push(scenario);
                comparison.compared.push((report.name, rows));
                table
            }
            ScenarioOutcome::Skipped(path) => {
                let path = Value::Text(path.to_string_lossy().into_owned()).repr();
                format!("SKIP {}: [Errno 2] No such file or directory: {path}\n", report.name)
            }
            ScenarioOutcome::Failed(error) => {
                comparison.errors.push(error_line(&error));
                return;
            }
        };
        if printed.is_ok() {
            printed = print(&text);
        }
    });
    printed?;
    Ok(comparison)
}
