//! The child op-replay that replays one operator, and what it hands over.

use super::arguments::Arguments;
use crate::database::lock_options;
use crate::program::command_for;
use crate::replay::{ReportFiles, child_arguments, stopped_run_of_all};
use crate::tools::op_replay;
use crate::{Failure, print_note, warn};
use perfdb_replay::microbench::run_all::children::{HandedOver, Part};
use perfdb_replay::operator::Operator;
use perfdb_replay::operators::DISPATCH_FFN_COMBINE;
use perfdb_replay::settings::RunSettings;
use std::process::Command;

/// The child that replays one operator, with the options that apply to it.
pub(super) fn child(
    arguments: &Arguments,
    settings: &RunSettings,
    operator: &Operator,
    handed_over: &HandedOver,
) -> Command {
    let mut command = command_for(op_replay::TOOL.name);
    command.arg(operator.name);
    let database = &arguments.database;
    match &database.database_path {
        Some(path) => {
            command.arg("--database-path").arg(path);
        }
        None => {
            command.args(database.device.iter().flat_map(|device| ["--device", device.as_str()]));
            let versions = [
                ("--vllm-version", &database.vllm_version),
                ("--torch-version", &database.torch_version),
                ("--cann-version", &database.cann_version),
            ];
            for (name, version) in versions {
                command.args(version.iter().flat_map(|version| [name, version.as_str()]));
            }
        }
    }
    command.args(["--update-mode", settings.update_mode.name()]);
    if let Some(count) = settings.repeats.flag {
        command.arg("--repeat-count").arg(count.to_string());
    }
    command.args(child_arguments(&arguments.replay, &arguments.files, settings));
    command.arg("--hand-over").arg(handed_over.file(operator, Part::Files));
    if arguments.files.results.is_some() {
        command.arg("--results").arg(handed_over.file(operator, Part::Results));
    }
    if arguments.files.dump_outputs.is_some() {
        command.arg("--dump-outputs").arg(handed_over.file(operator, Part::Dumps));
    }
    if operator.name == DISPATCH_FFN_COMBINE {
        command.args(arguments.dispatch.for_op_replay());
    }
    command
}

/// Writes what the children have measured: tables, op_summary and the files that were asked for, all of it or nothing.
pub(super) fn write_together(
    handed_over: &HandedOver,
    operators: &[&'static Operator],
    settings: &RunSettings,
    reports: ReportFiles,
) -> Result<(), Failure> {
    let results = handed_over.joined(operators, Part::Results)?;
    let dumps = handed_over.joined(operators, Part::Dumps)?;
    let lock = lock_options(settings.tool, settings.lock_timeout);
    let files = handed_over.files(operators, &lock, &warn).map_err(stopped_run_of_all)?;
    let loses_rows = files.removed_tables() > 0;
    // The children have said already which rows leave their tables.
    reports.write_parts(files, &results, &dumps).inspect_err(|_| {
        if loses_rows {
            print_note("no file has changed: the rows of [CLEANUP] are still in their tables");
        }
    })
}
