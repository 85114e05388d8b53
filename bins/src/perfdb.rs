//! `perfdb`: all tools in one program, and what helps to find and to install them.

mod completions;
mod doctor;
mod links;
mod listing;
mod manual;
mod mcp;
mod merge_shards;
mod near_misses;
mod skill;

use crate::all_tools::{TOOLS, find};
use crate::doors::{Door, door};
use crate::registry::Tool;
use crate::{Failure, Status, command_of, print, run};
use clap::{Parser, Subcommand};
use completions::Shell;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Explain GPU and NPU traces; build, measure and query databases of operators
#[derive(Parser)]
#[command(
    name = "perfdb",
    override_usage = "perfdb COMMAND [ARGUMENTS]",
    help_template = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}",
    before_help = listing::short(),
    before_long_help = listing::long(),
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Own>,
}

#[derive(Subcommand)]
enum Own {
    /// List the commands with what they do
    List {
        /// List every tool under its own name, those kept for compatibility too
        #[arg(long)]
        all: bool,

        /// List the devices that databases are kept for (--device)
        #[arg(long, conflicts_with = "all")]
        devices: bool,

        /// Also write the list as JSON to FILE.json; -.json: stdout, and nothing else there
        #[arg(short, long, value_name = "FILE", allow_hyphen_values = true)]
        output: Option<OsString>,
    },

    /// Print which vendors' software is on this machine, and what it enables
    ///
    /// Looks for NPUs and GPUs, msprof, torch, torch_npu, torchrun, vllm-ascend and Slurm. Starts the Python interpreter and
    /// nothing else.
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

    /// Serve the tools to an assistant (Model Context Protocol on stdin and stdout)
    ///
    /// Tools: trace_explain, trace_diff, trace_check, db_query, db_coverage, pass_explain, forecast. They read files of the given
    /// folders only, links resolved, and write none. Answers have a limit of bytes and name what they leave out.
    #[command(after_help = mcp::EXAMPLES)]
    Mcp {
        /// A folder with traces or databases
        #[arg(value_name = "DIR", required = true)]
        dirs: Vec<PathBuf>,
    },

