//! A whole run: from what is to be measured, or from a profile that is there, to tables that have the times.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::journal::Line;
use crate::row_selection::RowSelection;
use crate::settings::RunSettings;
use perfdb_files::interrupt::Interrupt;
use perfdb_files::lock::{LockOptions, finish_pending};
use perfdb_files::paths::normalised;
use perfdb_files::replace::{Staged, refuse_inputs};
use perfdb_files::time::RunTime;
use perfdb_store::directory::Home;
use perfdb_store::update::{
    AggregateOptions, Mode, Samples, TableUpdate, UpdateOptions, aggregate, find_summaries, target_tables,
};

use crate::microbench::directory::RunDirectory;
use crate::microbench::error::Error;
use crate::microbench::measure::{MeasureOptions, MeasuredSamples};
use crate::microbench::msprof::ReplayCommand;
use crate::microbench::reporter::Reporter;
use crate::microbench::resume::journals;
use crate::microbench::selection::{Selection, SelectionOptions, select};
use crate::microbench::status::RunStatus;
use crate::microbench::write_back::WriteBack;

pub use crate::microbench::write_back::ReportFiles;

/// A run over a database.
pub struct Microbench<'a> {
    /// The database directory.
    pub database: &'a Path,
    /// Operators that the user selected; `None` means all.
    pub selected: Option<&'a [String]>,
    /// Which rows may change.
    pub mode: Mode,
    /// Rows without a valid duration leave their tables.
    pub prune: bool,
    /// Whose times the tables take; `None` takes them from anywhere.
    pub home: Option<Home>,
    /// Ranks of DispatchFFNCombine.
    pub ep_size: i64,
    /// Write reports also where their folder is a link that leads out of the database.
    pub follow_links: bool,
    /// Compute what would change, write nothing.
    pub dry_run: bool,
    /// How the database is locked.
    pub lock: LockOptions<'a>,
    /// Files that are written besides; none of them may be read by the run.
    pub outputs: Vec<PathBuf>,
}

/// How a run measures.
pub struct Measuring<'a, E> {
    /// What decides which operators are measured, besides what the run has.
    pub eligibility: Eligibility<'a>,
    /// How cases are replayed. Asked for only where something is measured.
    pub settings: &'a dyn Fn() -> Result<RunSettings, E>,
    /// The command line of the replay program under msprof.
    pub replay: &'a ReplayCommand,
    /// Go on with the newest run that was kept.
    pub resume: bool,
    /// Where programs are found.
    pub search_path: Option<&'a OsStr>,
    /// stdout is needed for something else than what children print.
    pub quiet_stdout: bool,
    /// The request to stop.
    pub interrupt: &'a Interrupt,
}

/// What this machine lets a run measure.
pub struct Eligibility<'a> {
    /// Who measures.
    pub backend: crate::backend::Backend,
    /// Accelerators that are visible.
    pub accelerators: usize,
    /// Processes of DispatchFFNCombine on each node, if given.
    pub per_node: Option<i64>,
    /// Whether an environment variable has content.
    pub has_variable: &'a dyn Fn(&str) -> bool,
}

/// An update that is staged, as it is published.
#[derive(Debug, Clone, Copy)]
pub struct Update<'u> {
    /// What happens to each table, in order.
    pub tables: &'u [TableUpdate],
    /// What came of the operators, where they were replayed.
    pub status: Option<&'u RunStatus>,
}

/// The texts that lie below `reports/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportTexts {
    /// The report, Markdown.
    pub markdown: String,
    /// All hotspots, CSV.
    pub hotspots: Vec<u8>,
}

/// What is said about an update. The words are chosen by the crates above this one.
pub trait Publisher {
    /// Why an update cannot be published.
    type Error: From<Error>;

    /// What a user should know about the samples, before they are written back.
    fn samples(&self, samples: &Samples);

    /// What a user should know besides about the update.
    fn warning(&self, text: &str);

    /// When the update is written, for the names of its reports.
    fn time(&self) -> Result<RunTime, Self::Error>;

