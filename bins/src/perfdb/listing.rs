//! The commands and tools by what they are for.

use crate::all_tools::{TOOLS, of_job};
use crate::doors::{COMPATIBILITY, commands, doors, without_door, words_of};
use crate::json_file::{JsonFile, Versioned};
use crate::one_output::no_such_form;
use crate::registry::Job;
use crate::{Failure, print};
use perfdb_store::directory::DEVICES;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::Path;

const WIDTH: usize = 80;

/// Three commands to begin with.
pub(super) const EXAMPLES: &str = "\
Examples:
  perfdb trace diff mi300x.json.gz h100.json.gz
  perfdb db query db --kernel MatMulV2 16x5120 768x5120
  perfdb pass explain trace.json forward_pass.csv -o page.html";

/// The groups with the names of their commands.
pub(super) fn groups() -> String {
    let width = doors().map(|door| door.name.len()).max().unwrap_or(0);
    doors()
        .map(|door| {
            let names: Vec<&str> = door.available().map(|(command, _)| command.name).collect();
            let text =
                if door.is_command() { door.about.to_owned() } else { format!("{}: {}", door.about, names.join(", ")) };
            let lines = wrapped(&text, WIDTH - width - 4);
            let indent = format!("\n{:1$}", "", width + 4);
            format!("  {:width$}  {}\n", door.name, lines.join(&indent))
        })
        .collect()
}

/// What `perfdb` alone prints below its usage.
pub(super) fn short() -> String {
    format!(
        "Commands:\n{}\n{EXAMPLES}\n\n\
         Also: list [--all], doctor, help NAME, completions, man, install-links,\n      \
         merge-shards, mcp, skill. `perfdb COMMAND -h`: options of a command.\n\n\
         General options: -q less, -v more on stderr; --help: more; -V: version",
        groups()
    )
}

/// What `perfdb --help` prints below its usage.
pub(super) fn long() -> String {
    format!(
        "Commands:\n{}\n{EXAMPLES}\n
Find and install:
  list                  every command with what it does; --all: every tool
  doctor                vendors' software on this machine
  help NAME             the help of a command or tool
  completions SHELL     a completion script for bash, zsh or fish
  man DIR               manual pages
  install-links DIR     links named after the tools: `compare-traces` is a tool
  merge-shards DIR...   put the shards of a job (--shard I/N) together
  mcp DIR...            serve the tools to an assistant (Model Context Protocol)
  skill --to DIR        a page for assistants: which command does what

General options:
  -q, --quiet        hide warnings and progress
  -v, --verbose      log on stderr (-vv: more)
      --no-progress  hide progress bars
  -h, --help         print this help
  -V, --version      print the version",
        groups()
    )
}

/// One line for each command below its group.
fn by_command() -> String {
    let width = commands().map(|(door, command, _)| door.words(command).len()).max().unwrap_or(0);
    let mut text = String::new();
    for door in doors() {
        text.push_str(&format!("{}: {}\n", door.name, door.about));
        for (command, tool) in door.available() {
            text.push_str(&format!("  {:width$}  {}\n", door.words(command), command.summary(tool)));
        }
        text.push('\n');
    }
    for tool in without_door() {
        text.push_str(&format!("  {:width$}  {}\n", tool.name, tool.summary));
    }
    text + "`perfdb list --all` shows every tool under its own name.\n"
}

/// Prints the commands, all tools or the devices, and writes them as JSON where that is asked for.
pub(super) fn print_list(all: bool, devices: bool, output: Option<&OsStr>) -> Result<(), Failure> {
    let is_stdout = matches!(output.and_then(OsStr::to_str), Some("-.json"));
    if let Some(output) = output.filter(|output| *output != "-") {
        if Path::new(output).extension().is_none_or(|suffix| !suffix.eq_ignore_ascii_case("json")) && !is_stdout {
            return Err(Failure::usage(no_such_form(output, &[".json"])));
        }
        let list = Versioned::first(if devices { json!({"devices": DEVICES}) } else { json!({"tools": tools()}) });
        if is_stdout {
            return print(&(serde_json::to_string_pretty(&list)? + "\n"));
        }
        if let Some(file) = JsonFile::open(Some(output))? {
            file.write(&list)?;
        }
    }
    print(&match (all, devices) {
        (true, _) => by_tool(),
        (_, true) => DEVICES.join("\n") + "\n",
        _ => by_command(),
    })
}

/// All tools, those of groups with their commands.
fn tools() -> Vec<Value> {
    let of_groups = commands().map(|(door, command, tool)| {
        json!({"command": door.words(command), "tool": tool.name, "summary": command.summary(tool)})
    });
    let others = TOOLS.iter().filter(|tool| words_of(tool.name).is_none());
    of_groups.chain(others.map(|tool| json!({"command": null, "tool": tool.name, "summary": tool.summary}))).collect()
}

/// One line for each command of a group.
pub(super) fn of_door(door: &crate::doors::Door) -> String {
    let width = door.available().map(|(command, _)| command.name.len()).max().unwrap_or(0);
    let lines: String = door
        .available()
        .map(|(command, tool)| format!("  {:width$}  {}\n", command.name, command.summary(tool)))
        .collect();
    format!(
        "perfdb {0}: {1}\n\nUsage: perfdb {0} COMMAND [ARGUMENTS]\n\nCommands:\n{lines}\n\
         `perfdb {0} COMMAND -h` shows the options of a command.\n",
        door.name, door.about
    )
}

/// One line for each tool below the heading of its job, then the names that are kept for compatibility.
fn by_tool() -> String {
    let width = TOOLS.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
    let is_compatible = |name: &str| COMPATIBILITY.contains(&name);
    let line = |name: &str| {
        let command = words_of(name).map(|words| format!("perfdb {words}")).unwrap_or_default();
        format!("  {name:width$}  {command}").trim_end().to_owned() + "\n"
    };
    let mut text = String::new();
    for job in Job::ALL {
        let lines: String = of_job(job).filter(|tool| !is_compatible(tool.name)).map(|tool| line(tool.name)).collect();
        if !lines.is_empty() {
            text.push_str(&format!("{}:\n{lines}\n", job.title()));
        }
    }
    let compatible: String = TOOLS.iter().filter(|tool| is_compatible(tool.name)).map(|tool| line(tool.name)).collect();
    text + &format!("Compatibility names, as in the original scripts:\n{compatible}")
}

/// The text in lines of at most `width` characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let full = lines.last().is_some_and(|line| !line.is_empty() && line.len() + 1 + word.len() > width);
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
