//! The reference of all flags is made of the command lines, and no new flag changes what an old command line means.

use clap::{Arg, Command};
use perfdb_tools::all_tools::{TOOLS, of_job};
use perfdb_tools::registry::{Job, Tool};
use perfdb_tools::standard_streams::{Stream, stream_of};
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

type TestResult = Result<(), Box<dyn Error>>;

const DATABASE: [&str; 5] = ["database-path", "device", "vllm-version", "torch-version", "cann-version"];
const DISPATCH: [&str; 6] = [
    "dispatch-ffn-combine-ep-size",
    "dispatch-ffn-combine-nproc-per-node",
    "dispatch-ffn-combine-nnodes",
    "dispatch-ffn-combine-node-rank",
    "dispatch-ffn-combine-master-addr",
    "dispatch-ffn-combine-master-port",
];

/// The options of the originals, which accept any unambiguous beginning of them.
fn original_options(tool: &str) -> Vec<&'static str> {
    let (own, shared): (&[&str], &[&[&str]]) = match tool {
        "compute-m6" => (&["tc-trace", "prof-trace", "source-filter", "json-output"], &[]),
        "generate-op-comparison" => (&["trace-dir", "data-dir", "output"], &[]),
        "generate-per-shape-comparison" => (&["tc-trace", "prof-trace", "output"], &[]),
        "trace-to-csv" => (&["trace", "output"], &[]),
        "parse-kernel-details" => (&["profiling-path"], &[&DATABASE]),
        "fill-fia-runtime-metadata" => (&["csv-path", "jsonl-path", "output-path", "metadata-tag"], &[]),
        "validate-comm-alignment" => (&["csv-dir", "tolerance", "verbose"], &[]),
        "generate-comm-microbench" => (
            &[
                "output-dir",
                "database-path",
                "output-csv",
                "ops",
                "num-devices",
                "topology-tier",
                "grid-shape",
                "dtype",
                "bytes-grid",
                "bench-mode",
                "do-run",
            ],
            &[],
        ),
        "start-microbench" => (
            &["ops", "prof-path", "update-mode", "repeat-count", "prune-empty-duration-rows", "fail-fast"],
            &[&DATABASE, &DISPATCH],
        ),
        "run-all-op" => {
            (&["ops", "repeat-count", "update-mode", "execution-mode", "continue-on-error"], &[&DATABASE, &DISPATCH])
        }
        "op-replay" => (
            &[
                "repeat-count",
                "update-mode",
                "ep-size",
                "balanced",
                "no-balanced",
                "max-output-size",
                "nproc-per-node",
                "nnodes",
                "node-rank",
                "master-addr",
                "master-port",
            ],
            &[&DATABASE],
        ),
        _ => (&[], &[]),
    };
    own.iter().chain(shared.iter().copied().flatten()).copied().collect()
}

fn command(tool: &Tool) -> Command {
    let mut command = (tool.command)();
    command.build();
    command
}

fn names(option: &Arg) -> Vec<String> {
    let aliases = option.get_all_aliases().unwrap_or_default();
    option.get_long().into_iter().chain(aliases).map(str::to_owned).collect()
}

#[test]
fn originals_options_are_there_and_no_new_one_begins_like_them() {
    for tool in TOOLS {
        let originals = original_options(tool.name);
        let command = command(tool);
        let all: Vec<String> = command.get_arguments().flat_map(names).collect();
        for original in &originals {
            assert!(all.iter().any(|name| name == original), "{} lacks --{original}", tool.name);
        }
        for option in command.get_arguments() {
            let own = names(option);
            for name in own.iter().filter(|name| !originals.contains(&name.as_str())) {
                let means_another =
                    |original: &&str| original.starts_with(name.as_str()) && !own.iter().any(|own| own == original);
                let changed = originals.iter().copied().find(|original| means_another(original));
                assert_eq!(changed, None, "{}: --{name} was an abbreviation", tool.name);
            }
        }
    }
}

#[test]
fn results_have_the_same_names_everywhere() {
    for tool in TOOLS {
        let command = command(tool);
        for option in command.get_arguments().filter(|option| option.get_action().takes_values()) {
            let names = names(option);
            let (is_json, is_csv) = (names.iter().any(|name| name == "json"), names.iter().any(|name| name == "csv"));
            let is_result = (tool.name, names[..].first().map(String::as_str)) != ("op-replay", Some("csv"));
            assert!(!is_json || names.iter().any(|name| name == "result-json"), "{}: {names:?}", tool.name);
            assert!(!is_csv || !is_result || names.iter().any(|name| name == "result-csv"), "{}: {names:?}", tool.name);
        }
    }
}

/// Options with a file for which `-` is no stream: what is changed in its place, kept beside a run, or takes `-` by itself.
const WITHOUT_STREAM: [(&str, &str); 12] = [
    ("fill-fia-runtime-metadata", "csv-path"),
    ("generate-comm-microbench", "output-csv"),
    ("op-replay", "csv"),
    ("op-replay", "journal"),
    ("query-database", "csv"),
    ("query-database", "json"),
    ("query-database", "manifest"),
    ("run-all-op", "journal"),
    ("run-all-op", "status-file"),
    ("start-microbench", "json"),
    ("parse-kernel-details", "profiling-path"),
    ("perfdb", "file"),
];