    /// The report of an update.
    fn report(&self, update: Update<'_>) -> ReportTexts;

    /// Publishes the update and its report, and returns the files that are written with the tables. Tables change only after this, and only
    /// if it succeeds. `files` are those of the report; a dry run has none.
    fn publish(
        &self,
        update: Update<'_>,
        report: &ReportTexts,
        files: Option<&ReportFiles>,
    ) -> Result<Vec<Staged>, Self::Error>;
}

impl Microbench<'_> {
    /// Writes back an existing profile: a `PROF_*` directory, or one that contains some. Nothing is measured.
    pub fn write_back_profile<P: Publisher>(&self, profile: &Path, publisher: &P) -> Result<(), P::Error> {
        let summaries = find_summaries(&normalised(profile)).map_err(Error::from)?;
        self.write_back(&self.samples(&summaries, false)?, &summaries, None, publisher)
    }

    /// Measures what is to be measured, and writes it back. Where that fails the run's folder stays and is named.
    pub fn measure<P: Publisher>(
        &self,
        measuring: &Measuring<'_, P::Error>,
        reporter: &Reporter<'_>,
        publisher: &P,
    ) -> Result<(), P::Error> {
        let folder = Some(self.database).filter(|database| database.is_dir());
        finish_pending(folder, &self.lock).map_err(Error::from)?;
        if measuring.resume
            && let Some(directory) = RunDirectory::newest_written_back(self.database)?
        {
            (reporter.note)(&format!("{}: its measurements are in the tables already", directory.path().display()));
            return Ok(clean_up(&directory, reporter)?);
        }
        let operators = match select(&self.selection(&measuring.eligibility), reporter.line)? {
            Selection::Complete => return Ok(()),
            Selection::TooFewAccelerators => return self.write_back(&Samples::default(), &[], None, publisher),
            Selection::Operators(operators) => operators,
        };
        let settings = (measuring.settings)()?;
        let measured = self.measure_options(measuring, operators.as_deref(), &settings).measure(reporter)?;
        self.write_back_measured(&measured, reporter, publisher)
    }

    /// Measures rows of a shard, which the settings name, into a folder. The database stays as it is. Gives the operators that
    /// were measured: `None` where there is nothing to measure, all where none is named.
    pub fn measure_into<E: From<Error>>(
        &self,
        measuring: &Measuring<'_, E>,
        folder: &Path,
        reporter: &Reporter<'_>,
    ) -> Result<Option<Option<Vec<String>>>, E> {
        let operators = match select(&self.selection(&measuring.eligibility), reporter.line)? {
            Selection::Complete | Selection::TooFewAccelerators => return Ok(None),
            Selection::Operators(operators) => operators,
        };
        let settings = (measuring.settings)()?;
        self.measure_options(measuring, operators.as_deref(), &settings).measure_into(folder, reporter)?;
        Ok(Some(operators))
    }

    /// Writes back what shards have measured into these folders. `operators` are those of [`Microbench::measure_into`]; the
    /// settings name no rows of their own.
    pub fn write_back_shards<P: Publisher>(
        &self,
        measuring: &Measuring<'_, P::Error>,
        operators: Option<&[String]>,
        folders: &[PathBuf],
        reporter: &Reporter<'_>,
        publisher: &P,
    ) -> Result<(), P::Error> {
        finish_pending(Some(self.database), &self.lock).map_err(Error::from)?;
        let settings = RunSettings { rows: RowSelection::Journals(Vec::new()), ..(measuring.settings)()? };
        let measured = self.measure_options(measuring, operators, &settings).take_over(folders, reporter)?;
        self.write_back_measured(&measured, reporter, publisher)
    }

