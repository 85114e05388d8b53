//! Predicted and measured time per kernel type, for any number of scenarios.

mod arguments;

use crate::comparison::{check_regressions, print_warnings, usable_cores};
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, error_line, print, print_limit, print_note, run};
use arguments::{Arguments, Language};
use perfdb_compare::m6::{self, SourceFilter};
use perfdb_compare::operators::{Gate, OpRow, Order, sort_rows};
use perfdb_compare::scenario::{Options, Scenario, ScenarioOutcome, compare_scenarios, read_scenarios};
use perfdb_compare::{Semantics, Warning};
use perfdb_files::replace::{Parents, Staged, commit, refuse_inputs};
use perfdb_pycompat::value::Value;
use perfdb_report::comparison_page::page;
use perfdb_report::m6::Report;
use perfdb_report::operators::{StatusLanguage, csv, english_table, finding_line, json_in, table};
use perfdb_store::op_mapping::OpMapping;
use std::error::Error;
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
    let mapping_path = arguments.data_dir.join("op_mapping.yaml");
    let mapping = OpMapping::load(&mapping_path)?.unwrap_or_default();
    let baseline = arguments.regression.read()?;
    let mut scenarios = match (&arguments.scenarios, &arguments.tc_trace, &arguments.prof_trace) {
        (Some(path), _, _) => read_scenarios(path, &arguments.trace_dir)?,
        (None, Some(trace), Some(profile)) => {
            let name = trace.file_stem().unwrap_or_default().to_string_lossy();
            vec![Scenario::of_files(name, trace, profile, 1.0)]
        }
        _ => Scenario::defaults(&arguments.trace_dir),
    };
    let named = [&arguments.scenarios].into_iter().filter_map(|file| file.as_deref()).chain([mapping_path.as_path()]);
    let inputs = scenarios.iter().flat_map(Scenario::files).chain(named).chain(arguments.regression.baseline_file());
    let optional = [&arguments.html_output, &arguments.csv].into_iter().filter_map(|file| file.as_deref());
    refuse_inputs(optional.chain([arguments.output.as_path()]), inputs)?;
    let mut computed = Vec::new();
    if arguments.compute_missing_m6 || arguments.semantics == Semantics::Corrected {
        for scenario in &mut scenarios {
            computed.extend(missing_m6(scenario)?);
        }
    }
    let options = Options {
        mapping: &mapping,
        semantics: arguments.semantics,
        jobs: arguments.jobs.map_or_else(usable_cores, |jobs| jobs as usize),
    };
    let mut compared: Vec<(String, Vec<OpRow>)> = Vec::new();
    let mut errors = Vec::new();
    let mut unprinted = Ok(());
    let mut mapping_used = false;
    compare_scenarios(&scenarios, options, |report| {
        print_warnings(&report.warnings);
        mapping_used |= report.mapping_used;
        let text = match report.outcome {
            ScenarioOutcome::Compared(mut rows) => {
                sort_rows(&mut rows, arguments.sort.map_or(Order::Time, Order::from));
                let table = if arguments.speaks_english() { english_table } else { table }(&report.name, &rows);
                compared.push((report.name, rows));
                table
            }
            ScenarioOutcome::Skipped(path) => {
                let path = Value::Text(path.to_string_lossy().into_owned()).repr();
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
        print_warnings(&[Warning::NestedMapping { path: mapping_path }]);
    }
    if errors.is_empty() || arguments.keep_going {
        match write(&arguments, &compared, computed) {
            Ok(()) => print(&format!("\nSaved to {}\n", arguments.output.display()))?,
            Err(error) => errors.push(error_line(&*error)),
        }
    }
    let passed = arguments.fail_above.as_ref().is_none_or(|limit| {
        let min_share_pct = arguments.min_share.as_ref().map_or(1.0, |share| share.value);
        check(&compared, &limit.text, Gate { fail_above_pct: limit.value, min_share_pct })
    });
    let regressed = baseline.is_some_and(|(baseline, limit)| {
        let min_share_pct = arguments.min_share.as_ref().map_or(1.0, |share| share.value);
        let check = |(name, rows): &(String, Vec<OpRow>)| baseline.check_rows(name, rows, limit, min_share_pct);
        !check_regressions(&compared.iter().flat_map(check).collect::<Vec<_>>(), limit)
    });
    match (errors.is_empty(), passed && !regressed) {
        (false, _) => Err(Failure::lines(errors)),
        (true, true) => Ok(Status::Success),
        (true, false) => Ok(Status::LimitPassed),
    }
}

/// A file of M6 that a scenario names, staged.
struct ComputedM6 {
    scenario: String,
    file: Staged,
}

/// Stages the M6 file of a scenario that lacks it.
fn missing_m6(scenario: &mut Scenario) -> Result<Option<ComputedM6>, Failure> {
    let source_filter = SourceFilter::default();
    let options = m6::Options { source_filter: source_filter.clone(), semantics: Semantics::Corrected };
    let Some((path, m6)) = scenario.compute_missing_m6(&options) else { return Ok(None) };
    let (tc_trace, prof_trace) = (scenario.tc_trace.to_string_lossy(), scenario.trace_csv.to_string_lossy());
    let report = Report { m6, tc_trace: &tc_trace, prof_trace: &prof_trace, source_filter: &source_filter };
    let file = Staged::with(&path, report.json().as_bytes(), Parents::Create)?;
    Ok(Some(ComputedM6 { scenario: scenario.name.clone(), file }))
}

/// Writes the JSON, the page and the CSV if they were asked for, and the files of M6 that were computed: all or none.
fn write(
    arguments: &Arguments,
    compared: &[(String, Vec<OpRow>)],
    computed: Vec<ComputedM6>,
) -> Result<(), Box<dyn Error>> {
    let scenarios = || compared.iter().map(|(name, rows)| (name.as_str(), rows.as_slice()));
    let language = match arguments.lang {
        Some(Language::En) => StatusLanguage::English,
        _ => StatusLanguage::Original,
    };
    let json = json_in(scenarios(), language);
    let mut files = vec![Staged::with(&arguments.output, json.as_bytes(), Parents::Create)?];
    if let Some(path) = &arguments.html_output {
        files.push(Staged::with(path, page(compared)?.as_bytes(), Parents::Create)?);
    }
    if let Some(path) = &arguments.csv {
        files.push(Staged::with(path, csv(scenarios()).as_bytes(), Parents::Create)?);
    }
    let mut notes = Vec::new();
    for ComputedM6 { scenario, file } in computed {
        notes.push(format!("M6 of {scenario} computed and written to {}", file.path().display()));
        files.push(file);
    }
    commit(files)?;
    notes.iter().for_each(|note| print_note(note));
    Ok(())
}

/// Prints what is beyond the limit; true if nothing is.
fn check(compared: &[(String, Vec<OpRow>)], limit: &str, gate: Gate) -> bool {
    if compared.is_empty() {
        print_limit("no scenario was compared");
    }
    let findings = compared.iter().filter_map(|(name, rows)| Some((name, gate.check(rows)?)));
    let lines: Vec<String> = findings.map(|(name, finding)| finding_line(name, &finding, limit, gate)).collect();
    lines.iter().for_each(|line| print_limit(line));
    lines.is_empty() && !compared.is_empty()
}
