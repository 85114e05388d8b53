//! Predicted and measured time per kernel type, for any number of scenarios.

mod arguments;
mod gates;
mod outputs;
mod report;
mod shard;

use crate::comparison::{WarningLine, print_warnings};
use crate::database_folder::hint_of_others;
use crate::gate::Gate;
use crate::one_output::verdict_is;
use crate::registry::{Job, Tool};
use crate::shards::{GivenArguments, Part};
use crate::table_file::TableFile;
use crate::{Failure, Status, command_of, error_line, print, run, scenarios, warn};
use arguments::{Arguments, DATA_DIR};
use perfdb_compare::operators::{OpRow, Order, sort_rows};
use perfdb_compare::scenario::{Scenario, compare_scenarios};
use perfdb_compare::{Semantics, Warning};
use perfdb_files::replace::refuse_inputs;
use perfdb_files::shards::ShardWriter;
use perfdb_report::operators::{english_table, table, verdict};
use perfdb_store::op_mapping::OpMapping;
use report::{CaseOutcome, CaseReport};
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

fn main(arguments: Vec<OsString>) -> ExitCode {
    let given = GivenArguments::of(&arguments);
    run(arguments, &["trace-dir", "data-dir", "output"], |arguments| compare(arguments, &given))
}

fn compare(arguments: Arguments, given: &GivenArguments) -> Result<Status, Failure> {
    if arguments.output.as_os_str().is_empty() {
        return Err(Failure::lines(vec!["--output: a file name is needed".to_owned()]));
    }
    let parquet = TableFile::asked(TOOL.name, arguments.parquet.as_deref())?.map(TableFile::making_folders);
    let mapping_path = arguments.data_dir.join("op_mapping.yaml");
    let mapping = OpMapping::load(&mapping_path)?;
    // The folder of the default is there in a checkout of the simulator alone.
    if mapping.is_none() && arguments.data_dir.as_os_str() != DATA_DIR {
        let reason = "no such file, so operators without a row stay under their own names";
        warn(&format!("{}: {reason}{}", mapping_path.display(), hint_of_others(&arguments.data_dir)));
    }
    let mapping = mapping.unwrap_or_default();
    let baseline = arguments.regression.read()?;
    let mut scenarios = chosen(&arguments)?;
    let named = [&arguments.scenarios].into_iter().filter_map(|file| file.as_deref()).chain([mapping_path.as_path()]);
    let read = scenarios.iter().filter(|scenario| arguments.shards.reads(&scenario.name));
    let inputs = read.flat_map(Scenario::files).chain(named).chain(arguments.regression.baseline_file());
    let optional = [&arguments.html, &arguments.csv, &arguments.parquet].into_iter().filter_map(|file| file.as_deref());
    refuse_inputs(optional.chain([arguments.output.as_path()]), inputs)?;
    if arguments.shards.shard().is_none() {
        parquet.iter().try_for_each(TableFile::check)?;
    }
    let shared = || [&arguments.scenarios].into_iter().flatten().chain([&mapping_path]).map(PathBuf::as_path);
    let job = || scenarios::job(given, TOOL.name, shared().chain(arguments.regression.baseline_file()), &scenarios);
    let mut computed = Vec::new();
    let mut comparison = Comparison::default();
    match arguments.shards.part()? {
        Part::Whole => {
            for scenario in scenarios.iter_mut().filter(|_| arguments.computes_m6()) {
                if let Some((path, text)) = outputs::missing_m6(scenario) {
                    computed.push(outputs::stage_m6(scenario, &path, &text)?);
                }
            }
            comparison.compare(&arguments, &scenarios, &mapping)?;
        }
        Part::Shard(one, folder) => {
            let writer = ShardWriter::create(&folder, one, job()?)?;
            return shard::compare(&arguments, &scenarios, &mapping, one, writer);
        }
        Part::Done(set) => {
            let reports = shard::reports(&set, &job()?)?;
            for (scenario, report) in scenarios.iter_mut().zip(&reports) {
                computed.extend(report.stage_m6(scenario)?);
            }
            for (scenario, report) in scenarios.iter().zip(reports) {
                comparison.take(&arguments, scenario, report);
            }
            comparison.printed()?;
        }
    }
    let Comparison { of, compared, mut errors, mapping_used, .. } = comparison;
    const NONE: &str = "no scenario was compared: each lacks a file";
    let has_nothing = compared.is_empty() && errors.is_empty() && !scenarios.is_empty();
    if let Some(list) = arguments.scenarios.as_ref().filter(|_| has_nothing) {
        return Err(Failure::lines(vec![format!("{}: {NONE}", list.display())]));
    }
    if arguments.semantics == Semantics::Upstream && mapping.operator_mappings.is_some() && !mapping_used {
        print_warnings(&[Warning::NestedMapping { path: mapping_path }]);
    }
    if errors.is_empty() || arguments.keep_going {
        match outputs::write(&arguments, &scenarios, &compared, computed, parquet) {
            Ok(()) => {
                print(&format!("\nSaved to {}\n", arguments.output.display()))?;
                // The original ends with status 0 where none of its four is there.
                if has_nothing {
                    warn(&format!("{NONE}; name your own with --scenarios, or TRACE and PASS"));
                }
            }
            Err(error) => errors.push(error_line(&*error)),
        }
    }
    verdict_is(verdict(&compared));
    let mut gate = Gate::default();
    gates::check_accuracy(&mut gate, &arguments, &compared);
    gates::check_baseline(&mut gate, &arguments, &of, &compared, baseline)?;
    if errors.is_empty() { Ok(gate.status()) } else { Err(Failure::lines(errors)) }
}