#[test]
fn a_dash_means_something_for_every_file() {
    for tool in TOOLS {
        let command = command(tool);
        let shown =
            command.get_arguments().filter(|option| option.get_action().takes_values() && !option.is_hide_set());
        for option in shown {
            let takes_file = option.get_value_names().is_some_and(|names| {
                names
                    .iter()
                    .any(|name| ["FILE", "OUT", "TRACE", "PROFILE", "LIST.yaml", "OLD.json"].contains(&name.as_str()))
            });
            let name = option.get_long().unwrap_or(option.get_id().as_str());
            let is_known = stream_of(tool.name, option).is_some() || WITHOUT_STREAM.contains(&(tool.name, name));
            assert!(!takes_file || is_known, "{} {name}: neither a stream nor an exception", tool.name);
        }
    }
}

#[test]
fn every_help_tells_the_exit_statuses() {
    for tool in TOOLS {
        let help = command(tool).render_long_help().to_string();
        assert!(help.contains("\nExit status: 0"), "{}", tool.name);
    }
}

/// `UPDATE_REFERENCE=1 cargo test -p perfdb-tools --test all reference::` writes `docs/reference.md`, a page of the book that is not committed.
#[test]
fn the_reference_has_every_tool_and_option() -> TestResult {
    let text = reference()?;
    for tool in TOOLS {
        assert!(text.contains(&format!("### {}\n", tool.name)), "{}", tool.name);
    }
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference.md"), &text)?;
    }
    Ok(())
}

const BEGINNING: &str = "\
# All flags of all tools

Made from the command lines; `TOOL --help` has the same with examples. In every tool:

- `-h`, `--help`, `-V`, `--version`, `-v`, `--verbose` (again for more) and `-q`, `--quiet` (no warnings, no progress).
- `-` as a file that is written (**out**) is stdout, with nothing else on it, and as one that is read (**in**) stdin.
- Results have common names beside their own: `--result-json`, `--result-csv`, and `--json`, `--csv` where no original means something else.
- Options of the originals, marked °, may be abbreviated (`--tc` for `--tc-trace`) where one alone begins so; new options are written in full.
- An option that is given twice counts as it is given last, unless it says that it is repeatable.

";

fn reference() -> Result<String, std::fmt::Error> {
    let mut text = BEGINNING.to_owned();
    for job in Job::ALL {
        writeln!(text, "## {}\n", job.title())?;
        for tool in of_job(job) {
            writeln!(text, "### {}\n\n{}.\n", tool.name, capitalised(tool.summary))?;
            describe(&mut text, tool)?;
        }
    }
    Ok(text.trim_end().to_owned() + "\n")
}

fn describe(text: &mut String, tool: &Tool) -> std::fmt::Result {
    let command = command(tool);
    let originals = original_options(tool.name);
    writeln!(text, "| option | value | default | |\n|---|---|---|---|")?;
    let everywhere = ["help", "version", "verbose", "quiet"];
    for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
        // `--verbose` of validate-comm-alignment is one of its original's.
        if everywhere.contains(&option.get_id().as_str()) && !originals.contains(&option.get_id().as_str()) {
            continue;
        }
        let mark = if option.get_long().is_some_and(|name| originals.contains(&name)) { "°" } else { "" };
        let names: Vec<String> = names(option).iter().map(|name| format!("`--{name}`")).collect();
        let names = if names.is_empty() { format!("`{}`", option.get_id()) } else { names.join(", ") };
        let stream = match stream_of(tool.name, option) {
            Some(Stream::Input) => "**in** ",
            Some(Stream::Output) => "**out** ",
            None => "",
        };
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        let help = help.lines().next().unwrap_or_default();
        writeln!(
            text,
            "| {names}{mark} | {} | {} | {stream}{} |",
            cell(&value(option)),
            cell(&default(option)),
            cell(help)
        )?;
    }
    let help = command.get_after_help().or(command.get_after_long_help()).map(ToString::to_string).unwrap_or_default();
    if let Some(at) = help.find("Exit status:") {
        let statuses = help[at..].split("\n\n").next().unwrap_or_default().replace('\n', " ");
        writeln!(text, "\n{statuses}")?;
    }
    text.push('\n');
    Ok(())
}

fn value(option: &Arg) -> String {
    if !option.get_action().takes_values() {
        return String::new();
    }
    let possible: Vec<String> = option.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let names: Vec<String> = option.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    if possible.is_empty() || possible.len() > 8 || option.is_hide_possible_values_set() {
        names.join(" ")
    } else {
        possible.join(", ")
    }
}

fn default(option: &Arg) -> String {
    let values = option.get_default_values().iter().map(|value| value.to_string_lossy().into_owned());
    if option.get_action().takes_values() { values.collect::<Vec<_>>().join(" ") } else { String::new() }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().collect::<String>() + characters.as_str()).unwrap_or_default()
}

/// Text that does not end a cell or begin an element.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
