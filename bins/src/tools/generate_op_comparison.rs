//! Predicted and measured time per kernel type, for any number of scenarios.

use crate::comparison::{GivenNumber, RegressionGate, check_regressions, print_warnings, usable_cores};
use crate::path_argument::path;
use crate::registry::{Job, Tool};
use crate::semantics::{DEFAULT_SEMANTICS, semantics};
use crate::{Failure, Status, command_of, error_line, print, print_limit, print_note, run};
use clap::Parser;
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
  generate-op-comparison --tc-trace trace.json --prof-trace pass.csv \\
      --semantics corrected --sort delta --csv comparison.csv
  generate-op-comparison --baseline old.json --fail-regression 10

Exit status: 0 done (also when every scenario was skipped), 1 something failed, 2 wrong usage, 3 done but beyond --fail-above\nor --fail-regression."
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
    #[arg(long, default_value = DEFAULT_SEMANTICS, value_parser = semantics())]
    semantics: Semantics,

    /// Exit with status 3 if a kernel type is off by more than this, in percent of its measured time
    #[arg(long, value_name = "PCT", value_parser = GivenNumber::not_negative)]
    fail_above: Option<GivenNumber>,

    /// Smallest share of the measured time that --fail-above looks at, in percent [default: 1]
    #[arg(long, value_name = "PCT", requires = "fail_above", value_parser = GivenNumber::not_negative)]
    min_share: Option<GivenNumber>,

    /// Compare this TC chrome trace with --prof-trace, instead of scenarios
    #[arg(long, value_name = "FILE", requires = "prof_trace", conflicts_with = "scenarios")]
    tc_trace: Option<PathBuf>,

    /// CSV of the measured forward pass for --tc-trace
    #[arg(long, value_name = "FILE", requires = "tc_trace")]
    prof_trace: Option<PathBuf>,

    /// Order of the rows; every order but the default one shows them in English
    #[arg(long, value_enum)]
    sort: Option<SortKey>,

    /// Language of the table and of the statuses in the JSON
    #[arg(long, value_enum)]
    lang: Option<Language>,

    /// Also write all rows as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Compute M6 files of scenarios that are not there, as --semantics corrected does
    #[arg(long)]
    compute_missing_m6: bool,

    #[command(flatten)]
    regression: RegressionGate,
}

/// `--sort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SortKey {
    /// Largest predicted or measured time first
    Time,
    /// Largest difference in microseconds first
    Delta,
    /// Largest error in percent first; never measured ones lead
    Error,
    /// Largest share of the measured time first
    Share,
}

impl From<SortKey> for Order {
    fn from(key: SortKey) -> Order {
        match key {
            SortKey::Time => Order::Time,
            SortKey::Delta => Order::Delta,
            SortKey::Error => Order::Error,
            SortKey::Share => Order::Share,
        }
    }
}

/// `--lang`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Language {
    /// The original's headings
    Zh,
    /// English, with a column of differences in microseconds
    En,
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

impl Arguments {
    fn speaks_english(&self) -> bool {
        match (self.lang, self.sort) {
            (Some(language), _) => language == Language::En,
            (None, sort) => sort.is_some_and(|key| key != SortKey::Time),
        }
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
