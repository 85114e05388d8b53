//! Writing samples back, and the report.

use super::arguments::Arguments;
use crate::json_file::JsonFile;
use crate::{Failure, print, warn};
use perfdb_files::paths::within;
use perfdb_files::replace::refuse_inputs;
use perfdb_files::time::RunTime;
use perfdb_microbench::directory::RunDirectory;
use perfdb_report::microbench::{ExecutionStatus, Report, RunFacts};
use perfdb_store::directory::REPORTS;
use perfdb_store::update::{Pending, Samples, UpdateOptions, prepare, target_tables};
use std::path::{Path, PathBuf};

/// Makes the content of an origin file for the time of the run.
pub type MakeOrigin<'a> = dyn Fn(&RunTime) -> Result<String, Failure> + 'a;

/// What to write back, and where.
pub struct WriteBack<'a> {
    /// The command line.
    pub arguments: &'a Arguments,
    /// The database directory.
    pub database: &'a Path,
    /// The selected operators.
    pub operators: Option<&'a [String]>,
    /// What was measured.
    pub samples: &'a Samples,
    /// What the replay said about its operators.
    pub status: Option<&'a ExecutionStatus>,
    /// For runs that measured themselves: the content of the origin file, made for the time of the run.
    pub origin: Option<&'a MakeOrigin<'a>>,
    /// For runs that measured themselves: their folder.
    pub directory: Option<&'a RunDirectory>,
}

/// Updates the tables and writes the report, all or nothing, and prints it.
pub fn write_back(job: &WriteBack<'_>) -> Result<(), Failure> {
    let arguments = job.arguments;
    let json_on_stdout = arguments.json.as_deref().is_some_and(|file| file == "-");
    let json = JsonFile::open_for(arguments.json.as_deref().filter(|_| !json_on_stdout), job.database)?;
    if let (Some(json), true) = (&json, job.database.is_dir()) {
        let tables = target_tables(job.database, job.operators)?;
        refuse_inputs(json.path(), tables.iter().map(PathBuf::as_path))?;
    }
    let mode = arguments.update_mode.into();
    let mut options = UpdateOptions::new(job.database, mode, arguments.lock.options("start-microbench"));
    options.operators = job.operators;
    options.prune = arguments.prune_empty_duration_rows;
    options.dry_run = arguments.dry_run;
    options.record_changes = arguments.dry_run;
    options.follow_links = arguments.follow_links;
    tell_about_samples(job.samples);
    let mut pending = prepare(job.samples, &options)?;
    for warning in pending.warnings() {
        warn(warning);
    }
    let updates = pending.updates().to_vec();
    let report = Report::new(&updates, job.status);
    let markdown = report.markdown();
    let mut facts = RunFacts {
        database: job.database.to_string_lossy().into_owned(),
        mode: options.mode.name(),
        prune: options.prune,
        with_changes: options.dry_run,
        report: None,
        gap_csv: None,
    };
    let mut text = String::new();
    for notice in updates.iter().flat_map(|update| &update.notices) {
        text.push_str(&format!("{notice}\n"));
    }
    text.push_str(&format!("{markdown}\n"));
    if options.dry_run {
        text.push_str(&report.differences());
    } else {
        let time = run_time()?;
        let names = ReportNames::free(job.database, &time);
        add_reports(&mut pending, job, &report, &markdown, &names, &time)?;
        if let Some(directory) = job.directory {
            // In the same step as the tables: a run that is killed afterwards is not measured again.
            pending.add_file(&directory.written_back_file(), b"")?;
        }
        let (report_path, csv_path) = (names.report.display(), names.hotspots.display());
        text.push_str(&format!("\n[REPORT] {report_path}\n[REPORT] {csv_path}\n"));
        facts.report = Some(report_path.to_string());
        facts.gap_csv = Some(csv_path.to_string());
    }
    if let Some(json) = json {
        pending.add(json.stage(&report.summary(facts.clone()))?);
    }
    // A stdout that takes nothing fails before any table changes.
    if json_on_stdout {
        updates.iter().flat_map(|update| &update.notices).for_each(|notice| warn(notice));
        print(&(perfdb_pycompat::json::to_string(&report.summary(facts))? + "\n"))?;
    } else {
        print(&text)?;
    }
    pending.commit()?;
    Ok(())
}

fn tell_about_samples(samples: &Samples) {
    if samples.ignored_rows > 0 {
        warn(&format!("{} row(s) without a valid duration are no measurements", samples.ignored_rows));
    }
    for (path, line) in &samples.open_quotes {
        warn(&format!("{}:{line}: the quote that opens here is never closed; taken as it stands", path.display()));
    }
}

fn add_reports(
    pending: &mut Pending,
    job: &WriteBack<'_>,
    report: &Report<'_>,
    markdown: &str,
    names: &ReportNames,
    time: &RunTime,
) -> Result<(), Failure> {
    let csv_name = names.hotspots.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    pending.add_file(&names.report, format!("{markdown}Full hotspot CSV: {csv_name}\n").as_bytes())?;
    pending.add_file(&names.hotspots, &report.hotspot_csv())?;
    if let Some(origin) = job.origin {
        pending.add_file(&names.origin, origin(time)?.as_bytes())?;
    }
    Ok(())
}

/// Now, or the time that `SOURCE_DATE_EPOCH` fixes.
fn run_time() -> Result<RunTime, Failure> {
    let epoch = std::env::var("SOURCE_DATE_EPOCH").ok().filter(|epoch| !epoch.is_empty());
    let seconds = epoch.map(|epoch| epoch.trim().parse::<i64>()).transpose();
    let seconds = seconds.map_err(|_| Failure::lines(vec!["SOURCE_DATE_EPOCH: not a number of seconds".to_owned()]))?;
    Ok(RunTime::new(seconds))
}

struct ReportNames {
    report: PathBuf,
    hotspots: PathBuf,
    origin: PathBuf,
}

impl ReportNames {
    /// Names that no earlier run has taken: all of them with the same number.
    fn free(database: &Path, time: &RunTime) -> ReportNames {
        let folder = within(database, REPORTS);
        let mut number = 1;
        loop {
            let suffix = if number == 1 { String::new() } else { format!("_{number}") };
            let stamp = format!("{}{suffix}", time.stamp);
            let names = ReportNames {
                report: folder.join(format!("profile_update_report_{stamp}.md")),
                hotspots: folder.join(format!("duration_gap_hotspots_full_{stamp}.csv")),
                origin: folder.join(format!("profile_update_report_{stamp}.json")),
            };
            if [&names.report, &names.hotspots, &names.origin].iter().all(|path| !path.exists()) {
                return names;
            }
            number += 1;
        }
    }
}
