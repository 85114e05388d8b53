//! `perfdb`: all tools in one program, and what helps to find and to install them.

mod completions;
mod doctor;
mod links;
mod listing;
mod manual;
mod merge_shards;

use crate::all_tools::{TOOLS, find};
use crate::registry::Tool;
use crate::{Failure, Status, command_of, print, run};
use clap::{Parser, Subcommand};
use completions::Shell;
use perfdb_store::near_name::nearest;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Make, measure and check operator performance databases for LLM inference
#[derive(Parser)]
#[command(
    name = "perfdb",
    override_usage = "perfdb TOOL [ARGUMENTS]\n       perfdb list | doctor | help [NAME] | completions SHELL | man DIR | install-links DIR | merge-shards DIR... [-- COMMAND]",
    help_template = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\nOptions:\n{options}",
    after_help = listing::with_commands(),
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Own>,
}

#[derive(Subcommand)]
enum Own {
    /// List the tools by what they are for
    List,

    /// Print what of the vendors' software is on this machine, and what that enables
    ///
    /// Looks for NPUs and GPUs, msprof, torch, torch_npu, torchrun, vllm-ascend and Slurm. Nothing is loaded or started but
    /// the Python interpreter.
    #[command(after_help = doctor::EXAMPLES)]
    Doctor {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },

    /// Print the help of a tool or command
    Help {
        /// The tool or command [default: perfdb itself]
        name: Option<String>,
    },

    /// Print a script that completes the arguments of perfdb and of its tools
    #[command(after_help = completions::EXAMPLES)]
    Completions {
        /// The shell that reads it
        shell: Shell,
    },

    /// Write a manual page for perfdb and for each tool
    #[command(after_help = manual::EXAMPLES)]
    Man {
        /// Where the pages (NAME.1) are put; missing folders are created
        dir: PathBuf,
    },

    /// Make symbolic links to this program, one named after each tool
    ///
    /// Called through such a link, perfdb is that tool. Links to another perfdb are replaced. Any other file of a tool's
    /// name is an error, and then no link is made.
    #[command(after_help = links::EXAMPLES)]
    InstallLinks {
        /// Where the links are put: a folder of your PATH
        dir: PathBuf,
    },

    /// Put the shards of a job together, as if it had run in one piece
    ///
    /// Takes the results of a tool that ran with --shard 1/N to N/N, and does what the tool does with all of them: the same
    /// files, the same text, the same exit status. Run it in the folder of the shards, or where the paths that they were given
    /// lead to the same files. A set that lacks a shard, has one twice, or mixes jobs is refused. Nothing that shards name is
    /// started. Without COMMAND, outputs outside the current folder are refused, and so are shards of another command than
    /// COMMAND.
    #[command(after_help = MERGE_EXAMPLES)]
    MergeShards {
        /// A folder with shards, or a shard (shard-I-of-N)
        #[arg(value_name = "DIR", required = true)]
        dirs: Vec<PathBuf>,

        /// Command of the job, without --shard [default: what the shards remember, if all outputs are below this folder]
        #[arg(value_name = "COMMAND", last = true)]
        command: Vec<OsString>,
    },

    #[command(external_subcommand)]
    Unknown(Vec<OsString>),
}

const MERGE_EXAMPLES: &str = "\
Examples:
  perfdb merge-shards shards
  perfdb merge-shards node-1/shards node-2/shards
  perfdb merge-shards shards -- start-microbench --database-path /data/db";

/// Runs perfdb: the tool that it was called as, or whose name comes first, or one of its own commands.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    crate::program::all_tools_are_here();
    #[cfg(feature = "parquet")]
    crate::table_file::set_parquet(perfdb_store::parquet::open);
    #[cfg(not(feature = "parquet"))]
    crate::table_file::lacks_parquet();
    if let Some(tool) = called_as(arguments.first()) {
        return (tool.main)(arguments);
    }
    let arguments = with_help_behind(arguments);
    match arguments.get(1).and_then(|name| name.to_str()).and_then(find) {
        Some(tool) => {
            // Usage lines begin with the program's name.
            let program = OsString::from(format!("perfdb {}", tool.name));
            (tool.main)(std::iter::once(program).chain(arguments.into_iter().skip(2)).collect())
        }
        None => {
            let mut merge = None;
            let ended = run(arguments, &[], |arguments| execute(arguments, &mut merge));
            match merge {
                Some((tool, arguments)) => (tool.main)(arguments),
                None => ended,
            }
        }
    }
}

