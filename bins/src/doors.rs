//! The commands of `perfdb` in groups, over the same tools: `perfdb trace diff` is compare-traces.
//!
//! A tool joins a group with one line here. A line whose tool is not in this program is left out everywhere.

use crate::all_tools::{TOOLS, find};
use crate::registry::Tool;

/// A group of commands, or one command that needs no group.
#[derive(Debug)]
pub struct Door {
    /// Its name, as it is typed.
    pub name: &'static str,
    /// What its commands are about.
    pub about: &'static str,
    /// Other words that people type for it.
    pub synonyms: &'static [&'static str],
    /// Its commands, the common ones first.
    pub commands: &'static [DoorCommand],
}

/// A command of a group.
#[derive(Debug)]
pub struct DoorCommand {
    /// Its name, as it is typed.
    pub name: &'static str,
    /// The name of the tool that does it.
    pub tool: &'static str,
    /// Options that the tool gets before those of the command line.
    pub options: &'static [&'static str],
    /// What it does, where that is not what its tool is for.
    pub summary: Option<&'static str>,
    /// What its arguments are in usage, where they are not those of its tool.
    pub usage: Option<&'static str>,
    /// Options of the tool that belong to another command and are hidden here.
    pub elsewhere: &'static [&'static str],
}

const fn command(name: &'static str, tool: &'static str) -> DoorCommand {
    DoorCommand { name, tool, options: &[], summary: None, usage: None, elsewhere: &[] }
}

/// Options of compare-traces about many ranks, and those about two traces.
const OF_RANKS: &[&str] = &["ranks", "ranks1", "ranks2"];
const OF_TWO_TRACES: &[&str] = &[
    "accept",
    "aligned",
    "baseline",
    "capture1",
    "capture2",
    "clip-overlaps",
    "compat",
    "devices",
    "events",
    "explain",
    "fail-regression",
    "full",
    "fusion",
    "kernels",
    "label1",
    "label2",
    "layers",
    "max-stacks",
    "min-group-size",
    "no-confidence",
    "no-kernels",
    "no-stacks",
    "output-dir",
    "pairs",
    "phase",
    "ranks",
    "run-variation",
    "sections",
    "shapes",
    "shard",
    "shard-dir",
    "stack-traces",
    "threshold-ms",
    "trace-out",
    "unwindowed",
];

/// The groups, in the order of the help.
pub const DOORS: &[Door] = &[
    Door {
        name: "trace",
        about: "GPU and NPU traces, where their time goes",
        synonyms: &["traces", "gpu", "profile"],
        commands: &[
            command("explain", "explain-trace"),
            DoorCommand {
                name: "diff",
                tool: "compare-traces",
                options: &[],
                summary: None,
                usage: Some(
                    "[OPTIONS] TRACE1 TRACE2\n       perfdb trace diff [OPTIONS] --before DIR|FILE... --after DIR|FILE...",
                ),
                elsewhere: OF_RANKS,
            },
            command("check", "check-trace"),
            command("cut", "cut-trace"),
            DoorCommand {
                name: "ranks",
                tool: "compare-traces",
                options: &["--of-ranks"],
                summary: Some("find the late rank in the traces of a run"),
                usage: Some("[OPTIONS] DIR|FILE..."),
                elsewhere: OF_TWO_TRACES,
            },
        ],
    },
    Door {
        name: "db",
        about: "databases of measured operators",
        synonyms: &["database", "databases"],
        commands: &[
            command("build", "parse-kernel-details"),
            command("from-trace", "database-from-trace"),
            command("fill", "fill-fia-runtime-metadata"),
            command("grid", "generate-shape-grid"),
            command("check", "check-database"),
            command("query", "query-database"),
            command("coverage", "audit-coverage"),
            command("density", "check-density"),
            command("evaluate", "evaluate-database"),
            command("diff", "diff-databases"),
            command("merge", "merge-databases"),
            command("calibrate", "calibrate-database"),
            command("export", "export-database"),
            command("import", "import-database"),
        ],
    },
    Door {
        name: "pass",
        about: "a simulated forward pass next to a measured one",
        synonyms: &["forward-pass", "passes", "prediction"],
        commands: &[
            command("cut", "cut-forward-pass"),
            command("explain", "explain-prediction"),
            command("m6", "compute-m6"),
            command("by-type", "generate-op-comparison"),
            command("by-shape", "generate-per-shape-comparison"),
            command("events", "trace-to-csv"),
        ],
    },
    Door {
        name: "measure",
        about: "operators and collectives on this machine",
        synonyms: &["bench", "benchmark", "replay"],
        commands: &[
            command("database", "start-microbench"),
            command("op", "op-replay"),
            command("all", "run-all-op"),
            command("comm", "run-comm-bench"),
            command("comm-plan", "generate-comm-microbench"),
            command("comm-check", "validate-comm-alignment"),
        ],
    },
    Door {
        name: "forecast",
        about: "time per token of a model",
        synonyms: &["predict"],
        commands: &[command("", "forecast")],
    },
];

