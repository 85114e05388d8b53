//! Measuring: msprof around run-all-op, or the other backends in this process.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::backend::Backend;
use crate::executor::start::starters;
use crate::journal::Line;
use crate::microbench::error::Error;
use crate::row_selection::RowSelection;
use crate::settings::RunSettings;
use perfdb_files::input::{self, Kind};
use perfdb_files::interrupt::Interrupt;
use perfdb_store::update::{AggregateOptions, find_profiles, summaries_of};

use crate::microbench::directory::RunDirectory;
use crate::microbench::msprof::{Profiled, Profiling, ReplayCommand, read_status, require_data, require_msprof};
use crate::microbench::origin::Asked;
use crate::microbench::remaining::Remaining;
use crate::microbench::reporter::Reporter;
use crate::microbench::resume::{journals, own_profiles, remove_unmeasured};
use crate::microbench::run_all::{self, RunAllOptions};
use crate::microbench::status::RunStatus;

/// What to measure, and how.
pub(crate) struct MeasureOptions<'a> {
    /// The database directory.
    pub(crate) database: &'a Path,
    /// Operators that the user selected.
    pub(crate) selected: Option<&'a [String]>,
    /// Operators that the run names; `None` means all.
    pub(crate) operators: Option<&'a [String]>,
    /// How cases are replayed in this process. On `npu` the replay program gets the same options.
    pub(crate) settings: &'a RunSettings,
    /// The command line of the replay program under msprof.
    pub(crate) replay: &'a ReplayCommand,
    /// Go on with the newest run that was kept.
    pub(crate) resume: bool,
    /// How samples are aggregated.
    pub(crate) aggregate: AggregateOptions,
    /// Where programs are found.
    pub(crate) search_path: Option<&'a OsStr>,
    /// stdout is needed for something else than what children print.
    pub(crate) quiet_stdout: bool,
    /// The request to stop.
    pub(crate) interrupt: &'a Interrupt,
}

/// What was measured, and where it lies.
#[derive(Debug)]
pub(crate) struct MeasuredSamples {
    /// The run's folder.
    pub(crate) directory: RunDirectory,
    /// The op_summary files, in order.
    pub(crate) summaries: Vec<PathBuf>,
    /// The replay's status of its operators.
    pub(crate) status: Option<RunStatus>,
    /// What was asked for, for the origin file.
    pub(crate) asked: Asked,
}

