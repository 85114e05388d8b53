//! Inputs without their flags: `check-database DIR` for `check-database --database-path DIR`.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, value_parser};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// An option whose value may stand without the option's name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input {
    /// The option, without dashes.
    pub(crate) option: &'static str,
    /// What usage calls the value.
    pub(crate) name: &'static str,
    is_required: bool,
    /// Whether the tool would create what is not there: a mistyped word must not become a database.
    is_created: bool,
}

const fn required(option: &'static str, name: &'static str) -> Input {
    Input { option, name, is_required: true, is_created: false }
}

const fn optional(option: &'static str, name: &'static str) -> Input {
    Input { option, name, is_required: false, is_created: false }
}

const DATABASE: &[Input] = &[optional("database-path", "DIR")];
const WRITTEN_DATABASE: &[Input] = &[Input { is_created: true, ..optional("database-path", "DIR") }];
const PAIR: &[Input] = &[required("tc-trace", "TRACE"), required("prof-trace", "PASS")];
const AUDIT: &[Input] = &[optional("database-path", "DIR"), optional("from-trace", "TRACE")];
const TRACE: &[Input] = &[required("trace", "TRACE")];
const PROFILE: &[Input] = &[required("profiling-path", "PATH"), optional("database-path", "DIR")];
const RUNTIME_VALUES: &[Input] = &[required("csv-path", "TABLE"), required("jsonl-path", "JSONL")];
const COLLECTIVES: &[Input] = &[required("csv-dir", "DIR")];
const MODEL: &[Input] = &[optional("model", "CONFIG"), optional("database-path", "DIR")];
const OPTIONAL_PAIR: &[Input] = &[optional("tc-trace", "TRACE"), optional("prof-trace", "PASS")];

/// The inputs of a tool that need no name, in order.
pub(crate) fn inputs(tool: &str) -> &'static [Input] {
    match tool {
        "check-database" | "evaluate-database" | "check-density" => DATABASE,
        "start-microbench" | "run-all-op" | "generate-shape-grid" => WRITTEN_DATABASE,
        "audit-coverage" => AUDIT,
        "compute-m6" | "generate-per-shape-comparison" => PAIR,
        "explain-prediction" | "generate-op-comparison" => OPTIONAL_PAIR,
        "forecast" => MODEL,
        "trace-to-csv" => TRACE,
        "parse-kernel-details" => PROFILE,
        "fill-fia-runtime-metadata" => RUNTIME_VALUES,
        "validate-comm-alignment" => COLLECTIVES,
        _ => &[],
    }
}

/// The option that an argument stands for: that of the help's `TRACE` is `tc-trace`.
pub(crate) fn option_of(tool: &str, argument: &str) -> Option<&'static str> {
    inputs(tool).iter().find(|input| input.name == argument).map(|input| input.option)
}

/// Says in the help that the inputs need no names.
pub(crate) fn describe(mut command: Command) -> Command {
    let tool = command.get_name().to_owned();
    let inputs = inputs(&tool);
    if inputs.is_empty() {
        return command;
    }
    for input in inputs {
        let help = format!("The same as --{}", input.option);
        command =
            command.arg(Arg::new(input.name).value_name(input.name).help(help).value_parser(value_parser!(OsString)));
    }
    command.override_usage(usage(&tool, &tool).unwrap_or_default())
}

/// The line of usage of a tool under the name of the program that was called.
pub(crate) fn usage(tool: &str, program: &str) -> Option<String> {
    let inputs = inputs(tool);
    let shown =
        |input: &Input| if input.is_required { format!(" <{}>", input.name) } else { format!(" [{}]", input.name) };
    (!inputs.is_empty()).then(|| format!("{program} [OPTIONS]{}", inputs.iter().map(shown).collect::<String>()))
}

/// Gives the inputs of a command line, the program's name first, their names. The error names an input that is given twice.
pub(crate) fn name_inputs(arguments: Vec<OsString>, command: &Command) -> Result<Vec<OsString>, String> {
    let inputs = inputs(command.get_name());
    if inputs.is_empty() {
        return Ok(arguments);
    }
    // Whether a word behind an unknown option is its value cannot be known: the option is what is reported.
    let Some(words) = Words::of(&arguments, command) else { return Ok(arguments) };
    let mut waiting = inputs.iter();
    let mut named = Vec::with_capacity(arguments.len());
    let mut rest = Vec::new();
    for (argument, word) in arguments.into_iter().zip(words.each) {
        let input = if word == Word::Positional { waiting.next() } else { None };
        named.push(match input {
            // What is too much stands behind `--`, so that it stays what it is.
            None if word == Word::Positional => {
                rest.push(argument);
                continue;
            }
            None if word == Word::End => continue,
            None => argument,
            Some(input) if words.options.contains(&input.option) => {
                let (name, option) = (input.name, input.option);
                return Err(format!("{name} is given twice: as {} and with --{option}", argument.display()));
            }
            Some(input) if input.is_created && !Path::new(&argument).is_dir() => {
                let (word, option) = (argument.display(), input.option);
                return Err(format!("{word}: this folder does not exist (a new one is named with --{option})"));
            }
            Some(input) => with_name(input.option, &argument),
        });
    }
    if !rest.is_empty() {
        named.push("--".into());
        named.append(&mut rest);
    }
    Ok(named)
}

