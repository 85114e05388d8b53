//! Names that options have in every tool, besides the one that a tool's original fixed.

use clap::{Arg, Command};

/// Gives a tool's options their common names. Help shows the first name only; the reference lists all.
pub(crate) fn add_common_names(mut command: Command) -> Command {
    let tool = command.get_name().to_owned();
    let options: Vec<(String, &[&str])> = command
        .get_arguments()
        .map(|option| (option.get_id().to_string(), common_names(&tool, option)))
        .filter(|(_, names)| !names.is_empty())
        .collect();
    for (id, names) in options {
        let taken: Vec<&str> = names.iter().copied().filter(|name| !is_known(&command, name)).collect();
        command = command.mut_arg(id, |option| option.aliases(taken));
    }
    command
}

/// `--result-json` and `--result-csv` name the result wherever there is one, `--json` and `--csv` where no original means something else
/// by them or by what they begin.
fn common_names(tool: &str, option: &Arg) -> &'static [&'static str] {
    if !option.get_action().takes_values() {
        return &[];
    }
    match (tool, option.get_long().unwrap_or_default()) {
        ("generate-op-comparison", "output") => &["result-json", "json"],
        ("generate-per-shape-comparison" | "trace-to-csv", "output") => &["result-csv", "csv"],
        ("op-replay" | "run-all-op", "results") => &["result-json", "json"],
        // The tables that are to be replayed.
        ("op-replay", "csv") => &[],
        (_, "json" | "json-output") => &["result-json"],
        (_, "csv") => &["result-csv"],
        ("audit-coverage", "worst") => &["limit", "top"],
        (_, "result-json") => &["json"],
        (_, "result-csv") => &["csv"],
        (_, "limit") => &["top"],
        _ => &[],
    }
}

fn is_known(command: &Command, name: &str) -> bool {
    command
        .get_arguments()
        .any(|option| option.get_long() == Some(name) || option.get_all_aliases().unwrap_or_default().contains(&name))
}
