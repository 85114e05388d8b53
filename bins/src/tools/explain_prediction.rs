//! Where a prediction is wrong, adding up to 100 %.

mod arguments;
mod outputs;
mod report;
mod shard;

use crate::comparison::{WarningLine, check_regressions, usable_cores};
use crate::database::files_of;
use crate::database_folder::{hint_of_others, warn_without_collectives};
use crate::gate::Gate;
use crate::measure_folder::refuse_database;
use crate::registry::{Job, Tool};
use crate::shards::{GivenArguments, Part};
use crate::table_file::TableFile;
use crate::{Failure, Status, command_of, print_styled, run, scenarios};
use arguments::Arguments;
use perfdb_compare::attribution::{Families, Options, explain_files_and_show, explain_scenarios};
use perfdb_compare::regression::Regression;
use perfdb_compare::scenario::Scenario;
use perfdb_files::replace::refuse_inputs;
use perfdb_files::shards::ShardWriter;
use perfdb_query::{Database, Layer, Reader, ReaderSemantics};
use perfdb_report::attribution::{NamedExplanation, screen, text};
use perfdb_store::op_mapping::OpMapping;
use report::CaseReport;
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

fn main(arguments: Vec<OsString>) -> ExitCode {
    let given = GivenArguments::of(&arguments);
    run(arguments, &[], |arguments| explain(arguments, &given))
}

fn explain(arguments: Arguments, given: &GivenArguments) -> Result<Status, Failure> {
    if arguments.shards.is_given() && arguments.scenarios.is_none() {
        return Err(Failure::usage("--shard is about the cases of --scenarios"));
    }
    let parquet = TableFile::asked(TOOL.name, arguments.parquet.as_deref())?;
    let (mapping, database) = match &arguments.data_dir {
        Some(folder) => (Some(mapping(folder)?), database(folder)?),
        None => (None, None),
    };
    let families = arguments.families.as_deref().map(Families::read).transpose()?.unwrap_or_default();
    let scenarios = scenarios::named(
        (arguments.scenarios.as_deref(), &arguments.trace_dir),
        (arguments.tc_trace.as_ref(), arguments.prof_trace.as_ref()),
        |trace, pass| Scenario::of_files("", trace, pass, arguments.n_forward_passes.value()),
    )?
    .ok_or_else(|| Failure::usage("--tc-trace and --prof-trace, or --scenarios, are needed"))?;
    let baseline = arguments.regression.read()?;
    refuse_overwriting(&arguments, &scenarios)?;
    if arguments.shards.shard().is_none() {
        parquet.iter().try_for_each(TableFile::check)?;
    }
    let passes = arguments.n_forward_passes;
    let options = Options { mapping: mapping.as_ref(), passes, families, database: database.as_ref() };
    let jobs = arguments.jobs.map_or_else(usable_cores, |jobs| jobs as usize);
    let mut explained = Explained::default();
    let mut trace = None;
    match (arguments.shards.part()?, &arguments.trace_out, scenarios.as_slice()) {
        (Part::Shard(shard, folder), ..) => {
            let writer = ShardWriter::create(&folder, shard, shard::job(&arguments, given, &scenarios)?)?;
            return shard::explain(&scenarios, &options, jobs, shard, writer);
        }
        (Part::Done(set), ..) => {
            let job = shard::job(&arguments, given, &scenarios)?;
            let mut results = set.results(&job)?;
            for (number, scenario) in scenarios.iter().enumerate() {
                explained.take(&scenario.name, results.take(number)?);
            }
        }
        (Part::Whole, Some(path), [one]) => {
            let (outcome, staged) =
                explain_files_and_show(&one.tc_trace, &one.trace_csv, &options, |explanation, sides| {
                    outputs::stage_trace(path, explanation, sides)
                })?;
            trace = Some(staged?);
            explained.take(&one.name, CaseReport::from(Ok(outcome)));
        }
        (Part::Whole, ..) => {
            explain_scenarios(&scenarios, &options, jobs, |name, result| explained.take(name, result.into()));
        }
    }
    let explanations = explained.finish()?;
    let layout = arguments.terminal.layout();
    let shown = |explanation: &NamedExplanation| match arguments.limit {
        Some(limit) => text(explanation, limit, layout),
        None => screen(explanation, layout),
    };
    let texts: Vec<String> = explanations.iter().map(shown).collect();
    print_styled(&texts.join("\n\n"))?;
    outputs::write(&arguments, &scenarios, &explanations, trace, parquet)?;
    let Some((baseline, limit)) = baseline else { return Ok(Status::Success) };
    let check = |named: &NamedExplanation| baseline.check_explanation(&named.name, &named.explanation, limit);
    let regressions: Vec<Regression> = explanations.iter().flat_map(check).collect();
    let mut gate = Gate::default();
    check_regressions(&mut gate, &regressions, limit);
    Ok(gate.status())
}

fn mapping(folder: &Path) -> Result<OpMapping, Failure> {
    let path = folder.join("op_mapping.yaml");
    let missing = || Failure::lines(vec![format!("{}: no such file{}", path.display(), hint_of_others(folder))]);
    OpMapping::load(&path)?.ok_or_else(missing)
}

/// The source of intervals for predicted times, where the folder has tables.
fn database(folder: &Path) -> Result<Option<Reader>, Failure> {
    let database = Database::open(folder)?;
    let has_tables = !database.kernel_types().is_empty();
    if has_tables {
        warn_without_collectives(&database, folder);
    }
    Ok(has_tables.then(|| database.reader(ReaderSemantics::Best, Layer::Interpolating)))
}

/// Refuses outputs that are inputs.
fn refuse_overwriting(arguments: &Arguments, scenarios: &[Scenario]) -> Result<(), Failure> {
    if let Some(folder) = &arguments.measure_dir {
        refuse_database(folder, "--measure-dir", arguments.data_dir.as_deref())?;
    }
    let database = arguments.data_dir.as_deref().map(files_of).transpose()?.unwrap_or_default();
    let named = [&arguments.scenarios, &arguments.families].into_iter().flatten().chain(&database);
    let named = named.map(PathBuf::as_path);
    let read = scenarios.iter().filter(|scenario| arguments.shards.reads(&scenario.name));
    let inputs = read.flat_map(Scenario::files).chain(named).chain(arguments.regression.baseline_file());
    let outputs = [&arguments.json, &arguments.csv, &arguments.parquet, &arguments.html, &arguments.trace_out];
    Ok(refuse_inputs(outputs.into_iter().filter_map(|file| file.as_deref()), inputs)?)
}

/// What came of the scenarios.
#[derive(Default)]
struct Explained {
    explanations: Vec<NamedExplanation>,
    errors: Vec<String>,
}

impl Explained {
    fn take(&mut self, name: &str, report: CaseReport) {
        match report.result {
            Ok(explanation) => {
                report.warnings.iter().for_each(WarningLine::print);
                self.explanations.push(NamedExplanation { name: name.to_owned(), explanation });
            }
            Err(line) => self.errors.push(line),
        }
    }

    fn finish(self) -> Result<Vec<NamedExplanation>, Failure> {
        if self.errors.is_empty() { Ok(self.explanations) } else { Err(Failure::lines(self.errors)) }
    }
}
