//! Whether a database is good enough for a workload.

mod density;
mod forecast;

use crate::database::{DatabaseArguments, LockArguments, files_of};
use crate::database_folder::{refuse_other, warn_without_collectives, warn_without_tables};
use crate::gate::{Gate, percent};
use crate::json_file::JsonFile;
use crate::layout::LayoutArguments;
use crate::provenance::provenance;
use crate::registry::{Job, Tool};
use crate::table_file::TableFile;
use crate::terminal::TerminalArguments;
use crate::{Failure, Status, command_of, print_escaped, print_styled, progress, run, warn};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser};
use density::{Checked, DensityArguments, check_density};
use forecast::ForecastArguments;
use perfdb_audit::coverage::{
    AnswerSource, Audit, Options, Settled, Suggestions, Workload, WorkloadAudit, append, audit, settle, suggest,
};
use perfdb_files::escape::one_line;
use perfdb_files::replace::{Staged, commit, refuse_inputs};
use perfdb_query::{Database, ReaderSemantics};
use perfdb_report::coverage::{csv, document, suggestions_text, text};
use perfdb_report::density::text as density_text;
use perfdb_report::layout::Layout;
use perfdb_report::page::Provenance;
use perfdb_report::pages::coverage_page;
use perfdb_report::tables;
use perfdb_store::directory::tables_in;
use perfdb_store::op_mapping::OpMapping;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "audit-coverage",
    job: Job::CheckDatabase,
    summary: "how much of a forward pass it covers",
    main,
    command: command_of::<Arguments>,
};

/// Report how much of a forward pass a database covers.
///
/// Workloads are simulator traces (--from-trace), manifests of JSON lines (--manifest) or forecasts from a model's config.json
/// (--model). For each: the share of calls and of time with an exact match (exact), on rows of a slightly
/// other size (padded), on rows around (interpolated, by axes), on predictions only (beyond), on some of its kernels (partial),
/// or on nothing (missing). Then the kernels with most doubtful time, and how far their tables can be trusted (rows left out and
/// predicted from the others).
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// Lookup rules: corrected, best (adds predictions), upstream, upstream-2025
    #[arg(long, value_name = "NAME", default_value = ReaderSemantics::default().name(), value_parser = PossibleValuesParser::new(ReaderSemantics::ALL.map(ReaderSemantics::name)))]
    semantics: String,

    /// Show at most N kernels, and N missing calls per workload
    #[arg(long, value_name = "N", default_value_t = 10)]
    worst: usize,

    /// Do not leave rows out of the tables to see how far they can be trusted
    #[arg(long)]
    no_leave_out: bool,

    /// Write all figures as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    /// Write one line for each question as CSV to FILE
    #[arg(long, value_name = "FILE")]
    csv: Option<OsString>,

    /// Write one row for each question as a Parquet table to FILE
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,

    /// Also write one HTML page with charts and all questions
    #[arg(long, value_name = "FILE")]
    html: Option<OsString>,

    #[command(flatten)]
    terminal: TerminalArguments,

    #[command(flatten)]
    workloads: WorkloadArguments,

    #[command(flatten)]
    forecast: ForecastArguments,

    #[command(flatten)]
    limits: LimitArguments,

    #[command(flatten)]
    density: DensityArguments,

    #[command(flatten)]
    suggestions: SuggestionArguments,

    #[command(flatten)]
    database: DatabaseArguments,
}

/// What is asked of the database.
#[derive(Args)]
#[command(next_help_heading = "Workloads")]
struct WorkloadArguments {
    /// A simulator's trace; once for each
    #[arg(long, value_name = "TRACE")]
    from_trace: Vec<OsString>,

    /// JSON lines, {"id": WORKLOAD, "critical": BOOL, "calls": N, "query": {...}}; once for each
    #[arg(long, value_name = "FILE")]
    manifest: Vec<OsString>,

    /// Expert-parallel size, where the workload does not tell
    #[arg(long, visible_alias = "ep", value_name = "N")]
    ep_size: Option<i64>,

    /// Tensor-parallel size, where the workload does not tell
    #[arg(long, visible_alias = "tp", value_name = "N")]
    tp_size: Option<i64>,

    #[command(flatten)]
    layout: LayoutArguments,
}

/// What ends with status 3.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
struct LimitArguments {
    /// Exit with status 3 unless at least PCT % of the calls and of the time of each workload are exact
    #[arg(long, value_name = "PCT", value_parser = percentage)]
    require_exact: Option<f64>,

