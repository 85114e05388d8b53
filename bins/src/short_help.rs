//! `-h`: what people use, on one screen. `--help` has everything.

use crate::doors::of_program;
use clap::builder::StyledStr;
use clap::{Arg, Command};
use std::ffi::OsString;

/// The options that people use most, the common case first. Tools that are not here show their first options.
const COMMON: &[(&str, &[&str])] = &[
    ("audit-coverage", &["database-path", "from-trace", "model", "output", "suggest", "density", "max-missing"]),
    ("bundle-reports", &["output", "title"]),
    ("calibrate-database", &["with", "output", "suggest", "top"]),
    ("check-database", &["database-path", "device", "output", "all", "ignore", "against-samples"]),
    ("check-density", &["database-path", "density", "ranges", "manifest", "output", "suggest", "all"]),
    ("check-trace", &["output", "repair", "only", "ignore", "json"]),
    ("compare-traces", &["output", "before", "after", "fail-slower", "explain", "layers", "all", "phase"]),
    ("compute-m6", &["tc-trace", "prof-trace", "source-filter", "output", "semantics", "fail-outside"]),
    ("cut-forward-pass", &["list", "pass", "output", "json"]),
    ("database-from-trace", &["database-path", "capture", "dtype", "top"]),
    ("diff-databases", &["output", "tolerance", "worst", "workload", "fail-slower", "fail-missing"]),
    ("evaluate-database", &["database-path", "output", "kernel", "all"]),
    (
        "explain-prediction",
        &["output", "data-dir", "limit", "measure-dir", "trace-out", "scenarios", "fail-regression"],
    ),
    ("export-database", &["parquet", "kernel"]),
    ("fill-fia-runtime-metadata", &["csv-path", "jsonl-path", "output-path", "metadata-tag"]),
    ("generate-comm-microbench", &["database-path", "device", "ops", "num-devices", "dtype", "do-run", "output-csv"]),
    ("generate-op-comparison", &["tc-trace", "prof-trace", "data-dir", "output", "html-output", "lang", "semantics"]),
    ("generate-per-shape-comparison", &["tc-trace", "prof-trace", "output", "html", "semantics"]),
    ("generate-shape-grid", &["database-path", "device", "rules", "ops", "dry-run", "max-rows"]),
    ("import-database", &["database-path", "from", "device"]),
    ("merge-databases", &["dry-run", "prefer", "conflicts", "decisions", "output"]),
    ("op-replay", &["database-path", "device", "backend", "repeat-count", "update-mode", "results", "plan"]),
    ("parse-kernel-details", &["profiling-path", "database-path", "device", "vllm-version"]),
    ("probe-dfc-constraints", &["backend", "python", "json"]),
    ("query-database", &["kernel", "list", "from-trace", "semantics", "explain", "output", "nearest"]),
    ("run-all-op", &["database-path", "device", "ops", "backend", "repeat-count", "update-mode"]),
    ("run-comm-bench", &["output-dir", "ops", "database-path", "engine", "device"]),
    ("start-microbench", &["database-path", "device", "ops", "prof-path", "update-mode", "dry-run", "html"]),
    ("trace-to-csv", &["trace", "output", "columns"]),
    ("validate-comm-alignment", &["csv-dir", "tolerance", "model", "output"]),
];

/// How many options and examples `-h` shows.
const MOST_OPTIONS: usize = 8;
const MOST_EXAMPLES: usize = 3;
const MOST_LINES: usize = 7;

const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

/// Whether a command line asks for the short help.
pub(crate) fn is_asked(arguments: &[OsString]) -> bool {
    arguments.iter().skip(1).take_while(|argument| *argument != "--").any(|argument| argument == "-h")
}