/// Tools that are listed only under their own names: people know them from the scripts that perfdb replaces.
pub const COMPATIBILITY: [&str; 7] = [
    "bundle-reports",
    "compute-m6",
    "generate-op-comparison",
    "generate-per-shape-comparison",
    "probe-dfc-constraints",
    "run-all-op",
    "trace-to-csv",
];

impl Door {
    /// Its commands whose tools are in this program.
    pub fn available(&self) -> impl Iterator<Item = (&'static DoorCommand, &'static Tool)> {
        self.commands.iter().filter_map(|command| Some((command, find(command.tool)?)))
    }

    /// How a command of it is typed.
    pub fn words(&self, command: &DoorCommand) -> String {
        format!("{} {}", self.name, command.name).trim_end().to_owned()
    }

    /// The command of this name.
    pub fn find(&self, name: &str) -> Option<(&'static DoorCommand, &'static Tool)> {
        self.available().find(|(command, _)| command.name == name)
    }

    /// Whether the group is one command, typed without a second word.
    pub fn is_command(&self) -> bool {
        self.commands.iter().all(|command| command.name.is_empty())
    }
}

impl DoorCommand {
    /// What it does.
    pub fn summary(&self, tool: &Tool) -> &'static str {
        self.summary.unwrap_or(tool.summary)
    }
}

/// The groups that have a command in this program.
pub fn doors() -> impl Iterator<Item = &'static Door> {
    DOORS.iter().filter(|door| door.available().next().is_some())
}

/// The group of this name.
pub fn door(name: &str) -> Option<&'static Door> {
    doors().find(|door| door.name == name)
}

/// Every command of every group, with its tool.
pub fn commands() -> impl Iterator<Item = (&'static Door, &'static DoorCommand, &'static Tool)> {
    doors().flat_map(|door| door.available().map(move |(command, tool)| (door, command, tool)))
}

/// The command that a program's name, such as `perfdb trace diff`, stands for.
pub fn of_program(program: &str) -> Option<&'static DoorCommand> {
    let words = program.strip_prefix("perfdb ")?;
    commands().find(|(door, command, _)| door.words(command) == words).map(|(_, command, _)| command)
}

/// How the command of a tool is typed, if a group has one.
pub fn words_of(tool: &str) -> Option<String> {
    commands()
        .find(|(_, command, of)| of.name == tool && command.options.is_empty())
        .map(|(door, command, _)| door.words(command))
}

/// Tools that no group has.
pub fn without_door() -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().filter(|tool| words_of(tool.name).is_none() && !COMPATIBILITY.contains(&tool.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_one_place() {
        assert_eq!(without_door().map(|tool| tool.name).collect::<Vec<_>>(), Vec::<&str>::new());
        let mut words: Vec<String> = commands().map(|(door, command, _)| door.words(command)).collect();
        let count = words.len();
        words.sort();
        words.dedup();
        assert_eq!(words.len(), count);
    }

    #[test]
    fn a_group_is_not_a_tool() {
        for door in DOORS {
            assert!(find(door.name).is_none() || door.is_command(), "{}", door.name);
        }
    }
}
