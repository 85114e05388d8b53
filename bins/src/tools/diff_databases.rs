//! What changed between two databases.

use crate::database::description_of;
use crate::database_folder::refuse_without_tables;
use crate::gate::{Gate, percent};
use crate::json_file::{JsonFile, ResultFiles};
use crate::layout::LayoutArguments;
use crate::provenance::provenance;
use crate::registry::{Job, Tool};
use crate::table_file::{OpenTable, TableFile};
use crate::terminal::TerminalArguments;
use crate::{Failure, Status, command_of, print_styled, progress, run, warn};
use clap::Parser;
use perfdb_audit::coverage::Workload;
use perfdb_audit::versions::diff::{Diff, Options, Outcome, TableDiff, Tally, compare};
use perfdb_audit::versions::{Error, Place, workload};
use perfdb_files::paths::normalised;
use perfdb_files::replace::{commit, refuse_inputs};
use perfdb_files::tables::{batch, schema};
use perfdb_report::pages::versions_page;
use perfdb_report::tables::{CaseRow, case_columns};
use perfdb_report::versions::{Comparison, Listing, closing, csv_header, csv_rows, opening, percents, table, text};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "diff-databases",
    job: Job::CheckDatabase,
    summary: "what changed between two databases",
    main,
    command: command_of::<Arguments>,
};

/// Rows of a page.
const ROWS_OF_A_PAGE: usize = 2000;

/// Report what changed between two databases, row by row: cases that only one has, and cases that became slower or faster.
///
/// Rows are the same case when all cells that lookups read are equal. Measured durations are compared with
/// measured ones, else profiled with profiled ones; a difference counts as slower or faster when it is larger than the tolerance
/// and than the P10-P90 spread of profiled calls. With --workload, what the change does to a forward pass. Versions and
/// devices may differ. Changes nothing.
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// The database before
    #[arg(value_name = "A")]
    a: OsString,

    /// The database after
    #[arg(value_name = "B")]
    b: OsString,

    /// Durations that differ by up to PCT % are the same
    #[arg(long, value_name = "PCT", default_value_t = 3.0, value_parser = percentage)]
    tolerance: f64,

    /// Show at most N rows that became slower
    #[arg(long, value_name = "N", default_value_t = 10)]
    worst: usize,

    /// Exit with status 3 when a kernel type, or all rows together, became slower by more than PCT % in the geometric mean
    #[arg(long, value_name = "PCT", value_parser = percentage, help_heading = "Limits")]
    fail_slower: Option<f64>,

    /// Exit with status 3 when more than N cases of A are gone or have no duration
    #[arg(long, value_name = "N", help_heading = "Limits")]
    fail_missing: Option<usize>,

    /// Kernel types of which fewer rows could be compared are not judged by --fail-slower
    #[arg(long, value_name = "N", default_value_t = 3, requires = "fail_slower", help_heading = "Limits")]
    min_rows: usize,

    #[command(flatten)]
    files: ResultFiles,

    /// Write one row for each case as a Parquet table to FILE
    #[arg(long, value_name = "FILE")]
    parquet: Option<OsString>,

    #[command(flatten)]
    terminal: TerminalArguments,

    /// Also show the effect on the forward pass of a simulator's trace; repeatable
    #[arg(long, value_name = "TRACE", help_heading = "Forward passes")]
    workload: Vec<OsString>,

    /// Expert-parallel size, where the workload does not tell
    #[arg(long, visible_alias = "ep", value_name = "N", help_heading = "Forward passes")]
    ep_size: Option<i64>,

    /// Tensor-parallel size, where the workload does not tell
    #[arg(long, visible_alias = "tp", value_name = "N", help_heading = "Forward passes")]
    tp_size: Option<i64>,

    #[command(flatten, next_help_heading = "Forward passes")]
    layout: LayoutArguments,
}

const EXAMPLES: &str = "\
Examples:
  diff-databases data/cann8.5 data/cann8.6
  diff-databases old new -o rows.csv -o report.html
  diff-databases old new --workload decode.json
  diff-databases old new --fail-slower 5 --fail-missing 0 --quiet

The words are explained in docs/guide/versions.md.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 slower or fewer rows than the limits allow, or a table that cannot be read.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], execute)
}

fn percentage(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=1000.0).contains(number));
    number.ok_or_else(|| "not a number from 0 to 1000".to_owned())
}

/// The documents that grow with every table.
struct Documents {
    json: Option<JsonFile>,
    csv: Option<JsonFile>,
    cases: Option<OpenTable>,
    tables: usize,
}