    fn write_back_measured<P: Publisher>(
        &self,
        measured: &MeasuredSamples,
        reporter: &Reporter<'_>,
        publisher: &P,
    ) -> Result<(), P::Error> {
        let samples = self.samples(&measured.summaries, true).map_err(P::Error::from);
        let written =
            samples.and_then(|samples| self.write_back(&samples, &measured.summaries, Some(measured), publisher));
        written.inspect_err(|_| (reporter.line)(&measured.directory.preserved()))?;
        Ok(clean_up(&measured.directory, reporter)?)
    }

    fn measure_options<'o, E>(
        &'o self,
        measuring: &'o Measuring<'_, E>,
        operators: Option<&'o [String]>,
        settings: &'o RunSettings,
    ) -> MeasureOptions<'o> {
        MeasureOptions {
            database: self.database,
            selected: self.selected,
            operators,
            settings,
            replay: measuring.replay,
            resume: measuring.resume,
            aggregate: self.aggregate_options(true),
            search_path: measuring.search_path,
            quiet_stdout: measuring.quiet_stdout,
            interrupt: measuring.interrupt,
        }
    }

    fn selection<'o>(&'o self, eligibility: &'o Eligibility<'_>) -> SelectionOptions<'o> {
        SelectionOptions {
            database: self.database,
            selected: self.selected,
            mode: self.mode,
            backend: eligibility.backend,
            accelerators: eligibility.accelerators,
            ep_size: self.ep_size,
            per_node: eligibility.per_node,
            home: self.home,
            has_variable: eligibility.has_variable,
        }
    }

    fn aggregate_options(&self, keep_durations: bool) -> AggregateOptions {
        AggregateOptions { ep_size: self.ep_size, home: self.home, keep_durations, ..AggregateOptions::default() }
    }

    fn samples(&self, summaries: &[PathBuf], keep_durations: bool) -> Result<Samples, Error> {
        let mut samples = aggregate(summaries, &self.aggregate_options(keep_durations))?;
        if let Some(operators) = self.selected {
            samples.retain_operators(operators);
        }
        Ok(samples)
    }

    /// Updates the tables, writes the report and what the publisher adds: all or nothing.
    fn write_back<P: Publisher>(
        &self,
        samples: &Samples,
        summaries: &[PathBuf],
        measured: Option<&MeasuredSamples>,
        publisher: &P,
    ) -> Result<(), P::Error> {
        let tables = target_tables(self.database, self.selected).map_err(Error::from)?;
        let inputs = tables.iter().chain(summaries).map(PathBuf::as_path);
        refuse_inputs(self.outputs.iter().map(PathBuf::as_path), inputs).map_err(Error::from)?;
        publisher.samples(samples);
        let mut staged = WriteBack::prepare(samples, &self.update_options())?;
        staged.warnings().iter().for_each(|warning| publisher.warning(warning));
        let tables = staged.updates();
        let update = Update { tables: &tables, status: measured.and_then(|measured| measured.status.as_ref()) };
        let report = publisher.report(update);
        let files = if self.dry_run {
            None
        } else {
            let time = publisher.time()?;
            let files = staged.add_report(self.database, &time, &report.markdown, &report.hotspots)?;
            if let Some(measured) = measured {
                staged.add_origin(self.database, &time, measured, samples)?;
            }
            Some(files)
        };
        publisher.publish(update, &report, files.as_ref())?.into_iter().for_each(|file| staged.add(file));
        staged.commit()?;
        Ok(())
    }

    fn update_options(&self) -> UpdateOptions<'_> {
        let LockOptions { tool, timeout, notice } = self.lock;
        let mut options = UpdateOptions::new(self.database, self.mode, LockOptions { tool, timeout, notice });
        options.operators = self.selected;
        options.prune = self.prune;
        options.dry_run = self.dry_run;
        options.record_changes = self.dry_run;
        options.follow_links = self.follow_links;
        options
    }
}

/// All that the journals below a run's folder say.
///
/// # Errors
/// When one can't be read.
pub fn journal_lines(folder: &Path) -> Result<Vec<Line>, Error> {
    let mut lines = Vec::new();
    for journal in journals(folder)? {
        lines.extend(crate::journal::read(&journal)?);
    }
    Ok(lines)
}

