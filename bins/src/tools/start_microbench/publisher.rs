//! What is printed about an update, and the summary of it.

use super::arguments::Arguments;
use super::{Stopped, TOOL};
use crate::json_file::JsonFile;
use crate::output::is_silenced;
use crate::provenance::provenance;
use crate::replay::variable;
use crate::{Failure, print, print_line, run_record, verbose, warn};
use perfdb_files::replace::Staged;
use perfdb_files::time::RunTime;
use perfdb_replay::backend::Backend;
use perfdb_replay::microbench::run::{Publisher, ReportFiles, ReportTexts, Update};
use perfdb_report::microbench::{Detail, Report, RunFacts, differences};
use perfdb_report::pages::microbench_page;
use perfdb_store::provenance::{Identity, Record};
use perfdb_store::update::Samples;
use std::cell::RefCell;
use std::path::Path;

/// Publishes on stdout; where stdout is needed for the summary, on stderr.
pub(super) struct TerminalPublisher<'a> {
    arguments: &'a Arguments,
    database: &'a Path,
    json: RefCell<Option<JsonFile>>,
    page: RefCell<Option<JsonFile>>,
}

impl<'a> TerminalPublisher<'a> {
    pub(super) fn new(
        arguments: &'a Arguments,
        database: &'a Path,
        json: Option<JsonFile>,
        page: Option<JsonFile>,
    ) -> TerminalPublisher<'a> {
        TerminalPublisher { arguments, database, json: RefCell::new(json), page: RefCell::new(page) }
    }

    /// The run's entry in `database.toml`, if tables change.
    fn record(&self, name: &str, update: Update<'_>) -> Result<Option<Staged>, Failure> {
        let arguments = self.arguments;
        let mut run = run_record::measured_by(name, TOOL.name)?;
        run.types = update.tables.iter().filter(|table| table.is_written).map(|table| table.operator.clone()).collect();
        let mut set = |key: &str, value: String| drop(run.settings.insert(key.to_owned(), value));
        set("update-mode", arguments.update_mode.name().to_owned());
        match &arguments.prof_path {
            Some(profile) => set("prof-path", profile.to_string_lossy().into_owned()),
            None => {
                set("backend", arguments.replay.backend(Backend::Npu)?.0.name().to_owned());
                set("repeat-count", arguments.repeat_count.to_string());
            }
        }
        let device = arguments.database.named_device().map(|device| device.name().to_owned());
        let known = Identity { device, ..Identity::default() };
        Ok(Record::stage_run(self.database, known, run)?)
    }

    fn facts(&self, files: Option<&ReportFiles>) -> RunFacts<'static> {
        RunFacts {
            database: self.database.to_string_lossy().into_owned(),
            mode: self.arguments.update_mode.name(),
            prune: self.arguments.prune_empty_duration_rows,
            with_changes: self.arguments.dry_run,
            report: files.map(|files| files.report.display().to_string()),
            gap_csv: files.map(|files| files.hotspots.display().to_string()),
        }
    }
}

impl Publisher for TerminalPublisher<'_> {
    type Error = Stopped;

    fn samples(&self, samples: &Samples) {
        if samples.ignored_rows > 0 {
            warn(&format!("{} row(s) have no valid duration and are not measurements", samples.ignored_rows));
        }
        for (path, line) in &samples.open_quotes {
            let path = path.display();
            warn(&format!("{path}:{line}: the quote that opens here is never closed; taken as it stands"));
        }
    }

    fn warning(&self, text: &str) {
        warn(text);
    }

    /// Now, or the time that `SOURCE_DATE_EPOCH` fixes.
    fn time(&self) -> Result<RunTime, Stopped> {
        let seconds = variable("SOURCE_DATE_EPOCH").map(|epoch| epoch.trim().parse::<i64>()).transpose();
        let reason = || Failure::lines(vec!["SOURCE_DATE_EPOCH: not a number of seconds".to_owned()]);
        Ok(RunTime::new(seconds.map_err(|_| reason())?))
    }

    fn report(&self, update: Update<'_>) -> ReportTexts {
        let report = Report::new(update.tables, update.status);
        ReportTexts { markdown: report.markdown(), hotspots: report.hotspot_csv() }
    }

    fn publish(
        &self,
        update: Update<'_>,
        report: &ReportTexts,
        files: Option<&ReportFiles>,
    ) -> Result<Vec<Staged>, Stopped> {
        let summary_of = |report: &Report<'_>| -> Result<String, Failure> {
            Ok(perfdb_pycompat::json::to_string(&report.summary(self.facts(files)))? + "\n")
        };
        let notices = update.tables.iter().flat_map(|table| &table.notices);
        let mut staged = Vec::new();
        if let Some(json) = self.json.take() {
            staged.push(json.stage_text(&summary_of(&Report::new(update.tables, update.status))?)?);
        }
        if let Some(file) = self.page.take() {
            let profile = self.arguments.prof_path.as_deref().map(|path| ("profile", Path::new(path)));
            let read = provenance(TOOL.name, [("database", self.database)].into_iter().chain(profile));
            let report = Report::new(update.tables, update.status);
            let page = microbench_page(update.tables, update.status, report.hotspots(), read);
            staged.push(file.stage_text(&page.to_html().map_err(Failure::from)?)?);
        }
        if let Some(name) = self.arguments.measured_by.as_ref().filter(|_| files.is_some()) {
            staged.extend(self.record(name, update)?);
        }
        // A stdout that takes nothing fails before any table changes.
        if self.arguments.json_on_stdout() {
            notices.for_each(|notice| warn(notice));
            print(&summary_of(&Report::new(update.tables, update.status))?)?;
            return Ok(staged);
        }
        let heard = notices.filter(|notice| !is_silenced(notice));
        let mut text: String = heard.map(|notice| format!("{notice}\n")).collect();
        text.push_str(&format!("{}\n", report.markdown));
        match files {
            Some(files) => {
                let (report, hotspots) = (files.report.display(), files.hotspots.display());
                text.push_str(&format!("\n[REPORT] {report}\n[REPORT] {hotspots}\n"));
            }
            None => {
                let detail = if verbose() { Detail::Cells } else { Detail::Durations };
                text.push_str(&differences(update.tables, detail));
            }
        }
        print(&text)?;
        Ok(staged)
    }
}

/// A line of the run's own, on stdout; on stderr where stdout is needed for the summary.
pub(super) fn print_own_line(arguments: &Arguments, line: &str) {
    if arguments.json_on_stdout() {
        print_line(line);
    } else if !is_silenced(line) {
        let _ = print(&format!("{line}\n"));
    }
}
