//! Measures the cases of a database and writes the durations back.

mod arguments;
mod measuring;
mod publisher;

use crate::json_file::JsonFile;
use crate::registry::{Job, Tool};
use crate::replay::stopped_run_of_all;
use crate::shards::{GivenArguments, Part, shared_inputs};
use crate::{Failure, Status, command_of, print_note, run};
use arguments::{Arguments, original_options};
use perfdb_files::escape::shown;
use perfdb_files::shards::ShardWriter;
use perfdb_replay::microbench::error::Error;
use perfdb_replay::microbench::run::Microbench;
use perfdb_store::provenance::Record;
use perfdb_store::update::target_tables;
use publisher::{TerminalPublisher, print_own_line};
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
    let given = GivenArguments::of(&arguments);
    run(arguments, &original_options(), |arguments| execute(arguments, &given))
}

fn execute(mut arguments: Arguments, given: &GivenArguments) -> Result<Status, Failure> {
    arguments.check()?;
    arguments.replay.rows_of_shard = arguments.shards.shard();
    let part = arguments.shards.part()?;
    let operators = arguments.selected_operators()?;
    let database = arguments.database.directory(Some(arguments.replay.interpreter()))?;
    check_folder(&arguments, &database)?;
    let is_shard = matches!(part, Part::Shard(..));
    let open = |file| if is_shard { Ok(None) } else { JsonFile::open_for(file, &database) };
    let json = open(arguments.json_file())?;
    let page = open(arguments.html.as_deref())?;
    let microbench = Microbench {
        database: &database,
        selected: operators.as_deref(),
        mode: arguments.update_mode,
        prune: arguments.prune_empty_duration_rows,
        home: (!arguments.allow_foreign_times).then(|| arguments.database.home(&database)),
        ep_size: arguments.dispatch_ffn_combine_ep_size,
        follow_links: arguments.follow_links,
        dry_run: arguments.dry_run,
        lock: arguments.lock.options(TOOL.name),
        outputs: json.iter().chain(&page).map(|json| json.path().to_owned()).collect(),
    };
    if arguments.measured_by.is_some() {
        // A record that cannot be extended is told before hours of measuring.
        Record::load(&database)?;
    }
    let publisher = TerminalPublisher::new(&arguments, &database, json, page);
    let run = measuring::Run { arguments: &arguments, microbench: &microbench };
    let job = || {
        given.job(
            TOOL.name,
            shared_inputs(target_tables(&database, operators.as_deref())?.iter().map(PathBuf::as_path))?,
            Vec::new(),
        )
    };
    match (&arguments.prof_path, part) {
        (Some(profile), _) => microbench.write_back_profile(profile.as_ref(), &publisher)?,
        (None, Part::Whole) => run.measure(&publisher)?,
        (None, Part::Shard(shard, folder)) => run.measure_shard(shard, ShardWriter::create(&folder, shard, job()?)?)?,
        (None, Part::Done(set)) => {
            set.check(&job()?)?;
            run.write_back(&set, &publisher)?;
        }
    }
    Ok(Status::Success)
}

/// A folder that is not there is made, and may well be a slip of the hand.
fn check_folder(arguments: &Arguments, database: &Path) -> Result<(), Failure> {
    match (database.exists(), arguments.must_exist) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::lines(vec![format!("{}: no such database", shown(database))])),
        (false, false) => {
            let made = if arguments.dry_run { "would be made" } else { "is made" };
            print_note(&format!("{}: no such database, a new one {made}", shown(database)));
            Ok(())
        }
    }
}

/// How a run ends that an error of the library has stopped.
struct Stopped(Failure);

impl From<Error> for Stopped {
    fn from(error: Error) -> Stopped {
        Stopped(stopped_run_of_all(error))
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Stopped {
        Stopped(failure)
    }
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Failure {
        stopped.0
    }
}
