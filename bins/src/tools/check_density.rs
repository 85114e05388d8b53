//! Where a database is measured too sparsely.

use crate::database::{CheckedDatabase, files_of};
use crate::database_folder::refuse_without_tables;
use crate::density::warn_of_unmet;
use crate::json_file::JsonFile;
use crate::measure_folder::{self, RowsToMeasure, refuse_database};
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print_escaped, run};
use clap::Parser;
use perfdb_audit::coverage::Workload;
use perfdb_audit::coverage::density::{
    Declaration, Inputs, MessageSizes, Report, Standard, Verdict, check, repair_tables,
};
use perfdb_comm::Error as BenchError;
use perfdb_comm::plan::PlanRequest;
use perfdb_comm::sessions::{Environment, SessionOptions, SessionPlan};
use perfdb_files::paths::normalised;
use perfdb_files::replace::{commit, refuse_inputs};
use perfdb_grid::rules::RuleFile;
use perfdb_query::ParallelConfig;
use perfdb_report::density::{document, screen, text};
use perfdb_report::list_csv::{OF_DENSITY, list_csv};
use perfdb_store::op_mapping::OpMapping;
use perfdb_trace::source::Source;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "check-density",
    job: Job::CheckDatabase,
    summary: "where it is measured too sparsely",
    main,
    command: command_of::<Arguments>,
};

/// Check how densely a database is measured, by rules for each axis of each kernel.
///
/// Rows that are equal in all but one axis are a bucket; its values must not be further apart than the rules say, and have to
/// include those that are required. Nine conditions are judged: rules used (1), density (2), critical queries exact (3), others
/// exact or interpolated (4), errors of rows left out (5), no query without answer (6), every row measured (7), rules and
/// generator agree (8), size (9). Does not change the database.
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// Rules of generate-shape-grid, which tell the axes of kernels [default: the built-in ones]
    #[arg(long, value_name = "FILE")]
    rules: Option<OsString>,

    /// Rules of density [default: the built-in v1]
    #[arg(long, value_name = "FILE")]
    density: Option<OsString>,

    /// Where density is asked for [default: every bucket, from its smallest to its largest value]
    #[arg(long, value_name = "FILE", conflicts_with = "full_range")]
    ranges: Option<OsString>,

    /// Ask every bucket for the whole range of its rule
    #[arg(long)]
    full_range: bool,

    /// Queries that have to be answered: JSON lines, {"id": WORKLOAD, "critical": BOOL, "query": {...}}
    #[arg(long, value_name = "FILE")]
    manifest: Option<OsString>,

    /// Refuse any other manifest than the one with this SHA-256
    #[arg(long, value_name = "HEX", requires = "manifest")]
    manifest_sha256: Option<String>,

    /// Let queries be answered by a row that matches by this rule of the reader; once for each
    #[arg(long, value_name = "RULE", requires = "manifest")]
    allow: Vec<String>,

    /// The database in use now, for conditions 5 and 9
    #[arg(long, value_name = "DIR")]
    baseline_database: Option<OsString>,

    /// Conditions that cannot be judged count as failed
    #[arg(long)]
    strict: bool,

    /// Add rows that would close findings to tables in DIR, without durations; rows that are there stay
    #[arg(long, value_name = "DIR")]
    suggest: Option<OsString>,

    /// Write all of it as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    /// Write all findings as CSV to FILE
    #[arg(long, value_name = "FILE")]
    csv: Option<OsString>,

    /// Show at most N findings [default: one screen]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Show all findings
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    #[command(flatten)]
    database: CheckedDatabase,
}

const EXAMPLES: &str = "\
Examples:
  check-density db
  check-density db --ranges ranges.yaml --suggest missing
  check-density db --manifest calls.jsonl --baseline-database old --strict \\
      -o density.json

The rules are explained in docs/formats/density.md.