    /// Install a page for assistants: which command answers which question
    #[command(after_help = skill::EXAMPLES)]
    Skill {
        /// Folder of skills; the page is DIR/perfdb/SKILL.md. Missing folders are created
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
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
    let word = |at: usize| arguments.get(at).and_then(|name| name.to_str());
    if let Some(tool) = word(1).and_then(find) {
        return start(tool, &[], tool.name, &arguments[2..]);
    }
    if let Some(door) = word(1).and_then(door) {
        return through(door, &arguments[2..]);
    }
    // What lists tables as an option of a command lists commands here.
    let arguments = match word(1) {
        Some("--list") => [&[arguments[0].clone(), "list".into()][..], &arguments[2..]].concat(),
        _ => arguments,
    };
    let mut merge = None;
    let ended = run(arguments, &[], |arguments| execute(arguments, &mut merge));
    match merge {
        Some((tool, arguments)) => (tool.main)(arguments),
        None => ended,
    }
}

/// Runs a command of a group.
fn through(door: &Door, arguments: &[OsString]) -> ExitCode {
    let word = arguments.first().map(|word| word.to_string_lossy().into_owned());
    if let Some((command, tool)) = door.find(word.as_deref().filter(|_| !door.is_command()).unwrap_or_default()) {
        let rest = if door.is_command() { arguments } else { &arguments[1..] };
        return start(tool, command.options, &door.words(command), rest);
    }
    match word.as_deref() {
        Some("-h" | "--help" | "help") => match print(&listing::of_door(door)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        // There is nowhere to report a failure of this.
        None => {
            let _ = write!(std::io::stderr().lock(), "{}", listing::of_door(door));
            ExitCode::from(2)
        }
        Some(word) => {
            let rest: Vec<String> = arguments[1..].iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let failure = near_misses::unknown_in(door, word, &rest);
            run([OsString::from("perfdb")], &[], |_: Arguments| Err(failure))
        }
    }
}

/// Runs a tool under the words that it was called by: its usage begins with them.
fn start(tool: &Tool, options: &[&str], words: &str, arguments: &[OsString]) -> ExitCode {
    let program = std::iter::once(OsString::from(format!("perfdb {words}")));
    (tool.main)(program.chain(options.iter().map(OsString::from)).chain(arguments.iter().cloned()).collect())
}

/// A tool and its command line, the program first.
type ToolRun = (&'static Tool, Vec<OsString>);

/// The run that puts shards together.
fn merging(dirs: &[PathBuf], command: &[OsString]) -> Result<ToolRun, Failure> {
    let (tool, arguments) = merge_shards::merging(dirs, command)?;
    let program = OsString::from(format!("perfdb {}", tool.name));
    Ok((tool, std::iter::once(program).chain(arguments).collect()))
}

/// `perfdb help NAME` as `perfdb NAME --help`, also where NAME is two words.
fn with_help_behind(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let word = |at: usize| arguments.get(at).and_then(|word| word.to_str()).unwrap_or_default();
    if word(1) != "help" {
        return arguments;
    }
    let is_known = match arguments.len() {
        2 => true,
        3 => find(word(2)).is_some() || door(word(2)).is_some() || OWN_COMMANDS.contains(&word(2)),
        4 => door(word(2)).is_some_and(|door| door.find(word(3)).is_some()),
        _ => false,
    };
    if is_known {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    arguments
}

/// `perfdb` with its own commands and, as subcommands, the groups and the tools: for completions.
fn command_with_tools() -> clap::Command {
    let mut own = command_of::<Arguments>();
    for door in crate::doors::doors() {
        let mut group = clap::Command::new(door.name).about(door.about);
        for (command, tool) in door.available() {
            let known = (tool.command)().name(command.name).about(command.summary(tool));
            if door.is_command() { group = known.name(door.name) } else { group = group.subcommand(known) }
        }
        own = own.subcommand(group);
    }
    let is_free = |tool: &&Tool| door(tool.name).is_none();
    TOOLS.iter().filter(is_free).fold(own, |all, tool| all.subcommand((tool.command)().about(tool.summary)))
}

/// The tool that a link is named after. A link `<Op>_run` or `<Op>_run.py` is op-replay, which takes OP from it.
fn called_as(program: Option<&OsString>) -> Option<&'static Tool> {
    let name = Path::new(program?).file_name().and_then(OsStr::to_str)?;
    let is_operator = name.ends_with("_run") || name.ends_with("_run.py");
    find(if is_operator { crate::tools::op_replay::TOOL.name } else { name })
}

/// The names of perfdb's own commands.
const OWN_COMMANDS: [&str; 9] =
    ["list", "doctor", "help", "completions", "man", "install-links", "merge-shards", "mcp", "skill"];

/// Does what is asked for; a tool that is to run then is left in `next`.
fn execute(arguments: Arguments, next: &mut Option<ToolRun>) -> Result<Status, Failure> {
    match arguments.command {
        Some(Own::List { all, devices, output }) => listing::print_list(all, devices, output.as_deref())?,
        Some(Own::Doctor { json }) => {
            let machine = doctor::Machine::look();
            let text = if json { serde_json::to_string_pretty(&machine.to_json())? + "\n" } else { machine.to_text() };
            print(&text)?;
        }
        Some(Own::Completions { shell }) => print(&completions::script(shell))?,
        Some(Own::Man { dir }) => manual::write_pages(&dir)?,
        Some(Own::InstallLinks { dir }) => print(&links::install(&dir, &crate::program::file()?)?.to_string())?,
        Some(Own::MergeShards { dirs, command }) => *next = Some(merging(&dirs, &command)?),
        Some(Own::Mcp { dirs }) => mcp::serve(&dirs)?,
        Some(Own::Skill { to }) => print(&skill::install(&to)?)?,
        Some(Own::Help { name }) => return Err(near_misses::unknown(&[name.unwrap_or_default()])),
        Some(Own::Unknown(words)) => {
            let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            return Err(near_misses::unknown(&words));
        }
        None => {
            // There is nowhere to report a failure of this.
            let _ = write!(std::io::stderr().lock(), "{}", command_of::<Arguments>().render_help());
            return Err(Failure::Reported(2));
        }
    }
    Ok(Status::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_commands_are_known_by_name() {
        let command = command_of::<Arguments>();
        let own = command.get_subcommands().map(clap::Command::get_name);
        assert!(own.eq(OWN_COMMANDS));
    }
}