impl Documents {
    fn add(&mut self, found: &TableDiff) -> Result<(), Failure> {
        let is_first = self.tables == 0;
        self.tables += 1;
        if let Some(json) = &mut self.json {
            json.append(&table(found, is_first))?;
        }
        if let Some(csv) = &mut self.csv {
            csv.append(&csv_rows(found))?;
        }
        if let Some(cases) = &mut self.cases {
            let rows: Vec<CaseRow<'_>> = found.rows.iter().map(|row| CaseRow { table: found, row }).collect();
            cases.write(batch(&case_columns(), rows.iter()))?;
        }
        Ok(())
    }
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let open = |path: &OsString| -> Result<Place, Failure> {
        let directory = normalised(path.as_ref());
        refuse_without_tables(&directory)?;
        Ok(Place::open(&directory)?.with_collectives()?)
    };
    let (a, b) = (open(&arguments.a)?, open(&arguments.b)?);
    if let Err(error @ Error::SameDatabase { .. }) = a.check_other_than(&b) {
        return Err(Failure::usage(error.to_string()));
    }
    let mut inputs: Vec<PathBuf> = arguments.workload.iter().map(PathBuf::from).collect();
    for place in [&a, &b] {
        inputs.extend(place.tables().map(|(_, path)| path.to_owned()));
        inputs.extend(description_of(&place.directory));
    }
    let outputs = arguments.files.paths().chain(arguments.parquet.as_deref().map(Path::new));
    refuse_inputs(outputs, inputs.iter().map(PathBuf::as_path))?;
    // What cannot be written is told before the work.
    let cases = TableFile::asked(TOOL.name, arguments.parquet.as_deref().map(Path::new))?;
    let cases = cases.map(|file| file.begin(&schema("cases", &case_columns()))).transpose()?;
    let mut documents = Documents {
        json: JsonFile::open(arguments.files.json.as_deref())?,
        csv: JsonFile::open(arguments.files.csv.as_deref())?,
        cases,
        tables: 0,
    };
    let page = JsonFile::open(arguments.files.html.as_deref())?;
    let workloads = workloads(&arguments)?;
    if let Some(json) = &mut documents.json {
        json.append(&opening(&a, &b))?;
    }
    if let Some(csv) = &mut documents.csv {
        csv.append(&csv_header())?;
    }
    let options = Options { tolerance: arguments.tolerance / 100.0 };
    let (mut slowest, mut changed) = (Listing::new(arguments.worst), Listing::new(ROWS_OF_A_PAGE));
    let reading = progress::tables(a.tables().chain(b.tables()).map(|(_, path)| path));
    let diff = compare(&a, &b, &options, |table| {
        slowest.add_where(table, |outcome| outcome == Outcome::Slower);
        if page.is_some() {
            changed.add(table);
        }
        documents.add(table)
    })?;
    let workloads = if workloads.is_empty() { Vec::new() } else { workload::compare(&a, &b, &workloads)? };
    drop(reading);
    diff.unreadable.iter().for_each(|one| warn(&one.message));
    let found = Comparison { a: &a, b: &b, diff: &diff, workloads: &workloads, tolerance: options.tolerance };
    let mut staged = Vec::new();
    if let Some(mut json) = documents.json {
        json.append(&closing(&found))?;
        staged.push(json.stage_appended()?);
    }
    if let Some(csv) = documents.csv {
        staged.push(csv.stage_appended()?);
    }
    if let Some(cases) = documents.cases {
        staged.push(cases.finish()?);
    }
    if let Some(page) = page {
        let traces = arguments.workload.iter().map(|path| ("workload", Path::new(path)));
        let databases = [("A", a.directory.as_path()), ("B", b.directory.as_path())];
        let read = provenance(TOOL.name, databases.into_iter().chain(traces));
        staged.push(page.stage_text(&versions_page(&found, &changed.into_rows(), read).to_html()?)?);
    }
    print_styled(&text(&found, &slowest.into_rows(), arguments.terminal.layout()))?;
    commit(staged)?;
    let mut gate = Gate::default();
    if let Some(limit) = arguments.fail_slower {
        check_speed(&mut gate, &diff, limit, arguments.min_rows);
    }
    let lost = diff.total.lost();
    if let Some(limit) = arguments.fail_missing.filter(|limit| lost > *limit) {
        gate.exceeded(format!("{lost} cases are gone or have no duration"), limit);
    }
    Ok(if diff.unreadable.is_empty() { gate.status() } else { Status::LimitPassed })
}

fn workloads(arguments: &Arguments) -> Result<Vec<Workload>, Failure> {
    let parallel = arguments.layout.parallel(arguments.tp_size, arguments.ep_size);
    let grid = arguments.layout.grid();
    let read = |trace: &OsString| Workload::of_trace(trace.as_ref(), &parallel, grid.as_ref());
    Ok(arguments.workload.iter().map(read).collect::<Result<_, _>>()?)
}

/// What became slower than is allowed.
fn check_speed(gate: &mut Gate, diff: &Diff, limit: f64, fewest: usize) {
    let all = ("all rows".to_owned(), &diff.total);
    let each = diff.tables.iter().map(|table| (table.kernel_type.clone(), &table.tally));
    let too_slow = |(name, tally): (String, &Tally)| {
        let slower = 100.0 * (tally.mean_ratio()? - 1.0);
        let is_judged = tally.compared() >= fewest.max(1);
        (is_judged && slower > limit)
            .then(|| format!("{name}: {} % slower over {} rows", percents(slower, 1), tally.compared()))
    };
    let limit_shown = percent(limit);
    std::iter::once(all).chain(each).filter_map(too_slow).for_each(|what| gate.exceeded(what, &limit_shown));
    // A comparison of nothing is not a pass.
    if diff.total.compared() == 0 {
        gate.exceeded("no durations could be compared", &limit_shown);
    }
    let is_lost = |tally: &Tally| tally.compared() == 0 && tally.lost() > 0;
    for table in diff.tables.iter().filter(|table| is_lost(&table.tally)) {
        let tally = &table.tally;
        let (name, gone, lost) = (&table.kernel_type, tally.only_a, tally.lost_durations);
        gate.exceeded(
            format!("{name}: nothing to compare, {gone} cases are gone and {lost} have no duration"),
            &limit_shown,
        );
    }
}