Exit status: 0 nothing failed, 1 failed, 2 wrong usage, 3 a condition does not hold.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let directory = arguments.database.directory()?;
    let baseline = arguments.baseline_database.as_ref().map(|path| normalised(path.as_ref()));
    let mut files: Vec<PathBuf> = [&arguments.rules, &arguments.density, &arguments.ranges, &arguments.manifest]
        .into_iter()
        .flatten()
        .map(PathBuf::from)
        .collect();
    for database in [Some(&directory), baseline.as_ref()].into_iter().flatten() {
        refuse_without_tables(database)?;
        files.extend(files_of(database)?);
        // Its tables are judged without it, and its queries by it: one that cannot be read is no mapping that says nothing.
        OpMapping::load(&database.join("op_mapping.yaml"))?;
    }
    let outputs = [&arguments.json, &arguments.csv].into_iter().flatten().map(Path::new);
    refuse_inputs(outputs, files.iter().map(PathBuf::as_path))?;
    if let Some(folder) = &arguments.suggest {
        refuse_database(
            folder.as_ref(),
            "--suggest",
            std::iter::once(&directory).chain(&baseline).map(PathBuf::as_path),
        )?;
    }
    // What cannot be written is told before the work.
    let json = JsonFile::open(arguments.json.as_deref())?;
    let csv = JsonFile::open_beside_tables(arguments.csv.as_deref(), &directory)?;
    let (inputs, sha256) = inputs(&arguments, directory, baseline)?;
    let report = check(&inputs)?;
    warn_of_unmet(arguments.ranges.as_deref(), &report);
    let mut staged = Vec::new();
    if json.is_some() || csv.is_some() {
        let document = document(&report, &inputs.standard.version, &inputs.directory, sha256.as_deref())?;
        if let Some(csv) = csv {
            let document: Value = serde_json::from_str(&document).map_err(std::io::Error::other)?;
            staged.push(csv.stage_text(&list_csv(&OF_DENSITY, &document["findings"]))?);
        }
        if let Some(json) = json {
            staged.push(json.stage_text(&document)?);
        }
    }
    let layout = arguments.database.layout();
    let shown = match (arguments.all, arguments.limit) {
        (true, _) => text(&report, usize::MAX, "--all", layout),
        (false, Some(limit)) => text(&report, limit, "--all", layout),
        (false, None) => screen(&report, "--all", layout),
    };
    print_escaped(&shown)?;
    match &arguments.suggest {
        Some(folder) => {
            let table = |(kernel, csv): (String, Vec<u8>)| RowsToMeasure { name: format!("{kernel}.csv"), csv };
            let tables: Vec<RowsToMeasure> = repair_tables(&report.repairs).into_iter().map(table).collect();
            measure_folder::write(TOOL.name, folder.as_ref(), &tables, staged)?;
        }
        None => commit(staged)?,
    }
    Ok(if has_failed(&report, arguments.strict) { Status::LimitPassed } else { Status::Success })
}

fn has_failed(report: &Report, strict: bool) -> bool {
    report.gates.iter().any(|verdict| match verdict {
        Verdict::Passed => false,
        Verdict::Failed(_) => true,
        Verdict::NotJudged(_) => strict,
    })
}

/// The sizes that the benches of collectives measure where nobody asks for others.
fn message_sizes() -> Result<MessageSizes, BenchError> {
    let of_sessions = |environment: &Environment| -> Result<Vec<u64>, BenchError> {
        let plan = SessionPlan::new(environment, &SessionOptions::default())?;
        Ok(plan.sessions.into_iter().flat_map(|session| session.bytes_grid).collect())
    };
    let text = |text: &str| Some(text.to_owned());
    let several = Environment {
        nnodes: text("2"),
        node_rank: text("0"),
        master_addr: text("localhost"),
        ..Environment::default()
    };
    Ok(MessageSizes {
        one_node: of_sessions(&Environment::default())?,
        several_nodes: of_sessions(&several)?,
        single_bench: PlanRequest::default().bytes_grid,
    })
}

/// What is checked, and the SHA-256 of the manifest.
fn inputs(
    arguments: &Arguments,
    directory: PathBuf,
    baseline: Option<PathBuf>,
) -> Result<(Inputs, Option<String>), Failure> {
    let mut inputs = Inputs::new(directory);
    inputs.baseline = baseline;
    inputs.full_range = arguments.full_range;
    inputs.allowed.clone_from(&arguments.allow);
    inputs.message_sizes = Some(message_sizes()?);
    let text = |path: &OsString| -> Result<String, Failure> { Ok(Source::open(Path::new(path))?.read_text()?) };
    if let Some(path) = &arguments.rules {
        inputs.rules = RuleFile::read(path.as_ref())?;
    }
    if let Some(path) = &arguments.density {
        inputs.standard = Standard::parse(path.as_ref(), &text(path)?)?;
    }
    if let Some(path) = &arguments.ranges {
        inputs.ranges = Some(Declaration::parse(path.as_ref(), &text(path)?)?);
    }
    let Some(path) = &arguments.manifest else { return Ok((inputs, None)) };
    let bytes = Workload::read_manifest(path.as_ref())?;
    let sha256 = Sha256::digest(&bytes).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a text cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    if arguments.manifest_sha256.as_ref().is_some_and(|wanted| !wanted.eq_ignore_ascii_case(&sha256)) {
        let path = Path::new(path).display();
        return Err(Failure::lines(vec![format!("{path}: its SHA-256 is {sha256}, not what --manifest-sha256 says")]));
    }
    inputs.workloads = Some(Workload::parse_manifest(path.as_ref(), &bytes, &ParallelConfig::default(), None)?);
    Ok((inputs, Some(sha256)))
}
