//! Writing samples back into the tables of a database, together with the report on them: all or nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::microbench::error::Error;
use perfdb_files::paths::within;
use perfdb_files::replace::Staged;
use perfdb_files::time::RunTime;
use perfdb_store::directory::REPORTS;
use perfdb_store::update::{Pending, Samples, TableUpdate, UpdateOptions, prepare};

use crate::microbench::measure::MeasuredSamples;
use crate::microbench::origin::{Origin, facts_of};

/// An update of tables that is staged. It changes nothing until it is committed.
pub(crate) struct WriteBack {
    pending: Pending,
    reports: Option<ReportFiles>,
}

/// The files of a report, below `reports/` in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFiles {
    /// The report, Markdown.
    pub report: PathBuf,
    /// All hotspots, CSV.
    pub hotspots: PathBuf,
    /// Where the numbers come from, JSON.
    pub origin: PathBuf,
}

impl WriteBack {
    /// Computes what the samples change and stages it.
    pub(crate) fn prepare(samples: &Samples, options: &UpdateOptions<'_>) -> Result<WriteBack, Error> {
        Ok(WriteBack { pending: prepare(samples, options)?, reports: None })
    }

    /// What happens to each table, in order.
    pub(crate) fn updates(&self) -> Arc<[TableUpdate]> {
        self.pending.updates()
    }

    /// What a user should know, besides the notices of the tables.
    pub(crate) fn warnings(&self) -> &[String] {
        self.pending.warnings()
    }

    /// Adds the report: the Markdown, to which the name of the other file is added, and the CSV of hotspots.
    pub(crate) fn add_report(
        &mut self,
        database: &Path,
        time: &RunTime,
        markdown: &str,
        hotspots: &[u8],
    ) -> Result<ReportFiles, Error> {
        let files = ReportFiles::free(database, time);
        let csv_name = files.hotspots.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.pending.add_file(&files.report, format!("{markdown}Full hotspot CSV: {csv_name}\n").as_bytes())?;
        self.pending.add_file(&files.hotspots, hotspots)?;
        self.reports = Some(files.clone());
        Ok(files)
    }

    /// Adds, for a run that measured itself, the file with the origin of the numbers, and the marker in the run's folder
    /// that it has been written back: a run that is continued after this measures nothing again. To be called last.
    pub(crate) fn add_origin(
        &mut self,
        database: &Path,
        time: &RunTime,
        measured: &MeasuredSamples,
        samples: &Samples,
    ) -> Result<(), Error> {
        let facts = facts_of(&measured.directory.journal());
        if let Some(reports) = &self.reports {
            let origin = Origin::new(database, time, &measured.asked, facts.as_ref(), samples);
            let text = origin.text().map_err(|error| Error::io(&reports.origin, std::io::Error::other(error)))?;
            self.pending.add_file(&reports.origin, text.as_bytes())?;
        }
        // In the same step as the tables: a run that is killed afterwards is not measured again.
        Ok(self.pending.add_file(&measured.directory.written_back_file(), b"")?)
    }

    /// Adds a file elsewhere that is staged already, such as a summary.
    pub(crate) fn add(&mut self, staged: Staged) {
        self.pending.add(staged);
    }

    /// Replaces all files that change, or none of them.
    pub(crate) fn commit(self) -> Result<Arc<[TableUpdate]>, Error> {
        Ok(self.pending.commit()?)
    }
}

impl ReportFiles {
    /// Names that no earlier run has taken: all of them with the same number.
    fn free(database: &Path, time: &RunTime) -> ReportFiles {
        let folder = within(database, REPORTS);
        let mut number = 1;
        loop {
            let suffix = if number == 1 { String::new() } else { format!("_{number}") };
            let stamp = format!("{}{suffix}", time.stamp);
            let names = ReportFiles {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::settings::RunSettings;
    use perfdb_files::lock::LockOptions;
    use perfdb_store::update::Mode;

    use crate::microbench::directory::RunDirectory;
    use crate::microbench::origin::Asked;

    #[test]
    fn a_run_is_marked_together_with_its_report() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let database = folder.path();
        let directory = RunDirectory::fresh(database)?;
        let asked = Asked::new(&RunSettings::new("", ""), false);
        let measured = MeasuredSamples { directory, summaries: Vec::new(), status: None, asked };
        let lock = LockOptions { tool: "test", timeout: Duration::ZERO, notice: &|_| {} };
        let options = UpdateOptions::new(database, Mode::All, lock);
        let time = RunTime::new(Some(0));
        let mut update = WriteBack::prepare(&Samples::default(), &options)?;
        let files = update.add_report(database, &time, "# Report\n", b"")?;
        update.add_origin(database, &time, &measured, &Samples::default())?;
        assert!(!measured.directory.is_written_back() && !files.report.exists());
        update.commit()?;
        assert!(measured.directory.is_written_back() && files.report.is_file() && files.origin.is_file());
        Ok(())
    }
}
