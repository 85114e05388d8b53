//! Appends theory shapes to the tables of a database.

use crate::registry::{Job, Tool};
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::database::{DatabaseArguments, LockArguments};
use crate::semantics::{DEFAULT_SEMANTICS, semantics};
use crate::{Failure, Status, command_of, print, print_line, print_note, progress, run, warn};
use clap::Parser;
use num_bigint::BigInt;
use perfdb_files::paths::normalised;
use perfdb_files::replace::{Parents, Staged, refuse_inputs};
use perfdb_grid::{Mode, Options, RowFilter, Semantics, prepare};
use perfdb_pycompat::integer;
use perfdb_pycompat::number::parse_float;
use perfdb_replay::operator::PlanOptions;
use perfdb_replay::operators;
use perfdb_replay::plan::is_replayable;
use perfdb_replay::row::Row;
use perfdb_store::directory::{DEVICES, data_root};
use perfdb_store::version::VersionText;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "generate-shape-grid",
    job: Job::MakeDatabase,
    summary: "add rows for shapes that a model could ask for",
    main,
    command: command_of::<Arguments>,
};

/// Append theory shapes to the tables of a database: one row per shape that a model could ask for, without durations yet
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// Folder of CSV files; otherwise it is derived from the device and the versions
    #[arg(long, visible_alias = "data-dir", value_name = "DIR")]
    database_path: Option<OsString>,

    /// Models to prune by, separated by commas: names, ids or paths of a config.json [default: full grids]
    #[arg(long, value_name = "NAMES")]
    target_models: Option<String>,

    /// Most candidates taken per file; 0 or less takes all
    #[arg(long, value_name = "COUNT", default_value = "1000", allow_negative_numbers = true, value_parser = integer_of_any_size)]
    rows: BigInt,

    /// Seed of the draw, of any size [default: a new one, which is printed]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = integer_of_any_size)]
    seed: Option<BigInt>,

    /// Memory that the tensors of a row may take, in GiB; 0 or less takes rows of any size
    #[arg(long, value_name = "GIB", default_value = "32.0", allow_negative_numbers = true, value_parser = finite_number)]
    max_hbm_gb: f64,

    /// Rule file to use instead of the built-in rules
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Only print what would be appended to each file, and why to some nothing
    #[arg(long)]
    dry_run: bool,

    /// Also write a report for programs
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// What to do where the original tool is wrong: the same, or better
    #[arg(long, default_value = DEFAULT_SEMANTICS, value_parser = semantics())]
    semantics: Semantics,

    #[command(flatten)]
    lock: LockArguments,

    /// Device below the data root, if the folder is derived
    #[arg(long, value_name = "DEVICE", help_heading = "Database directory",
        value_parser = clap::builder::PossibleValuesParser::new(DEVICES), default_value = "ATLAS_800_A3_752T_128G_DIE")]
    device: String,

    /// vLLM-Ascend version, or the whole name of a version directory [default: the whole data root]
    #[arg(long, value_name = "VERSION", help_heading = "Database directory", value_parser = VersionText::parse)]
    vllm_version: Option<VersionText>,

    /// PyTorch version [default: what is installed]
    #[arg(long, value_name = "VERSION", help_heading = "Database directory", value_parser = VersionText::parse)]
    torch_version: Option<VersionText>,

    /// CANN version [default: what is installed]
    #[arg(long, value_name = "VERSION", help_heading = "Database directory", value_parser = VersionText::parse)]
    cann_version: Option<VersionText>,
}

const EXAMPLES: &str = "\
Examples:
  Look first: what would DeepSeek-V3 and Qwen3-32B add to a database?
    generate-shape-grid --database-path db --target-models dsv3,qwen3-32b \\
        --dry-run
  Append at most 2000 drawn shapes per kernel; a seed repeats the draw:
    generate-shape-grid --database-path db --target-models dsv3,qwen3-32b \\
        --rows 2000 --seed 20260409
  Everything that the rules know, with your own rules and your own model:
    generate-shape-grid --database-path db --rows 0 --config rules.yaml \\
        --target-models ./my-model/config.json

The new rows have 0 as durations, or none with --semantics corrected, which leaves out shapes that
op-replay cannot run. start-microbench --update-mode missing-only measures them.