/// The command whose help is the short one.
pub(crate) fn shortened(command: Command) -> Command {
    let tool = command.get_name().to_owned();
    let shown = shown(&tool, &command);
    let all = command.get_arguments().filter(|option| !option.is_hide_set() && !option.is_positional()).count();
    let examples = examples(&command);
    let usage = usage_of(&command);
    let command = command.override_usage(usage.lines().next().unwrap_or_default().to_owned());
    let longest = command
        .get_arguments()
        .filter(|option| shown.iter().any(|name| option.get_long() == Some(name)))
        .map(|option| length(option).min(LONGEST))
        .max()
        .unwrap_or_default();
    let width = NARROWEST.saturating_sub(longest + AROUND).max(LEAST_WIDTH);
    let command = command.mut_args(|option| match shown.iter().position(|name| option.get_long() == Some(name)) {
        Some(at) => brief(option, width).display_order(at).help_heading(None::<&str>),
        None if option.is_positional() => option,
        None => option.hide(true),
    });
    let command =
        if examples.is_empty() { command } else { command.before_help(format!("Examples:\n{}", examples.join("\n"))) };
    command
        .help_template(TEMPLATE)
        .after_help(format!("General options:\n  -q less, -v more on stderr; -V version; --help: all {all} options"))
}

/// Names of the options that are shown.
fn shown(tool: &str, command: &Command) -> Vec<String> {
    let is_here =
        |option: &&Arg| !option.is_positional() && (!option.is_hide_set() || option.get_long() == Some("output"));
    let options = || command.get_arguments().filter(is_here);
    let known = COMMON.iter().find(|(name, _)| *name == tool).map_or(&[][..], |(_, options)| options);
    let is_there = |name: &&&str| options().any(|option| option.get_long() == Some(name));
    let mut shown: Vec<String> = known.iter().filter(is_there).map(|name| (*name).to_owned()).collect();
    if shown.is_empty() {
        const GENERAL: [&str; 5] = ["help", "version", "verbose", "quiet", "no-progress"];
        let first = options().filter(|option| !option.is_hide_set()).filter_map(|option| option.get_long());
        shown = first.filter(|name| !GENERAL.contains(name)).take(MOST_OPTIONS).map(str::to_owned).collect();
    }
    shown
}

/// Columns of a narrow terminal, and how many of them stand around an option and its text.
const NARROWEST: usize = 80;
const AROUND: usize = 12;
/// The longest option with its value, as it is counted, and the least width of a text.
const LONGEST: usize = 28;
const LEAST_WIDTH: usize = 36;

/// Characters of an option with its value.
fn length(option: &Arg) -> usize {
    let value = option.get_value_names().and_then(|names| names.first()).map_or(0, |name| name.len() + " <>".len());
    let takes_value = option.get_action().takes_values();
    option.get_long().unwrap_or_default().len() + "--".len() + if takes_value { value } else { 0 }
}

/// The first words of a text, and `…` where some are left out.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for word in text.split(' ') {
        if short.chars().count() + word.chars().count() + 2 > width {
            break;
        }
        short.push_str(word);
        short.push(' ');
    }
    short.trim_end().to_owned() + "…"
}

/// The option with the first clause of its text, and a short name of its value.
fn brief(option: Arg, width: usize) -> Arg {
    let text = option.get_help().map(ToString::to_string).unwrap_or_default();
    let mut text = text.lines().next().unwrap_or_default();
    for end in ["; ", ". ", " [default", ": ", " (", ", "] {
        if text.len() > width {
            text = text.split(end).next().unwrap_or_default();
        }
    }
    let text = cut(text, width);
    let default: usize = option.get_default_values().iter().map(|value| value.len()).sum();
    let hides_default = default == 0 || text.len() + default + " [default: ]".len() > width;
    let value = option.get_value_names().and_then(|names| names.first()).map_or(0, |name| name.len());
    let option = option.help(text);
    match (option.get_action().takes_values(), value > "[TABLE=]FILE".len()) {
        (false, _) => option,
        (true, false) => option.hide_possible_values(true).hide_default_value(hides_default),
        (true, true) => option.hide_possible_values(true).hide_default_value(hides_default).value_name("VALUE"),
    }
}