    /// Exit with status 3 when more than PCT % of the calls or of the time of a workload have no answer (beyond, missing)
    #[arg(long, value_name = "PCT", value_parser = percentage)]
    max_missing: Option<f64>,
}

/// What to measure next.
#[derive(Args)]
#[command(next_help_heading = "What to measure next")]
struct SuggestionArguments {
    /// Name the N rows to measure next: those that tell most about what the workloads ask and no row of its own answers
    #[arg(long, value_name = "N", default_value_t = 0)]
    suggest: usize,

    /// Append these rows to their tables, without durations: start-microbench --update-mode missing-only fills them
    #[arg(long, requires = "suggest")]
    append: bool,

    #[command(flatten)]
    lock: LockArguments,
}

const EXAMPLES: &str = "\
Examples:
  audit-coverage db trace.json
  audit-coverage db --from-trace prefill.json --from-trace decode.json \\
      -o audit.json -o calls.csv
  audit-coverage db --manifest calls.jsonl --require-exact 90 --max-missing 0
  audit-coverage db trace.json --suggest 20 --append
  audit-coverage db --model Qwen3-32B/config.json --tp 16 --phase decode \\
      --batch 16 --context 4096

The words are explained in docs/guide/coverage.md.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 a limit or a condition of density does not hold.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn percentage(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=100.0).contains(number));
    number.ok_or_else(|| "not a number from 0 to 100".to_owned())
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let asked = &arguments.workloads;
    let description = arguments.forecast.file();
    if asked.from_trace.is_empty() && asked.manifest.is_empty() && description.is_none() {
        return Err(Failure::usage("no workload: give --from-trace, --manifest or --model"));
    }
    let parquet = TableFile::asked(TOOL.name, arguments.parquet.as_deref())?;
    let directory = arguments.database.directory(None)?;
    let semantics: ReaderSemantics = arguments.semantics.parse()?;
    refuse_other(&directory)?;
    let database = Database::open(&directory)?;
    let mapping = directory.join("op_mapping.yaml");
    let mut inputs: Vec<PathBuf> = asked.from_trace.iter().chain(&asked.manifest).map(PathBuf::from).collect();
    inputs.extend(description);
    inputs.extend(arguments.density.files().map(PathBuf::from));
    inputs.extend(files_of(&directory)?);
    let outputs = [&arguments.json, &arguments.csv, &arguments.html].into_iter().flatten().map(Path::new);
    let outputs = outputs.chain(arguments.parquet.as_deref());
    refuse_inputs(outputs, inputs.iter().map(PathBuf::as_path))?;
    // What cannot be written is told before the work.
    let files = Files {
        json: JsonFile::open(arguments.json.as_deref())?,
        csv: JsonFile::open(arguments.csv.as_deref())?,
        page: JsonFile::open(arguments.html.as_deref())?,
        parquet,
    };
    files.parquet.iter().try_for_each(TableFile::check)?;
    let workloads = workloads(asked, &arguments.forecast)?;
    let density = check_density(&arguments.density, &directory, &workloads)?;
    if database.kernel_types().is_empty() {
        warn_without_tables(&directory);
    }
    warn_without_collectives(&database, &directory);
    let options = Options {
        directory,
        semantics,
        mapping: OpMapping::load(&mapping)?.unwrap_or_default(),
        leave_out: !arguments.no_leave_out,
    };
    let reading = progress::tables(tables_in(&options.directory)?.iter().map(PathBuf::as_path));
    let (audit, suggestions, locks) = match arguments.suggestions.suggest {
        0 => (audit(&database, workloads, &options)?, None, None),
        count if arguments.suggestions.append => {
            let lock = arguments.suggestions.lock.options(TOOL.name);
            let Settled { locks, audit, suggestions } = settle(&database, workloads, &options, count, &lock)?;
            (audit, Some(suggestions), Some(locks))
        }
        count => {
            let audit = audit(&database, workloads, &options)?;
            let suggestions = suggest(&database, &options.directory, &options.mapping, &audit, count)?;
            (audit, Some(suggestions), None)
        }
    };
    drop(reading);
    warn_of_unreadable(&audit);
    let workloads = asked.from_trace.iter().chain(&asked.manifest).map(|path| ("workload", Path::new(path)));
    let read = || provenance(TOOL.name, workloads.chain([("database", options.directory.as_path())]));
    let mut staged = files.stage(&audit, suggestions.as_ref(), density.as_ref().map(|density| &density.value), read)?;
    let layout = arguments.terminal.layout();
    let show = || show(&audit, density.as_ref(), suggestions.as_ref(), arguments.worst, layout);
    match (locks, &suggestions) {
        (Some(locks), Some(Suggestions { rows, .. })) => {
            let tables = append(rows)?;
            let count = tables.len();
            staged.extend(tables);
            locks.commit(staged)?;
            // Whoever reads slowly keeps no other run waiting.
            drop(locks);
            show()?;
            print_escaped(&format!(
                "appended {} rows to {count} tables; measure them with start-microbench --update-mode missing-only\n",
                rows.len()
            ))?;
        }
        _ => {
            show()?;
            commit(staged)?;
        }
    }
    let mut gate = Gate::default();
    check_limits(&mut gate, &audit, &arguments.limits);
    let is_sparse = density.is_some_and(|density| density.has_failed);
    Ok(if is_sparse { Status::LimitPassed } else { gate.status() })
}

