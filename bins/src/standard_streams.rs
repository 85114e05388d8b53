//! `-` on a command line: stdin where a file is read, stdout where one is written.
//!
//! The system has names for both, under which the tools open them like any other pipe. While a file goes to stdout, nothing else does.

use crate::positional;
use clap::{Arg, Command};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::{AtomicBool, Ordering};

/// What an argument does with the file that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Reads it.
    Input,
    /// Writes it.
    Output,
}

impl Stream {
    fn path(self) -> &'static str {
        match self {
            Stream::Input => "/dev/stdin",
            Stream::Output => "/dev/stdout",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Stream::Input => "stdin",
            Stream::Output => "stdout",
        }
    }
}

const OUTPUTS: [&str; 21] = [
    "conflicts",
    "csv",
    "dump-outputs",
    "events",
    "html",
    "html-output",
    "json",
    "json-output",
    "output",
    "output-path",
    "output_by_suffix",
    "parquet",
    "plan-out",
    "repair",
    "report",
    "rest",
    "result-csv",
    "result-json",
    "results",
    "testlist",
    "trace-out",
];

/// Options, and arguments without a name by what they are called.
const INPUTS: [&str; 28] = [
    "against",
    "baseline",
    "calibration",
    "capture",
    "capture1",
    "capture2",
    "cases",
    "config",
    "decisions",
    "density",
    "devices",
    "families",
    "file",
    "from-trace",
    "jsonl-path",
    "layers",
    "manifest",
    "pairs",
    "prof-trace",
    "profile",
    "ranges",
    "registry",
    "rules",
    "scenarios",
    "tc-trace",
    "trace",
    "traces",
    "workload",
];

/// What `-` stands for as the value of an argument. `None` where it is not a file of its own, or where the tool knows `-` itself.
pub fn stream_of(tool: &str, argument: &Arg) -> Option<Stream> {
    let name = name_of(argument);
    let name = positional::option_of(tool, name).unwrap_or(name);
    let knows_it_itself = matches!(
        (tool, name),
        ("query-database", "json" | "csv" | "manifest")
            | ("start-microbench", "json")
            // A table of a database, which is changed in its place.
            | ("op-replay", "csv")
    );
    // Elsewhere these are numbers of accelerators, no file of peaks.
    let is_list = name == "devices" && !matches!(tool, "compare-traces" | "explain-trace");
    if is_list || knows_it_itself || !may_be_file(argument) {
        None
    } else if writes_file(argument) {
        Some(Stream::Output)
    } else if INPUTS.contains(&name) {
        Some(Stream::Input)
    } else {
        None
    }
}

/// Whether the value of an argument is a file that is written.
pub(crate) fn writes_file(argument: &Arg) -> bool {
    may_be_file(argument) && OUTPUTS.contains(&name_of(argument))
}

fn name_of(argument: &Arg) -> &str {
    argument.get_long().unwrap_or(argument.get_id().as_str())
}

/// Whether an argument has a value that is neither a folder nor a tensor.
fn may_be_file(argument: &Arg) -> bool {
    let names = argument.get_value_names().unwrap_or_default();
    argument.get_action().takes_values() && !names.iter().any(|name| matches!(name.as_str(), "DIR" | "TENSOR"))
}

/// Puts the system's names in the place of `-`. The error says which two arguments want the same stream.
pub(crate) fn name_streams(
    arguments: impl IntoIterator<Item = OsString>,
    command: &Command,
) -> Result<Vec<OsString>, String> {
    let tool = command.get_name();
    let find = |name: &str| {
        command.get_arguments().find(|argument| {
            let aliases = argument.get_all_aliases().unwrap_or_default();
            argument.get_long() == Some(name) || aliases.contains(&name)
        })
    };
    let positional = command.get_positionals().find_map(|argument| stream_of(tool, argument));
    let mut taken: Vec<(Stream, String)> = Vec::new();
    let mut take = |stream: Stream, name: String| match taken.iter().find(|(other, _)| *other == stream) {
        Some((_, other)) => Err(format!("{other} and {name} cannot both be {}", stream.name())),
        None => {
            taken.push((stream, name));
            Ok(OsString::from(stream.path()))
        }
    };
    let mut named = Vec::new();
    // The option that waits for its value.
    let mut waiting: Option<(Option<Stream>, String)> = None;
    let mut options_ended = false;
    for (at, argument) in arguments.into_iter().enumerate() {
        let is_dash = argument == "-";
        if let Some((stream, name)) = waiting.take() {
            named.push(match stream.filter(|_| is_dash) {
                Some(stream) => take(stream, name)?,
                None => argument,
            });
            continue;
        }
        options_ended |= argument == "--";
        let option = argument.as_bytes().strip_prefix(b"--").filter(|_| !options_ended);
        let (name, value) = match option
            .map(|option| option.split_at(option.iter().position(|b| *b == b'=').unwrap_or(option.len())))
        {
            Some((name, value)) => (std::str::from_utf8(name).unwrap_or_default(), Some(value)),
            None => ("", None),
        };
        let known = find(name).filter(|known| known.get_action().takes_values());
        named.push(match (known, value) {
            (Some(known), Some(b"=-")) => match stream_of(tool, known) {
                Some(stream) => with_value(name, &take(stream, format!("--{name}"))?),
                None => argument,
            },
            (Some(known), Some(b"")) => {
                waiting = Some((stream_of(tool, known), format!("--{name}")));
                argument
            }
            _ => match positional.filter(|_| is_dash && at > 0) {
                Some(stream) => take(stream, "the file".to_owned())?,
                None => argument,
            },
        });
    }
    STDOUT_IS_TAKEN.store(taken.iter().any(|(stream, _)| *stream == Stream::Output), Ordering::Relaxed);
    Ok(named)
}

fn with_value(name: &str, value: &OsStr) -> OsString {
    let mut bytes = format!("--{name}=").into_bytes();
    bytes.extend_from_slice(value.as_bytes());
    OsString::from_vec(bytes)
}

static STDOUT_IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether stdout belongs to a file that was asked for, so that nothing else may be printed there.
pub fn stdout_is_taken() -> bool {
    STDOUT_IS_TAKEN.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        let option = |name: &'static str| Arg::new(name).long(name);
        Command::new("some-tool")
            .arg(option("json").alias("result-json").value_name("FILE"))
            .arg(option("csv").value_name("FILE"))
            .arg(option("output").value_name("DIR"))
            .arg(option("baseline"))
            .arg(option("label"))
            .arg(Arg::new("file"))
    }

    fn named(arguments: &str) -> Result<String, String> {
        let named = name_streams(arguments.split(' ').map(OsString::from), &command())?;
        Ok(named.iter().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_dash_is_the_stream_of_its_argument() {
        for (arguments, expected) in [
            ("- --json - -", "- --json /dev/stdout /dev/stdin"),
            ("x --result-json=- --baseline -", "x --result-json=/dev/stdout --baseline /dev/stdin"),
            ("x --csv a -- -", "x --csv a -- /dev/stdin"),
            ("x --output - --label -", "x --output - --label -"),
            ("x --label --json -", "x --label --json /dev/stdin"),
            ("x --json -- -", "x --json -- /dev/stdin"),
        ] {
            assert_eq!(named(arguments).unwrap(), expected, "{arguments}");
        }
    }

    #[test]
    fn a_stream_goes_to_one_argument() {
        assert_eq!(named("x --json - --csv=-").unwrap_err(), "--json and --csv cannot both be stdout");
        assert_eq!(named("x --baseline - -").unwrap_err(), "--baseline and the file cannot both be stdin");
    }
}
