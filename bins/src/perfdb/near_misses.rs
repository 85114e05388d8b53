//! Words that are not a command, and the command that is meant by them.

use super::OWN_COMMANDS;
use crate::Failure;
use crate::all_tools::TOOLS;
use crate::doors::{Door, commands, doors};
use perfdb_store::near_name::nearest;

/// What people type, and the commands that mean it, the likeliest first.
const MEANT: &[(&[&str], &[&str])] = &[
    (&["compare", "comparison", "compare-trace", "cmp"], &["trace diff", "pass explain"]),
    (&["analyze", "analyse", "why", "trace-explain"], &["trace explain", "trace diff"]),
    (&["validate", "lint", "verify", "repair", "fix"], &["trace check", "db check"]),
    (&["lookup", "ask", "search", "cost", "get"], &["db query"]),
    (&["create", "make", "init", "parse"], &["db build"]),
    (&["convert", "parquet"], &["db export", "db import"]),
    (&["late", "straggler", "rank"], &["trace ranks"]),
    (&["microbench", "run"], &["measure database", "measure op"]),
    (&["collectives", "nccl", "hccl"], &["measure comm"]),
    (&["report", "html"], &["trace diff", "pass explain"]),
];

/// A command that there is not, with the nearest one.
pub(super) fn unknown(words: &[String]) -> Failure {
    let first = words.first().map(String::as_str).unwrap_or_default();
    // `database check` means the group, although there is a command of that name as well.
    let group = doors().find(|door| {
        let has = |name: &String| door.available().any(|(command, _)| command.name == name);
        door.synonyms.contains(&first.to_lowercase().as_str()) && words.get(1).is_some_and(has)
    });
    let meant = group.map_or_else(|| meant(first), |door| vec![door.name.to_owned()]);
    let hint = if meant.is_empty() {
        match nearest(first, names(), str::to_lowercase) {
            Some(near) => format!("did you mean {near}?"),
            None => "`perfdb list` shows the commands".to_owned(),
        }
    } else {
        format!("did you mean {}?", or(&meant, &words[1..]))
    };
    Failure::usage(format!("no tool or command '{first}'; {hint}"))
}

/// A command that a group does not have.
pub(super) fn unknown_in(door: &Door, name: &str, rest: &[String]) -> Failure {
    let own: Vec<&str> = door.available().map(|(command, _)| command.name).collect();
    let hint = match nearest(name, own.iter().copied(), str::to_lowercase) {
        Some(near) => format!("did you mean {}?", or(&[format!("{} {near}", door.name)], rest)),
        None => {
            let meant: Vec<String> = meant(name).into_iter().filter(|words| starts(words, door.name)).collect();
            if meant.is_empty() {
                format!("it has {}", own.join(", "))
            } else {
                format!("did you mean {}?", or(&meant, rest))
            }
        }
    };
    Failure::usage(format!("perfdb {} has no command '{name}'; {hint}", door.name))
}

fn starts(words: &str, door: &str) -> bool {
    words.split(' ').next() == Some(door)
}

/// The commands that a word means: those of that name, of that group and name in one word, or those of [`MEANT`].
fn meant(word: &str) -> Vec<String> {
    let folded = word.to_lowercase().replace('_', "-");
    let known = || commands().map(|(door, command, _)| door.words(command));
    let named: Vec<String> = commands()
        .filter(|(_, command, _)| command.name == folded)
        .map(|(door, command, _)| door.words(command))
        .collect();
    if !named.is_empty() {
        return named;
    }
    if let Some(joined) = known().find(|words| words.replace(' ', "-") == folded || turned(words) == folded) {
        return vec![joined];
    }
    if let Some(door) = doors().find(|door| door.synonyms.contains(&folded.as_str())) {
        return vec![door.name.to_owned()];
    }
    let meant = MEANT.iter().find(|(words, _)| words.contains(&folded.as_str())).map_or(&[][..], |(_, meant)| meant);
    meant.iter().filter(|words| known().any(|known| known == **words)).map(|words| (*words).to_owned()).collect()
}

/// `diff-trace` of `trace diff`.
fn turned(words: &str) -> String {
    words.split_once(' ').map(|(door, command)| format!("{command}-{door}")).unwrap_or_default()
}

/// The commands with what was typed behind the word, in backticks.
fn or(commands: &[String], rest: &[String]) -> String {
    let shown = |command: &String| {
        let mut line = format!("perfdb {command}");
        for word in rest.iter().take(4) {
            line.push(' ');
            line.push_str(word);
        }
        format!("`{line}`")
    };
    commands.iter().take(3).map(shown).collect::<Vec<_>>().join(" or ")
}

/// Names of groups, tools and of perfdb's own commands.
fn names() -> impl Iterator<Item = &'static str> {
    doors().map(|door| door.name).chain(TOOLS.iter().map(|tool| tool.name)).chain(OWN_COMMANDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        match unknown(&words) {
            Failure::Usage(text) => text,
            _ => String::new(),
        }
    }

    #[test]
    fn the_command_that_is_meant_is_named() {
        for (line, expected) in [
            ("compare a b", "did you mean `perfdb trace diff a b` or `perfdb pass explain a b`?"),
            ("query db", "did you mean `perfdb db query db`?"),
            ("trace-diff a b", "did you mean `perfdb trace diff a b`?"),
            ("diff_trace a b", "did you mean `perfdb trace diff a b`?"),
            ("m6 t p", "did you mean `perfdb pass m6 t p`?"),
            ("database check", "did you mean `perfdb db check`?"),
            ("ranks dir", "did you mean `perfdb trace ranks dir`?"),
            ("42", "`perfdb list` shows the commands"),
        ] {
            assert!(told(line).ends_with(expected), "{line}: {}", told(line));
        }
    }
}