fn warn_of_unreadable(audit: &Audit) {
    let findings = audit.workloads.iter().flat_map(|workload| &workload.asked).map(|asked| &asked.finding);
    let unreadable: BTreeSet<&String> = findings.filter_map(|finding| finding.unreadable.as_ref()).collect();
    unreadable.into_iter().for_each(|reason| warn(&format!("no answers from a table: {reason}")));
}

fn show(
    audit: &Audit,
    density: Option<&Checked>,
    suggestions: Option<&Suggestions>,
    worst: usize,
    layout: Layout,
) -> Result<(), Failure> {
    print_styled(&text(audit, worst, layout))?;
    if let Some(density) = density {
        print_escaped(&format!("\ndensity\n{}", density_text(&density.report, worst, "--worst N", layout)))?;
    }
    suggestions.into_iter().try_for_each(|suggestions| print_styled(&suggestions_text(suggestions, layout)))
}

/// The files that were asked for.
struct Files {
    json: Option<JsonFile>,
    csv: Option<JsonFile>,
    page: Option<JsonFile>,
    parquet: Option<TableFile>,
}

impl Files {
    fn stage(
        self,
        audit: &Audit,
        suggestions: Option<&Suggestions>,
        density: Option<&Value>,
        read: impl FnOnce() -> Provenance,
    ) -> Result<Vec<Staged>, Failure> {
        let mut staged = Vec::new();
        if let Some(file) = self.json {
            staged.push(file.stage_text(&document(audit, suggestions, density.cloned())?)?);
        }
        if let Some(file) = self.csv {
            staged.push(file.stage_text(&csv(audit))?);
        }
        if let Some(file) = self.parquet {
            staged.push(file.stage(tables::questions(audit))?);
        }
        if let Some(file) = self.page {
            staged.push(file.stage_text(&coverage_page(audit, suggestions, read()).to_html()?)?);
        }
        Ok(staged)
    }
}

fn workloads(asked: &WorkloadArguments, forecast: &ForecastArguments) -> Result<Vec<Workload>, Failure> {
    let parallel = asked.layout.parallel(asked.tp_size, asked.ep_size);
    let grid = asked.layout.grid();
    let mut workloads = Vec::new();
    for trace in &asked.from_trace {
        workloads.push(Workload::of_trace(trace.as_ref(), &parallel, grid.as_ref())?);
    }
    for manifest in &asked.manifest {
        workloads.extend(Workload::of_manifest(manifest.as_ref(), &parallel, grid.as_ref())?);
    }
    workloads.extend(forecast.workload(&parallel, grid.as_ref())?);
    Ok(workloads)
}

/// Prints what is beyond the limits.
fn check_limits(gate: &mut Gate, audit: &Audit, limits: &LimitArguments) {
    let in_percent = |share: f64| 100.0 * share;
    for WorkloadAudit { name, shares, .. } in &audit.workloads {
        let name = one_line(name);
        let exact = in_percent(shares.of_calls(AnswerSource::Exact).min(shares.of_time(AnswerSource::Exact)));
        if let Some(least) = limits.require_exact.filter(|least| exact < *least) {
            gate.exceeded(format!("{name}: {exact:.1} % are exact"), format!("at least {least} %"));
        }
        let without = |of: &dyn Fn(AnswerSource) -> f64| of(AnswerSource::Beyond) + of(AnswerSource::Missing);
        let missing = in_percent(without(&|one| shares.of_calls(one)).max(without(&|one| shares.of_time(one))));
        if let Some(most) = limits.max_missing.filter(|most| missing > *most) {
            gate.exceeded(format!("{name}: {missing:.1} % have no answer"), percent(most));
        }
    }
}