impl MeasureOptions<'_> {
    /// Measures. Where that fails, the run's folder stays and is named, and after an interrupt what is left to do is reported.
    pub(crate) fn measure(&self, reporter: &Reporter<'_>) -> Result<MeasuredSamples, Error> {
        let settings = self.settings;
        if settings.backend == Backend::Npu {
            require_msprof(self.search_path)?;
        } else {
            settings.check().map_err(crate::error::Error::from)?;
        }
        let kept = if self.resume { RunDirectory::newest(self.database)? } else { None };
        if self.resume && kept.is_none() {
            let database = self.database.display();
            (reporter.warning)(&format!("{database}: no preserved run to resume, starting afresh"));
        }
        let resumed = kept.is_some();
        let directory = kept.map_or_else(|| RunDirectory::fresh(self.database), Ok)?;
        tracing::info!("measuring into {}", directory.path().display());
        let result = match settings.backend {
            Backend::Npu => self.under_msprof(&directory, resumed, reporter),
            _ => self.in_this_process(&directory, reporter),
        };
        match result {
            Ok(Profiled { summaries, status }) => {
                let asked = Asked::new(settings, resumed);
                Ok(MeasuredSamples { directory, summaries, status, asked })
            }
            Err(error) => {
                if error.signal().is_some() {
                    self.report_remaining(&directory, reporter);
                }
                (reporter.line)(&directory.preserved());
                Err(error)
            }
        }
    }

    /// Measures the rows of a shard into a folder.
    pub(crate) fn measure_into(&self, folder: &Path, reporter: &Reporter<'_>) -> Result<(), Error> {
        let settings = self.settings;
        let directory = RunDirectory::at(folder);
        match settings.backend {
            Backend::Npu => {
                require_msprof(self.search_path)?;
                match self.under_msprof(&directory, false, reporter) {
                    Err(_) if has_measured_nothing(folder)? => {}
                    measured => drop(measured?),
                }
            }
            _ => {
                settings.check().map_err(crate::error::Error::from)?;
                self.in_this_process(&directory, reporter)?;
            }
        }
        Ok(())
    }

    /// Takes what shards have measured into these folders for the measurements of one run.
    pub(crate) fn take_over(&self, folders: &[PathBuf], reporter: &Reporter<'_>) -> Result<MeasuredSamples, Error> {
        let directory = RunDirectory::fresh(self.database)?;
        let taken = join_journals(folders, &directory.journal()).and_then(|()| {
            let mut profiled = self.in_this_process(&directory, reporter)?;
            if self.settings.backend == Backend::Npu {
                profiled.summaries = summaries_of(&profiles_below(folders)?)?;
            }
            Ok(profiled)
        });
        match taken {
            Ok(Profiled { summaries, status }) => {
                Ok(MeasuredSamples { directory, summaries, status, asked: Asked::new(self.settings, false) })
            }
            Err(error) => {
                // The shards keep everything.
                directory.remove()?;
                Err(error)
            }
        }
    }

    fn report_remaining(&self, directory: &RunDirectory, reporter: &Reporter<'_>) {
        let remaining = run_all::choose(self.operators.unwrap_or_default())
            .and_then(|operators| Remaining::of(directory, self.database, &operators, self.settings));
        match remaining {
            Ok(remaining) => (reporter.remaining)(&remaining),
            Err(error) => (reporter.warning)(&format!("cannot find out what is left to measure: {error}")),
        }
    }

    fn under_msprof(
        &self,
        directory: &RunDirectory,
        resumed: bool,
        reporter: &Reporter<'_>,
    ) -> Result<Profiled, Error> {
        if resumed {
            remove_unmeasured(directory.path(), &self.aggregate)?;
        }
        let profiling = Profiling {
            replay: self.replay,
            selected: self.selected,
            operators: self.operators,
            quiet_stdout: self.quiet_stdout,
            line: reporter.line,
            interrupt: self.interrupt,
        };
        profiling.run(directory.path())
    }

    fn in_this_process(&self, directory: &RunDirectory, reporter: &Reporter<'_>) -> Result<Profiled, Error> {
        let output = directory.path();
        let (is_shard, is_taken) = match self.settings.rows {
            RowSelection::All => (false, false),
            RowSelection::Shard(_) => (true, false),
            RowSelection::Journals(_) => (false, true),
        };
        let mut settings = RunSettings { output: output.to_owned(), ..self.settings.clone() };
        if is_taken {
            settings.rows = RowSelection::Journals(vec![directory.journal()])
        } else {
            settings.journal = Some(directory.journal())
        }
        let old = own_profiles(output)?;
        let options = RunAllOptions {
            database: self.database.to_owned(),
            operators: run_all::choose(self.operators.unwrap_or_default())?,
            continue_on_error: !self.replay.fail_fast,
            status_file: directory.status_file(),
        };
        let starters = starters(&settings, self.interrupt, &reporter.listener);
        let mut outcome = run_all::run(&options, &settings, starters, self.interrupt, reporter.event)?;
        if let Some(report) = &mut outcome.report {
            if is_shard {
                // What was measured stands in the journal.
                report.op_summary = None;
            } else {
                std::mem::take(&mut report.files).commit(reporter.event)?;
            }
            (reporter.replayed)(report);
            if report.op_summary.is_some() {
                // The new file has the earlier samples too.
                for profile in &old {
                    std::fs::remove_dir_all(profile).map_err(|source| Error::io(profile, source))?;
                }
            }
        }
        let profiles = find_profiles(output)?;
        let summaries = summaries_of(&profiles)?;
        match outcome.stopped_by {
            Some(error) if error.signal().is_some() || is_shard || error.is_about_shards() => return Err(error),
            Some(error) if summaries.is_empty() && settings.backend != Backend::Npu => return Err(error),
            Some(error) => (reporter.line)(&format!(
                "[WARN] the replay stopped ({error}), but {} op_summary file(s) were generated under {}. \
                 Continuing with generated profiling data.",
                summaries.len(),
                output.display()
            )),
            None => {}
        }
        // A shard may have no rows, and the times of `npu` lie where the shards are.
        if !is_shard && settings.backend != Backend::Npu {
            require_data(output, &profiles, &summaries)?;
        }
        Ok(Profiled { summaries, status: read_status(output) })
    }
}

/// Whether a replay came to its end and none of its rows ran, so that there is nothing to be profiled.
fn has_measured_nothing(folder: &Path) -> Result<bool, Error> {
    let journal = crate::microbench::directory::journal(folder);
    let lines = if journal.exists() { crate::journal::read(&journal)? } else { Vec::new() };
    let has_run = lines.iter().any(|line| matches!(line, Line::Case(case) if case.is_ok()));
    Ok(!has_run && read_status(folder).is_some())
}

/// Writes the journals of shards into one file, in their order.
fn join_journals(folders: &[PathBuf], target: &Path) -> Result<(), Error> {
    let mut joined = File::create_new(target).map_err(|source| Error::io(target, source))?;
    for folder in folders {
        for journal in journals(folder)? {
            let copied = input::open(&journal, Kind::RegularFile).and_then(|mut file| io::copy(&mut file, &mut joined));
            copied.map_err(|source| Error::io(&journal, source))?;
        }
    }
    Ok(())
}

/// The profiles of shards, also of operators that were profiled one by one.
fn profiles_below(folders: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut profiles = Vec::new();
    for folder in folders {
        for journal in journals(folder)? {
            profiles.extend(find_profiles(journal.parent().unwrap_or(folder))?);
        }
    }
    profiles.sort();
    profiles.dedup();
    Ok(profiles)
}
