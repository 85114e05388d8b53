//! Measures the cases of a database and writes the durations back.

use crate::microbench::{
    Arguments, MakeOrigin, Measured, Measuring, UpdateMode, WriteBack, notice, original_options, preserved, write_back,
};
use crate::registry::{Job, Tool};
use crate::replay::visibility;
use crate::{Failure, Status, command_of, run};
use perfdb_files::lock::finish_pending;
use perfdb_files::paths::normalised;
use perfdb_files::time::RunTime;
use perfdb_microbench::directory::RunDirectory;
use perfdb_microbench::eligibility::{
    all_but_dispatch, check_custom_operators, check_home, rows_without_duration, too_few_accelerators,
};
use perfdb_microbench::origin::{Origin, facts_of};
use perfdb_replay::accelerators::visible;
use perfdb_replay::backend::Backend;
use perfdb_store::duration::is_complete;
use perfdb_store::kernel::DISPATCH_FFN_COMBINE;
use perfdb_store::table::{ReadOptions, Table};
use perfdb_store::update::{AggregateOptions, Samples, aggregate, find_summaries, target_tables};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "start-microbench",
    job: Job::MeasureOperators,
    summary: "measure every case and write the times back",
    main,
    command: command_of::<Arguments>,
};

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &original_options(), execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    arguments.check()?;
    let operators = arguments.selected_operators()?;
    let selected = operators.as_deref();
    let database = arguments.database.directory(Some(arguments.replay.interpreter()))?;
    let run = Run { arguments: &arguments, database: &database, selected };
    match &arguments.prof_path {
        Some(profile) => {
            let samples = run.samples(&find_summaries(&normalised(profile.as_ref()))?, false)?;
            run.write_back(&samples, None, None, None)?;
        }
        None => run.measure()?,
    }
    Ok(Status::Success)
}

struct Run<'a> {
    arguments: &'a Arguments,
    database: &'a Path,
    selected: Option<&'a [String]>,
}

impl Run<'_> {
    /// Measures what is to be measured, and writes it back.
    fn measure(&self) -> Result<(), Failure> {
        let (backend, _) = self.arguments.replay.backend(Backend::Npu)?;
        let folder = Some(self.database).filter(|database| database.is_dir());
        finish_pending(folder, &self.arguments.lock.options(TOOL.name))?;
        if let Some(directory) = RunDirectory::newest(self.database)?.filter(|_| self.arguments.resume)
            && directory.is_written_back()
        {
            directory.remove()?;
            let path = directory.path().display();
            self.say(&format!("[CLEAN] removed {path}, its measurements are in the tables already"));
            return Ok(());
        }
        let tables = target_tables(self.database, self.selected)?;
        let missing_only = self.arguments.update_mode == UpdateMode::MissingOnly;
        if missing_only && self.is_done(&tables)? {
            return Ok(());
        }
        let mut named = self.selected.map(<[String]>::to_vec);
        if backend == Backend::Npu {
            let accelerators = visible(Backend::Npu, &visibility(Backend::Npu)).len();
            if missing_only && self.leaves_out_dispatch(accelerators)? {
                if self.selected.is_some() {
                    return self.write_back(&Samples::default(), None, None, None);
                }
                self.say("[SKIP] Continuing full run without DispatchFFNCombine.");
                named = Some(all_but_dispatch());
            }
            let has = |name: &str| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
            check_custom_operators(named.as_deref(), has)?;
            if accelerators == 0 {
                let reason = "NPU not found; --backend native measures on the host, for a directory below HOST_CPU";
                return Err(Failure::lines(vec![reason.to_owned()]));
            }
        }
        if !self.arguments.allow_foreign_times {
            check_home(backend, self.arguments.database.home(self.database))?;
        }
        let interrupt = perfdb_files::interrupt::cooperate().clone();
        let aggregate = self.aggregate_options(true);
        let measuring = Measuring {
            arguments: self.arguments,
            database: self.database,
            backend,
            selected: self.selected,
            operators: named.as_deref(),
            aggregate: &aggregate,
            interrupt: &interrupt,
        };
        let measured = measuring.run()?;
        self.write_measured(&measured).inspect_err(|_| preserved(self.arguments, &measured.directory))?;
        measured.directory.remove()?;
        self.say(&format!("[CLEAN] removed {}", measured.directory.path().display()));
        Ok(())
    }

    /// Whether no row lacks a duration.
    fn is_done(&self, tables: &[PathBuf]) -> Result<bool, Failure> {
        for path in tables {
            if !is_complete(&Table::read(path, &ReadOptions::database())?) {
                return Ok(false);
            }
        }
        for path in tables {
            self.say(&format!("[SKIP] {} already has usable durations.", path.display()));
        }
        if !tables.is_empty() {
            self.say("[SUMMARY] All target CSV files already have usable replay durations.");
        }
        Ok(!tables.is_empty())
    }

    /// Whether DispatchFFNCombine needs more accelerators than are visible; says so.
    fn leaves_out_dispatch(&self, accelerators: usize) -> Result<bool, Failure> {
        let (ep_size, per_node) =
            (self.arguments.dispatch_ffn_combine_ep_size, self.arguments.dispatch_ffn_combine_nproc_per_node);
        let Some(few) = too_few_accelerators(ep_size, per_node, accelerators, self.selected) else {
            return Ok(false);
        };
        let tables = target_tables(self.database, Some(&[DISPATCH_FFN_COMBINE.to_owned()]))?;
        let rows = rows_without_duration(&tables)?;
        self.say(&format!(
            "[SKIP] DispatchFFNCombine requires ep-size {} local rank(s), but only {} visible NPU device(s) are available.",
            few.needed, few.visible
        ));
        self.say(&format!(
            "[SUMMARY] DispatchFFNCombine: skipped {rows} row(s) because ep-size exceeds visible NPU count in missing-only mode."
        ));
        Ok(true)
    }

    fn write_measured(&self, measured: &Measured) -> Result<(), Failure> {
        let samples = self.samples(&measured.summaries, true)?;
        let facts = facts_of(&measured.directory.journal());
        let origin = |time: &RunTime| -> Result<String, Failure> {
            Ok(Origin::new(self.database, time, &measured.asked, facts.as_ref(), &samples).text()?)
        };
        self.write_back(&samples, measured.status.as_ref(), Some(&origin), Some(&measured.directory))
    }

    fn aggregate_options(&self, keep_durations: bool) -> AggregateOptions {
        let home = (!self.arguments.allow_foreign_times).then(|| self.arguments.database.home(self.database));
        let ep_size = self.arguments.dispatch_ffn_combine_ep_size;
        AggregateOptions { ep_size, home, keep_durations, ..AggregateOptions::default() }
    }

    fn samples(&self, summaries: &[PathBuf], keep_durations: bool) -> Result<Samples, Failure> {
        let mut samples = aggregate(summaries, &self.aggregate_options(keep_durations))?;
        if let Some(operators) = self.selected {
            samples.retain_operators(operators);
        }
        Ok(samples)
    }

    fn write_back(
        &self,
        samples: &Samples,
        status: Option<&perfdb_report::microbench::ExecutionStatus>,
        origin: Option<&MakeOrigin<'_>>,
        directory: Option<&RunDirectory>,
    ) -> Result<(), Failure> {
        let Run { arguments, database, selected } = *self;
        write_back(&WriteBack { arguments, database, operators: selected, samples, status, origin, directory })
    }

    fn say(&self, line: &str) {
        notice(self.arguments, line);
    }
}