/// Names the inputs that are missing as usage does, not by their options alone.
pub(crate) fn name_missing(error: &mut clap::Error, tool: &str) {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return };
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return;
    }
    let named = missing.iter().map(|option| {
        let is_it = |input: &&Input| option.split(' ').next() == Some(&format!("--{}", input.option));
        match inputs(tool).iter().find(is_it) {
            Some(input) => format!("{} ({option})", input.name),
            None => option.clone(),
        }
    });
    let named = ContextValue::Strings(named.collect());
    error.insert(ContextKind::InvalidArg, named);
}

fn with_name(option: &str, value: &OsStr) -> OsString {
    let mut bytes = format!("--{option}=").into_bytes();
    bytes.extend_from_slice(value.as_bytes());
    OsString::from_vec(bytes)
}

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// The program, an option, or a value of one.
    Other,
    Positional,
    /// `--`.
    End,
}

/// What the arguments of a command line are.
struct Words<'c> {
    each: Vec<Word>,
    /// The options that are given, by their full names.
    options: Vec<&'c str>,
}

impl<'c> Words<'c> {
    /// `None` where an option is unknown.
    fn of(arguments: &[OsString], command: &'c Command) -> Option<Words<'c>> {
        let mut words = Words { each: Vec::with_capacity(arguments.len()), options: Vec::new() };
        // How many values the last option still takes.
        let mut values = 0;
        let mut options_ended = false;
        for (at, argument) in arguments.iter().enumerate() {
            let bytes = argument.as_bytes();
            let is_option = bytes.len() > 1 && bytes[0] == b'-' && !options_ended;
            let mut word = Word::Other;
            if at == 0 {
            } else if values > 0 && !is_option {
                values -= 1;
            } else if is_option && bytes == b"--" {
                (options_ended, values, word) = (true, 0, Word::End);
            } else if is_option {
                values = words.option(bytes, command)?;
            } else {
                word = Word::Positional;
            }
            words.each.push(word);
        }
        Some(words)
    }

    /// Notes an option; how many of the arguments behind it are its values. `None` if it is unknown.
    fn option(&mut self, bytes: &[u8], command: &'c Command) -> Option<usize> {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let known = match name.strip_prefix("--") {
            Some(long) => command.get_arguments().find(|known| {
                known.get_long() == Some(long) || known.get_all_aliases().unwrap_or_default().contains(&long)
            }),
            None => command.get_arguments().find(|known| known.get_short() == name.chars().last()),
        };
        let known = known?;
        self.options.extend(known.get_long());
        if value.is_some() || !known.get_action().takes_values() {
            return Some(0);
        }
        Some(known.get_num_args().map_or(1, |range| range.max_values()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ArgAction;

    fn command() -> Command {
        let option = |name: &'static str| Arg::new(name).long(name);
        let mut command = describe(
            Command::new("explain-prediction")
                .arg(option("tc-trace").alias("simulated"))
                .arg(option("prof-trace"))
                .arg(option("json"))
                .arg(option("ops").num_args(1..))
                .arg(option("all").action(ArgAction::SetTrue))
                .arg(Arg::new("quiet").short('q').action(ArgAction::SetTrue)),
        );
        command.build();
        command
    }

    fn named(line: &str) -> Result<String, String> {
        let arguments = format!("x {line}").split_whitespace().map(OsString::from).collect();
        let named = name_inputs(arguments, &command())?;
        Ok(named.iter().skip(1).map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn inputs_get_the_names_of_their_options() {
        for (line, expected) in [
            ("t.json p.csv", "--tc-trace=t.json --prof-trace=p.csv"),
            ("--json j t.json -q p.csv --all", "--json j --tc-trace=t.json -q --prof-trace=p.csv --all"),
            ("--json=j - p", "--json=j --tc-trace=- --prof-trace=p"),
            ("--ops a b --all t p", "--ops a b --all --tc-trace=t --prof-trace=p"),
            ("--tc-trace t --prof-trace p", "--tc-trace t --prof-trace p"),
            ("t p more", "--tc-trace=t --prof-trace=p -- more"),
            ("a --no-such t", "a --no-such t"),
            ("-- -t p", "--tc-trace=-t --prof-trace=p"),
        ] {
            assert_eq!(named(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn an_input_that_is_given_twice_is_an_error() {
        assert_eq!(named("a --simulated b").unwrap_err(), "TRACE is given twice: as a and with --tc-trace");
    }

    #[test]
    fn usage_names_the_inputs() {
        assert_eq!(usage("compute-m6", "perfdb compute-m6").unwrap(), "perfdb compute-m6 [OPTIONS] <TRACE> <PASS>");
        assert_eq!(usage("check-database", "x").unwrap(), "x [OPTIONS] [DIR]");
        assert_eq!(usage("check-trace", "x"), None);
    }
}