Exit status: 0 done (also when nothing was appended), 1 failed, 2 wrong usage.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], generate)
}

fn generate(arguments: Arguments) -> Result<Status, Failure> {
    let models = models(arguments.target_models.as_deref())?;
    let directory = directory(&arguments)?;
    let draws = arguments.rows > BigInt::ZERO;
    let untold = arguments.seed.is_none() && draws;
    let seed = arguments.seed.unwrap_or_else(|| BigInt::from(RandomState::new().hash_one(TOOL.name) >> 32));
    let options = Options {
        directory,
        models,
        rows: arguments.rows,
        seed: seed.clone(),
        max_hbm_gib: arguments.max_hbm_gb,
        config: arguments.config,
        semantics: arguments.semantics,
        threads: None,
    };
    let locking = arguments.lock.options(TOOL.name);
    let mode = if arguments.dry_run { Mode::DryRun } else { Mode::Write(&locking) };
    let bar = progress::items("tables", None);
    let filter: Option<RowFilter<'_>> = match options.semantics {
        Semantics::Upstream => None,
        Semantics::Corrected => Some(&can_be_replayed),
    };
    let prepared = prepare(&options, mode, filter, &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let prepared = prepared?;
    if untold {
        // Before the first file changes, so that a run that is killed then can be completed.
        print_line(&format!("seed: {seed} (--seed {seed} draws the same shapes again)"));
    }
    for warning in prepared.warnings() {
        warn(&warning);
    }
    for line in prepared.summary().memory_lines() {
        print_line(&line);
    }
    for line in prepared.summary().refusal_lines() {
        print_note(&line);
    }
    if let Some(report) = &arguments.json {
        let tables = prepared.summary().files.iter().map(|file| file.path.as_path());
        refuse_inputs([report.as_path()], tables.chain(options.config.as_deref()))?;
    }
    let report = arguments.json.as_deref().map(|file| staged_report(file, &prepared.summary().json())).transpose()?;
    // A stdout that takes nothing fails before any table changes.
    print(&prepared.summary().text())?;
    prepared.commit(report.into_iter().collect())?;
    Ok(Status::Success)
}

/// Whether op-replay would run a row of this kernel.
fn can_be_replayed(kernel: &str, columns: &[String], cells: &[&str]) -> bool {
    let row = Row::new(columns, cells);
    operators::find(kernel).is_some_and(|operator| is_replayable(operator, row, &PlanOptions::default()))
}

fn staged_report(file: &Path, text: &str) -> Result<Staged, perfdb_files::Error> {
    Staged::with(file, text.as_bytes(), Parents::MustExist)
}

fn models(given: Option<&str>) -> Result<Option<Vec<String>>, Failure> {
    let Some(given) = given.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let names = given.split(',').map(perfdb_pycompat::text::trim).filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(str::to_owned).collect();
    if names.is_empty() {
        return Err(Failure::usage(format!("--target-models '{given}' names no model")));
    }
    Ok(Some(names))
}

fn directory(arguments: &Arguments) -> Result<PathBuf, Failure> {
    if arguments.database_path.as_ref().is_some_and(|path| path.is_empty()) {
        // Most likely a variable of a script that is not set; the current directory was not meant.
        return Err(Failure::usage("--database-path is empty"));
    }
    if arguments.database_path.is_none() && arguments.vllm_version.is_none() {
        let root = data_root(std::env::var_os("PERFDB_DATA_DIR"), &std::env::current_dir()?);
        return Ok(normalised(&root));
    }
    let database = DatabaseArguments {
        database_path: arguments.database_path.clone(),
        device: Some(arguments.device.clone()),
        vllm_version: arguments.vllm_version.clone(),
        torch_version: arguments.torch_version.clone(),
        cann_version: arguments.cann_version.clone(),
    };
    database.directory(None)
}

fn integer_of_any_size(text: &str) -> Result<BigInt, String> {
    integer::parse(text).ok_or_else(|| "not an integer".to_owned())
}

fn finite_number(text: &str) -> Result<f64, String> {
    // Beyond this the bytes would be infinite.
    let is_usable = |number: &f64| (number * 1024.0 * 1024.0 * 1024.0).is_finite();
    parse_float(text).filter(is_usable).ok_or_else(|| "not a finite number".to_owned())
}
