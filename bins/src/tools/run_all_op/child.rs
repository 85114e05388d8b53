//! The child op-replay that replays one operator.

use super::arguments::Arguments;
use crate::program::command_for;
use crate::replay::child_arguments;
use crate::tools::op_replay;
use perfdb_replay::operator::Operator;
use perfdb_replay::operators::DISPATCH_FFN_COMBINE;
use perfdb_replay::settings::RunSettings;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The child that replays one operator, with the options that apply to it.
pub(super) fn child(arguments: &Arguments, settings: &RunSettings, operator: &Operator, parts: &Path) -> Command {
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
    for (given, name) in [(&arguments.files.results, "results"), (&arguments.files.dump_outputs, "dump-outputs")] {
        if given.is_some() {
            command.arg(format!("--{name}")).arg(part(parts, operator, name));
        }
    }
    if operator.name == DISPATCH_FFN_COMBINE {
        command.args(arguments.dispatch.for_op_replay());
    }
    command
}

/// The file that the child of an operator writes instead of one that all share.
pub(super) fn part(folder: &Path, operator: &Operator, name: &str) -> PathBuf {
    folder.join(format!("{}.{name}.json", operator.name))
}
