//! Writing samples back, and the report on it.

use super::{Run, TOOL};
use crate::json_file::JsonFile;
use crate::replay::variable;
use crate::{Failure, print, warn};
use perfdb_files::replace::refuse_inputs;
use perfdb_files::time::RunTime;
use perfdb_microbench::measure::MeasuredSamples;
use perfdb_microbench::write_back::WriteBack;
use perfdb_report::microbench::{Report, RunFacts};
use perfdb_store::update::{Samples, UpdateOptions, target_tables};
use std::path::PathBuf;

impl Run<'_> {
    /// Updates the tables and writes the report, all or nothing, and prints it.
    pub(super) fn write_back(
        &self,
        samples: &Samples,
        summaries: &[PathBuf],
        measured: Option<&MeasuredSamples>,
    ) -> Result<(), Failure> {
        let Run { arguments, database, selected } = *self;
        let json = arguments.json.as_deref().filter(|_| !arguments.json_on_stdout());
        let json = JsonFile::open_for(json, database)?;
        let tables = target_tables(database, selected)?;
        refuse_inputs(json.as_ref().map(JsonFile::path), tables.iter().chain(summaries).map(PathBuf::as_path))?;
        let mut options = UpdateOptions::new(database, arguments.update_mode, arguments.lock.options(TOOL.name));
        options.operators = selected;
        options.prune = arguments.prune_empty_duration_rows;
        options.dry_run = arguments.dry_run;
        options.record_changes = arguments.dry_run;
        options.follow_links = arguments.follow_links;
        warn_of_samples(samples);
        let mut update = WriteBack::prepare(samples, &options)?;
        update.warnings().iter().for_each(|warning| warn(warning));
        let updates = update.updates();
        let report = Report::new(&updates, measured.and_then(|measured| measured.status.as_ref()));
        let mut facts = RunFacts {
            database: database.to_string_lossy().into_owned(),
            mode: options.mode.name(),
            prune: options.prune,
            with_changes: options.dry_run,
            report: None,
            gap_csv: None,
        };
        let notices: Vec<&String> = updates.iter().flat_map(|update| &update.notices).collect();
        let mut text: String = notices.iter().map(|notice| format!("{notice}\n")).collect();
        let markdown = report.markdown();
        text.push_str(&format!("{markdown}\n"));
        if options.dry_run {
            text.push_str(&report.differences());
        } else {
            let time = run_time()?;
            let files = update.add_report(database, &time, &markdown, &report.hotspot_csv())?;
            if let Some(measured) = measured {
                update.add_origin(database, &time, measured, samples)?;
            }
            let (report_path, csv_path) = (files.report.display(), files.hotspots.display());
            text.push_str(&format!("\n[REPORT] {report_path}\n[REPORT] {csv_path}\n"));
            facts.report = Some(report_path.to_string());
            facts.gap_csv = Some(csv_path.to_string());
        }
        if let Some(json) = json {
            update.add(json.stage(&report.summary(facts.clone()))?);
        }
        // A stdout that takes nothing fails before any table changes.
        if arguments.json_on_stdout() {
            notices.iter().for_each(|notice| warn(notice));
            print(&(perfdb_pycompat::json::to_string(&report.summary(facts))? + "\n"))?;
        } else {
            print(&text)?;
        }
        update.commit()?;
        Ok(())
    }
}

fn warn_of_samples(samples: &Samples) {
    if samples.ignored_rows > 0 {
        warn(&format!("{} row(s) without a valid duration are no measurements", samples.ignored_rows));
    }
    for (path, line) in &samples.open_quotes {
        warn(&format!("{}:{line}: the quote that opens here is never closed; taken as it stands", path.display()));
    }
}

/// Now, or the time that `SOURCE_DATE_EPOCH` fixes.
fn run_time() -> Result<RunTime, Failure> {
    let seconds = variable("SOURCE_DATE_EPOCH").map(|epoch| epoch.trim().parse::<i64>()).transpose();
    let seconds = seconds.map_err(|_| Failure::lines(vec!["SOURCE_DATE_EPOCH: not a number of seconds".to_owned()]))?;
    Ok(RunTime::new(seconds))
}
