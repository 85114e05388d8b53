//! Names of files that promise another form than the one that is written.

use crate::output::warn;
use crate::standard_streams::writes_file;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use std::ffi::OsStr;
use std::path::Path;

/// Refuses a file of the name `….parquet` where CSV, JSON or anything but Parquet goes into it: readers go by the name, and
/// fail far from here. An option of the tool's original writes the file, as that does, with a warning.
pub(crate) fn check(matches: &ArgMatches, command: &Command, original_options: &[&str]) -> Result<(), String> {
    let hint = if command.get_arguments().any(|argument| argument.get_long() == Some("parquet") && is_there(argument)) {
        "--parquet does"
    } else {
        "choose another name"
    };
    for argument in command.get_arguments().filter(|argument| writes_file(argument)) {
        let (id, long) = (argument.get_id().as_str(), argument.get_long().unwrap_or_default());
        let chooses_form = long == "output" && has_form(command, "parquet");
        if long == "parquet" || chooses_form || matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        for file in matches.get_raw(id).into_iter().flatten().filter(|file| promises_parquet(file)) {
            let reason = format!("--{long}: {}: this option does not write Parquet; {hint}", file.display());
            if !original_options.contains(&long) {
                return Err(reason);
            }
            warn(&reason);
        }
    }
    Ok(())
}

/// Whether `--format` has a form: then the name of the output can choose it too.
fn has_form(command: &Command, form: &str) -> bool {
    let format = command.get_arguments().find(|argument| argument.get_long() == Some("format"));
    format.is_some_and(|format| format.get_possible_values().iter().any(|value| value.get_name() == form))
}

/// `--output` hides the option of the form in the help; a program without Parquet hides it too.
fn is_there(option: &Arg) -> bool {
    !option.is_hide_set() || !crate::table_file::is_without_parquet()
}

fn promises_parquet(file: &OsStr) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}