/// A tool and its command line, the program first.
type ToolRun = (&'static Tool, Vec<OsString>);

/// The run that puts shards together.
fn merging(dirs: &[PathBuf], command: &[OsString]) -> Result<ToolRun, Failure> {
    let (tool, arguments) = merge_shards::merging(dirs, command)?;
    let program = OsString::from(format!("perfdb {}", tool.name));
    Ok((tool, std::iter::once(program).chain(arguments).collect()))
}

/// `perfdb help NAME` as `perfdb NAME --help`.
fn with_help_behind(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_known = |name: &OsString| name.to_str().is_some_and(|name| names().any(|known| known == name));
    match &arguments[..] {
        [_, help] if help == "help" => arguments[1] = "--help".into(),
        [_, help, name] if help == "help" && is_known(name) => {
            arguments.swap(1, 2);
            arguments[2] = "--help".into();
        }
        _ => {}
    }
    arguments
}

/// `perfdb` with its own commands and, as subcommands, the tools: for completions.
fn command_with_tools() -> clap::Command {
    let own = command_of::<Arguments>();
    TOOLS.iter().fold(own, |command, tool| command.subcommand((tool.command)().about(tool.summary)))
}

/// The tool that a link is named after. A link `<Op>_run` or `<Op>_run.py` is op-replay, which takes OP from it.
fn called_as(program: Option<&OsString>) -> Option<&'static Tool> {
    let name = Path::new(program?).file_name().and_then(OsStr::to_str)?;
    let is_operator = name.ends_with("_run") || name.ends_with("_run.py");
    find(if is_operator { crate::tools::op_replay::TOOL.name } else { name })
}

/// Names of the tools and of perfdb's own commands.
fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|tool| tool.name).chain([
        "list",
        "doctor",
        "help",
        "completions",
        "man",
        "install-links",
        "merge-shards",
    ])
}

/// Does what is asked for; a tool that is to run then is left in `next`.
fn execute(arguments: Arguments, next: &mut Option<ToolRun>) -> Result<Status, Failure> {
    match arguments.command {
        Some(Own::List) => print(&listing::tools())?,
        Some(Own::Doctor { json }) => {
            let machine = doctor::Machine::look();
            let text = if json { serde_json::to_string_pretty(&machine.to_json())? + "\n" } else { machine.to_text() };
            print(&text)?;
        }
        Some(Own::Completions { shell }) => print(&completions::script(shell))?,
        Some(Own::Man { dir }) => manual::write_pages(&dir)?,
        Some(Own::InstallLinks { dir }) => print(&links::install(&dir, &std::env::current_exe()?)?.to_string())?,
        Some(Own::MergeShards { dirs, command }) => *next = Some(merging(&dirs, &command)?),
        Some(Own::Help { name }) => return Err(unknown(&name.unwrap_or_default())),
        Some(Own::Unknown(words)) => {
            return Err(unknown(&words.first().map(|word| word.to_string_lossy()).unwrap_or_default()));
        }
        None => {
            // There is nowhere to report a failure of this.
            let _ = write!(std::io::stderr().lock(), "{}", command_of::<Arguments>().render_help());
            return Err(Failure::Reported(2));
        }
    }
    Ok(Status::Success)
}

fn unknown(name: &str) -> Failure {
    let hint = match nearest(name, names(), str::to_lowercase) {
        Some(near) => format!("did you mean {near}?"),
        None => "`perfdb list` shows the tools".to_owned(),
    };
    Failure::usage(format!("no tool or command '{name}'; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_commands_are_known_by_name() {
        let command = command_of::<Arguments>();
        let own = command.get_subcommands().map(clap::Command::get_name);
        assert!(own.eq(names().skip(TOOLS.len())));
    }
}