fn clean_up(directory: &RunDirectory, reporter: &Reporter<'_>) -> Result<(), Error> {
    directory.remove()?;
    (reporter.line)(&format!("[CLEAN] removed {}", directory.path().display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::time::Duration;

    /// Refuses to publish, or keeps what it was asked to.
    struct Recorder {
        refuses: bool,
        published: RefCell<Vec<String>>,
    }

    impl Publisher for Recorder {
        type Error = Error;

        fn samples(&self, samples: &Samples) {
            self.published.borrow_mut().push(format!("{} samples", samples.iter().count()));
        }

        fn warning(&self, _: &str) {}

        fn report(&self, update: Update<'_>) -> ReportTexts {
            ReportTexts { markdown: format!("{} tables\n", update.tables.len()), hotspots: Vec::new() }
        }

        fn time(&self) -> Result<RunTime, Error> {
            Ok(RunTime::new(Some(0)))
        }

        fn publish(
            &self,
            _: Update<'_>,
            report: &ReportTexts,
            files: Option<&ReportFiles>,
        ) -> Result<Vec<Staged>, Error> {
            if self.refuses {
                return Err(Error::Profiling("stdout is full".to_owned()));
            }
            self.published.borrow_mut().push(format!("{}, files: {}", report.markdown.trim(), files.is_some()));
            Ok(Vec::new())
        }
    }

    const SUMMARY: &str = "OP Type,Task Type,Task Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types\n\
                           Add,AI_CORE,5,4;4,FLOAT;FLOAT,ND;ND,4,FLOAT\n";

    /// What a run has left.
    struct Outcome {
        result: Result<(), Error>,
        published: Vec<String>,
        has_table: bool,
        has_report: bool,
    }

    fn run(refuses: bool, dry_run: bool) -> std::io::Result<Outcome> {
        let folder = tempfile::tempdir()?;
        let (database, profile) = (folder.path().join("db"), folder.path().join("PROF_1"));
        let summaries = profile.join("mindstudio_profiler_output");
        std::fs::create_dir_all(&summaries)?;
        std::fs::write(summaries.join("op_summary_1.csv"), SUMMARY)?;
        let microbench = Microbench {
            database: &database,
            selected: None,
            mode: Mode::All,
            prune: false,
            home: None,
            ep_size: 16,
            follow_links: false,
            dry_run,
            lock: LockOptions { tool: "test", timeout: Duration::ZERO, notice: &|_| {} },
            outputs: Vec::new(),
        };
        let recorder = Recorder { refuses, published: RefCell::default() };
        let result = microbench.write_back_profile(&profile, &recorder);
        let is_written = |name: &str| database.join(name).exists();
        Ok(Outcome {
            result,
            published: recorder.published.into_inner(),
            has_table: is_written("Add.csv"),
            has_report: is_written("reports/profile_update_report_19700101_000000.md"),
        })
    }

    #[test]
    fn tables_and_report_are_written_after_the_update_was_published() -> Result<(), Box<dyn std::error::Error>> {
        let Outcome { result, published, has_table, has_report } = run(false, false)?;
        result?;
        assert_eq!(published, ["1 samples", "1 tables, files: true"]);
        assert!(has_table && has_report);
        Ok(())
    }

    #[test]
    fn an_update_that_cannot_be_published_changes_nothing() -> Result<(), Box<dyn std::error::Error>> {
        let Outcome { result, has_table, has_report, .. } = run(true, false)?;
        assert_eq!(result.map_err(|error| error.to_string()), Err("stdout is full".to_owned()));
        assert!(!has_table && !has_report);
        Ok(())
    }

    #[test]
    fn a_dry_run_writes_nothing() -> Result<(), Box<dyn std::error::Error>> {
        let Outcome { result, published, has_table, has_report } = run(false, true)?;
        result?;
        assert_eq!(published, ["1 samples", "1 tables, files: false"]);
        assert!(!has_table && !has_report);
        Ok(())
    }
}