/// The scenarios that are asked for, else the four default ones.
fn chosen(arguments: &Arguments) -> Result<Vec<Scenario>, Failure> {
    let named = scenarios::named(
        (arguments.scenarios.as_deref(), &arguments.trace_dir),
        (arguments.tc_trace.as_ref(), arguments.prof_trace.as_ref()),
        |trace, pass| {
            let name = trace.file_stem().unwrap_or_default().to_string_lossy();
            Scenario::of_files(name, trace, pass, 1.0)
        },
    )?;
    Ok(named.unwrap_or_else(|| Scenario::defaults(&arguments.trace_dir)))
}

/// What came of the scenarios.
struct Comparison<'s> {
    /// Those that were compared.
    of: Vec<&'s Scenario>,
    /// Their names and rows.
    compared: Vec<(String, Vec<OpRow>)>,
    errors: Vec<String>,
    /// Whether the mapping had an entry for any operator.
    mapping_used: bool,
    /// Whether the tables could be printed.
    printed: Result<(), Failure>,
}

impl Default for Comparison<'_> {
    fn default() -> Self {
        let (of, compared, errors) = Default::default();
        Comparison { of, compared, errors, mapping_used: false, printed: Ok(()) }
    }
}

impl<'s> Comparison<'s> {
    /// Compares the scenarios and prints the table of each as soon as it is there.
    fn compare(
        &mut self,
        arguments: &Arguments,
        scenarios: &'s [Scenario],
        mapping: &OpMapping,
    ) -> Result<(), Failure> {
        let mut waiting = scenarios.iter();
        compare_scenarios(scenarios, arguments.options(mapping), |report| {
            let Some(scenario) = waiting.next() else { return };
            self.take(arguments, scenario, CaseReport::from(report));
        });
        self.printed()
    }

    /// Takes what became of a scenario, and prints it.
    fn take(&mut self, arguments: &Arguments, scenario: &'s Scenario, report: CaseReport) {
        report.warnings.iter().for_each(WarningLine::print);
        self.mapping_used |= report.mapping_used;
        let name = scenario.name.clone();
        let text = match report.outcome {
            CaseOutcome::Compared(mut rows) => {
                sort_rows(&mut rows, arguments.sort.map_or(Order::Time, Order::from));
                let table = if arguments.speaks_english() { english_table } else { table }(&name, &rows);
                self.of.push(scenario);
                self.compared.push((name, rows));
                table
            }
            CaseOutcome::Skipped(path) => {
                format!("SKIP {name}: [Errno 2] No such file or directory: {path}\n")
            }
            CaseOutcome::Failed(line) => {
                self.errors.push(line);
                return;
            }
        };
        if self.printed.is_ok() {
            self.printed = print(&text);
        }
    }

    fn printed(&mut self) -> Result<(), Failure> {
        std::mem::replace(&mut self.printed, Ok(()))
    }
}