/// The first examples, those of one line before longer ones. What is said about them stays in the long help.
fn examples(command: &Command) -> Vec<String> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut examples: Vec<String> = Vec::new();
    let is_example = |line: &&str| line.is_empty() || line.starts_with("  ");
    for line in text.lines().skip_while(|line| *line != "Examples:").skip(1).take_while(is_example) {
        let said = line.trim_start();
        // Variables may be set in front.
        let program = said.split(' ').find(|word| !word.contains('='));
        let begins = program.is_some_and(|program| program == command.get_name() || program == "perfdb");
        match examples.last_mut() {
            Some(last) if last.ends_with('\\') => last.extend(["\n      ", said]),
            _ if begins => examples.push(format!("  {said}")),
            _ => {}
        }
    }
    let (short, long): (Vec<String>, Vec<String>) = examples.into_iter().partition(|example| !example.contains('\n'));
    let mut lines = 0;
    let fits = |example: &String| {
        lines += example.lines().count();
        lines <= MOST_LINES
    };
    short.into_iter().chain(long).take(MOST_EXAMPLES).take_while(fits).collect()
}

/// The help text with examples that begin with the words that the tool was called by.
pub(crate) fn under_name(command: Command, words: &str) -> Command {
    let tool = command.get_name().to_owned();
    let known = of_program(words);
    let elsewhere = known.map_or(&[][..], |known| known.elsewhere);
    // `--ranks` is said by `trace ranks`.
    let own_option = known.map_or_else(String::new, |known| format!("--{} ", known.name));
    let without = |option: &str, rest: &str| rest.strip_prefix(option).unwrap_or(rest).to_owned();
    let is_special = known.is_some_and(|known| !known.options.is_empty());
    let renamed = |text: &StyledStr| {
        let text = text.to_string();
        // An example of a command with options of its own has one of them in its tool's help.
        let as_typed = |line: &str| line.replacen(words, &format!("{tool} {}", own_option.trim_end()), 1);
        let lines = text.lines().map(|line| {
            let said = line.trim_start();
            let indent = &line[..line.len() - said.len()];
            let said = said.strip_prefix("perfdb ").unwrap_or(said);
            match said.strip_prefix(&format!("{tool} ")) {
                Some(rest) if !indent.is_empty() => format!("{indent}{words} {}", without(&own_option, rest)),
                _ => line.to_owned(),
            }
        });
        // What another command has the option for is an example of that one.
        let is_own = |line: &String| {
            let is_plain = is_special && line.trim_start().starts_with(words) && !text.contains(&as_typed(line));
            !is_plain
                && !elsewhere
                    .iter()
                    .any(|name| line.contains(&format!(" --{name} ")) || line.ends_with(&format!(" --{name}")))
        };
        let lines = lines.filter(is_own);
        lines.collect::<Vec<_>>().join("\n")
    };
    let usage = match known.and_then(|known| known.usage) {
        Some(usage) => format!("{words} {usage}"),
        None => usage_of(&command).replace(&format!("{tool} "), &format!("{words} ")),
    };
    let command = command.override_usage(usage).mut_args(|option| {
        let is_elsewhere = option.get_long().is_some_and(|name| elsewhere.contains(&name));
        if is_elsewhere { option.hide(true) } else { option }
    });
    let command = match known.and_then(|known| known.summary) {
        Some(summary) => command.about(capitalised(summary)).long_about(None::<&str>),
        None => command,
    };
    match command.get_after_help().map(renamed) {
        Some(text) => command.after_help(text),
        None => command,
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().collect::<String>() + characters.as_str()).unwrap_or_default()
}

/// The lines of usage, without the word in front.
fn usage_of(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let lines = usage.strip_prefix("Usage: ").unwrap_or(&usage).lines().map(str::trim_start);
    lines.collect::<Vec<_>>().join("\n       ")
}
