//! Command lines that shards remember. They are data of whoever made the shards: nothing that they name is started, and what they have
//! written lies below the current folder.

use crate::positional;
use crate::registry::Tool;
use crate::shards::remember_recorded;
use crate::standard_streams::writes_file;
use crate::{Failure, error_line};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};
use perfdb_files::escape::{excerpt, shown};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Options that name what is written, beside those that name files.
const PLACES: [&str; 7] = ["database-path", "hand-over", "journal", "measure-dir", "output", "output-dir", "run-id"];

/// Tables that are changed in their place.
const TABLES: [&str; 1] = ["csv"];

/// Names under which the results themselves are printed, or nothing is kept.
const STREAMS: [&str; 3] = ["-", "/dev/stdout", "/dev/null"];

/// Refuses a recorded command line that writes outside the current folder, or over a file of a database.
pub(super) fn check(tool: &Tool, arguments: &[String]) -> Result<(), Failure> {
    let mut command = (tool.command)();
    command.build();
    let words = std::iter::once(tool.name).chain(arguments.iter().map(String::as_str));
    let matches = command.clone().try_get_matches_from(words).map_err(|error| {
        let line = error.to_string();
        refused(&format!("they do not fit {}: {}", tool.name, excerpt(line.lines().next().unwrap_or_default())))
    })?;
    for argument in command.get_arguments() {
        for place in given(&matches, argument) {
            let name = option_of(tool, argument);
            let is_changed_in_place = PLACES.contains(&name) || (TABLES.contains(&name) && tool.name == "op-replay");
            if is_changed_in_place || writes_file(argument) {
                check_place(place, is_changed_in_place)?;
            }
        }
    }
    remember_recorded();
    Ok(())
}

/// The option of an argument, also of one that may stand without its option's name.
fn option_of<'a>(tool: &Tool, argument: &'a Arg) -> &'a str {
    let id = argument.get_id().as_str();
    argument.get_long().or_else(|| positional::option_of(tool.name, id)).unwrap_or(id)
}

/// The values that the command line gives an argument.
fn given<'m>(matches: &'m ArgMatches, argument: &Arg) -> Vec<&'m OsStr> {
    let id = argument.get_id().as_str();
    let is_path = argument.get_action().takes_values();
    if !is_path || matches.value_source(id) != Some(ValueSource::CommandLine) {
        return Vec::new();
    }
    matches.get_raw(id).into_iter().flatten().collect()
}

/// Tables that are changed in their place are those that the shards have measured, which is checked by their content.
fn check_place(place: &OsStr, is_changed_in_place: bool) -> Result<(), Failure> {
    if STREAMS.iter().any(|stream| place == *stream) {
        return Ok(());
    }
    // `--parquet TABLE=FILE`
    let bytes = place.as_bytes();
    let behind = bytes.iter().position(|byte| *byte == b'=').map_or(bytes, |at| &bytes[at + 1..]);
    for path in [Path::new(place), Path::new(OsStr::from_bytes(behind))] {
        if !is_below(path).map_err(|error| refused(&error_line(&perfdb_files::Error::io(path, error))))? {
            return Err(refused(&format!("{}: lies outside the current folder", shown(path))));
        }
        if !is_changed_in_place && belongs_to_database(path) {
            return Err(refused(&format!("{}: belongs to a database", shown(path))));
        }
    }
    Ok(())
}

fn refused(reason: &str) -> Failure {
    let remedy = "give the command of the job itself: perfdb merge-shards DIR -- TOOL ARGUMENTS";
    Failure::lines(vec![format!("the options that the shards remember are not used: {reason}; {remedy}")])
}

/// Whether a path is below the current folder, also with its links followed.
fn is_below(path: &Path) -> std::io::Result<bool> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !path.components().all(is_plain) {
        return Ok(false);
    }
    let here = fs::canonicalize(".")?;
    let mut existing = here.join(path);
    // A link that leads nowhere yet is one all the same.
    while fs::symlink_metadata(&existing).is_err() {
        existing = existing.parent().map_or_else(|| here.clone(), PathBuf::from);
    }
    Ok(fs::canonicalize(&existing).is_ok_and(|real| real.starts_with(&here)))
}

/// Whether a file that is there is a table of a database or describes one.
fn belongs_to_database(path: &Path) -> bool {
    let describes = ["op_mapping.yaml", perfdb_store::provenance::FILE_NAME];
    path.file_name().is_some_and(|name| describes.iter().any(|known| name == *known))
        || perfdb_store::directory::is_table(path) && has_shapes(path)
}

/// Whether the header of a table is that of a kernel type.
fn has_shapes(path: &Path) -> bool {
    perfdb_files::input::open(path, perfdb_files::input::Kind::RegularFile)
        .and_then(|file| {
            let mut start = Vec::new();
            std::io::Read::read_to_end(&mut std::io::Read::take(file, 4096), &mut start)?;
            Ok(String::from_utf8_lossy(&start).lines().next().is_some_and(|line| line.contains("Input Data Types")))
        })
        .unwrap_or(true)
}

/// The command that somebody asks for is the one that the shards remember.
pub(super) fn same(asked: &[String], recorded: &[String]) -> Result<(), Failure> {
    if asked == recorded {
        return Ok(());
    }
    let quoted = |words: &[String]| excerpt(&words.join(" "));
    let reason = format!("the shards were made with `{}`, not with `{}`", quoted(recorded), quoted(asked));
    Err(Failure::lines(vec![reason]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_the_current_folder_is_written() {
        for path in ["/tmp/x", "../x", "a/../../x", "/dev/stderr"] {
            assert!(!is_below(Path::new(path)).unwrap(), "{path}");
        }
        for path in ["x", "./x", "a/b/c.json"] {
            assert!(is_below(Path::new(path)).unwrap(), "{path}");
        }
    }

    /// Each option of a tool that has shards is known to write nothing, or is checked: a new one has to be put somewhere.
    #[test]
    fn every_option_with_a_path_is_known() {
        let mut unknown = Vec::new();
        for tool in crate::all_tools::TOOLS.iter() {
            let command = (tool.command)();
            if command.get_arguments().all(|argument| argument.get_long() != Some("shard")) {
                continue;
            }
            for argument in command.get_arguments() {
                let name = option_of(tool, argument);
                let takes_path = argument
                    .get_value_names()
                    .unwrap_or_default()
                    .iter()
                    .any(|name| ["DIR", "FILE", "PATH"].iter().any(|path| name.contains(path)));
                if takes_path && !writes_file(argument) && !PLACES.contains(&name) && !READ.contains(&name) {
                    unknown.push(format!("{}: {name}", tool.name));
                }
            }
        }
        assert_eq!(unknown, [""; 0]);
    }

    /// Options that name what is read, or a program that no merge starts.
    const READ: [&str; 28] = [
        "baseline",
        "capture1",
        "capture2",
        "cases",
        "csv",
        "data-dir",
        "devices",
        "families",
        "from-shards",
        "pairs",
        "prof-path",
        "prof-trace",
        "profiling-path",
        "python",
        "ranks",
        "before",
        "after",
        "ranks1",
        "ranks2",
        "registry",
        "scenarios",
        "shard-dir",
        "tc-trace",
        "trace",
        "trace-dir",
        "trace1",
        "trace2",
        "traces",
    ];
}
