//! All tools in one program.

use assert_cmd::Command;
use perfdb_tools::all_tools::TOOLS;
use std::error::Error;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

#[path = "perfdb/mcp.rs"]
mod mcp;

type Outcome = Result<(), Box<dyn Error>>;

const PERFDB: &str = env!("CARGO_BIN_EXE_perfdb");

fn perfdb() -> Command {
    let mut command = Command::new(PERFDB);
    command.env("COLUMNS", "100");
    command
}

fn stdout(mut command: Command) -> Result<String, Box<dyn Error>> {
    let output = command.output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    Ok(String::from_utf8(output.stdout)?)
}

fn stderr(mut command: Command, code: i32) -> Result<String, Box<dyn Error>> {
    let output = command.output()?;
    assert_eq!(output.status.code(), Some(code));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    Ok(String::from_utf8(output.stderr)?)
}

fn of(arguments: &[&str]) -> Command {
    let mut command = perfdb();
    command.args(arguments);
    command
}

fn at(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env("COLUMNS", "100");
    command
}

#[test]
fn the_list_of_commands_and_of_tools() -> Outcome {
    for (name, arguments) in [("list", &["list"][..]), ("list_all", &["list", "--all"])] {
        let list = stdout(of(arguments))?;
        assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
        insta::assert_snapshot!(name, list);
    }
    let all = stdout(of(&["list", "--all"]))?;
    for tool in TOOLS {
        assert_eq!(
            all.matches(&format!("  {} ", tool.name)).count() + all.matches(&format!("  {}\n", tool.name)).count(),
            1
        );
    }
    assert!(stdout(of(&["list", "--devices"]))?.contains("ATLAS_800_A3_752T_128G_DIE\n"));
    Ok(())
}

#[test]
fn perfdb_alone_is_one_short_screen() -> Outcome {
    let text = stderr(of(&[]), 2)?;
    assert!(text.lines().count() <= 25, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("  perfdb ")).count(), 3);
    insta::assert_snapshot!("alone", text);
    Ok(())
}

#[test]
fn every_command_of_a_group_is_its_tool() -> Outcome {
    for (door, command, tool) in perfdb_tools::doors::commands() {
        let words = door.words(command);
        let mut line: Vec<&str> = words.split(' ').collect();
        line.push("--help");
        let help = stdout(of(&line))?;
        assert!(help.contains(&format!("Usage: perfdb {words} ")), "{words}: {help}");
        assert!(help.matches(&format!(" perfdb {words} ")).count() > 1, "{words}: {help}");
        let mut asked = vec!["help"];
        asked.extend(words.split(' '));
        assert_eq!(stdout(of(&asked))?, help);
        let version = [&line[..line.len() - 1], &["--version"]].concat();
        assert_eq!(stdout(of(&version))?, stdout(of(&[tool.name, "--version"]))?, "{words}");
    }
    Ok(())
}

#[test]
fn a_group_lists_its_commands() -> Outcome {
    let help = stdout(of(&["db", "--help"]))?;
    assert!(help.starts_with("perfdb db: ") && help.contains("\n  query "), "{help}");
    assert_eq!(stderr(of(&["db"]), 2)?, help);
    assert_eq!(stdout(of(&["help", "db"]))?, help);
    Ok(())
}

#[test]
fn help_of_perfdb_itself() -> Outcome {
    let help = stdout(of(&["--help"]))?;
    insta::assert_snapshot!("help", help);
    assert_eq!(stdout(of(&["help"]))?, help);
    insta::assert_snapshot!("help_install_links", stdout(of(&["help", "install-links"]))?);
    // A command line without a command gets the short help, and a script notices it.
    assert_eq!(stderr(of(&[]), 2)?, stdout(of(&["-h"]))?);
    Ok(())
}

#[test]
fn every_tool_is_reached_by_name_and_by_link_and_helps_alike() -> Outcome {
    let place = tempfile::tempdir()?;
    for tool in TOOLS {
        let by_name = stdout(of(&[tool.name, "--help"]))?;
        assert_eq!(by_name, stdout(of(&["help", tool.name]))?);
        let link = place.path().join(tool.name);
        symlink(PERFDB, &link)?;
        let by_link = stdout(at(&link, &["--help"]))?;
        let own = Path::new(PERFDB).with_file_name(tool.name);
        let of_own = stdout(at(&own, &["--help"]))?;
        // Tables as Parquet are of perfdb alone, and a program of its own does not list what it lacks.
        let paragraphs = |help: &str| -> Vec<String> {
            let is_listed = |text: &&str| tool.name == "export-database" || !text.contains("      --parquet ");
            help.split("\n\n").filter(is_listed).map(str::to_owned).collect()
        };
        assert_eq!(paragraphs(&of_own).join("\n\n"), of_own, "{}", tool.name);
        assert_eq!(paragraphs(&by_link), paragraphs(&of_own), "{}", tool.name);
        let called = format!("Usage: perfdb {} ", tool.name);
        let renamed = |line: &str| match line.trim_start().strip_prefix(&format!("{} ", tool.name)) {
            Some(rest) if line.starts_with(' ') => {
                format!("{}perfdb {} {rest}", " ".repeat(line.len() - line.trim_start().len()), tool.name)
            }
            _ => line.to_owned(),
        };
        let expected = by_link.replacen(&format!("Usage: {} ", tool.name), &called, 1);
        let expected: Vec<String> = expected.lines().map(renamed).collect();
        assert_eq!(by_name.lines().collect::<Vec<_>>(), expected, "{}", tool.name);
        assert_eq!(stdout(of(&[tool.name, "--version"]))?, stdout(at(&own, &["--version"]))?);
    }
    Ok(())
}

#[test]
fn a_tool_ends_as_it_does_alone() -> Outcome {
    for arguments in [&["compute-m6", "--tc-trace", "none.json", "--prof-trace", "none.csv"][..], &["trace-to-csv"]] {
        let alone = at(&Path::new(PERFDB).with_file_name(arguments[0]), &arguments[1..]).output()?;
        let output = of(arguments).output()?;
        assert_eq!(output.status, alone.status);
        let text = String::from_utf8(output.stderr)?;
        assert_eq!(text.replace("perfdb ", ""), String::from_utf8(alone.stderr)?);
    }
    Ok(())
}

#[test]
fn a_link_named_after_an_operator_is_op_replay() -> Outcome {
    let place = tempfile::tempdir()?;
    let link = place.path().join("NoSuchOperator_run.py");
    symlink(PERFDB, &link)?;
    let text = stderr(at(&link, &["--plan"]), 2)?;
    assert!(text.contains("unknown operator \"NoSuchOperator\""), "{text}");
    Ok(())
}

#[test]
fn a_mistyped_name_is_answered_with_the_nearest() -> Outcome {
    let error =
        |arguments: &[&str]| stderr(of(arguments), 2).map(|text| text.lines().next().unwrap_or_default().to_owned());
    assert_eq!(error(&["compute-m5", "x"])?, "error: no tool or command 'compute-m5'; did you mean compute-m6?");
    assert_eq!(error(&["lst"])?, "error: no tool or command 'lst'; did you mean list?");
    assert_eq!(error(&["help", "op_replay"])?, "error: no tool or command 'op_replay'; did you mean op-replay?");
    assert_eq!(error(&["42"])?, "error: no tool or command '42'; `perfdb list` shows the commands");
    assert_eq!(
        error(&["compare", "a", "b"])?,
        "error: no tool or command 'compare'; did you mean `perfdb trace diff a b` or `perfdb pass explain a b`?"
    );
    assert_eq!(
        error(&["db", "qury", "x"])?,
        "error: perfdb db has no command 'qury'; did you mean `perfdb db query x`?"
    );
    assert!(
        error(&["pass", "zzzzzz"])?.starts_with("error: perfdb pass has no command 'zzzzzz'; it has cut, explain, ")
    );
    Ok(())
}

#[test]
fn the_version_is_the_packages() -> Outcome {
    let version = stdout(of(&["--version"]))?;
    assert!(version.starts_with(concat!("perfdb ", env!("CARGO_PKG_VERSION"))), "{version}");
    Ok(())
}

#[test]
fn links_are_made_once_for_all() -> Outcome {
    let place = tempfile::tempdir()?;
    let directory = place.path().to_str().ok_or("a temporary folder that is no UTF-8")?;
    let printed = stdout(of(&["install-links", directory]))?;
    assert_eq!(printed, format!("{directory}: {} links made, 0 replaced, 0 there already\n", TOOLS.len()));
    assert!(stdout(at(&place.path().join("trace-to-csv"), &["--version"]))?.starts_with("trace-to-csv "));
    fs::remove_file(place.path().join("compute-m6"))?;
    fs::write(place.path().join("compute-m6"), "mine")?;
    let printed = stderr(of(&["install-links", directory]), 1)?;
    assert_eq!(printed, format!("error: {directory}/compute-m6: is not a link to perfdb; no link was made\n"));
    Ok(())
}

#[test]
fn manual_pages_are_the_same_every_time_and_keep_the_examples() -> Outcome {
    let place = tempfile::tempdir()?;
    let written = |name: &str| -> Result<Vec<(String, String)>, Box<dyn Error>> {
        let directory = place.path().join(name);
        stdout(of(&["man", &directory.to_string_lossy()]))?;
        let mut pages = Vec::new();
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            pages.push((name, fs::read_to_string(path)?));
        }
        pages.sort();
        Ok(pages)
    };
    let pages = written("first")?;
    assert_eq!(pages, written("second")?);
    assert_eq!(pages.len(), TOOLS.len() + 1);
    for (name, page) in &pages {
        let title = name.trim_end_matches(".1");
        assert!(page.contains(&format!(".TH {title} 1")), "{name}: {}", &page[..200]);
    }
    let (_, page) = pages.iter().find(|(name, _)| name == "compute-m6.1").ok_or("no page of compute-m6")?;
    assert!(page.contains("\n  compute\\-m6 trace.json forward_pass.csv\n"), "{page}");
    Ok(())
}

/// What bash offers for a command line that ends in the word to be completed.
fn offered_by_bash(line: &[&str]) -> Result<Vec<String>, Box<dyn Error>> {
    let script = stdout(of(&["completions", "bash"]))?;
    let words: Vec<String> = line.iter().map(|word| format!("'{word}'")).collect();
    let end = format!(
        "\nCOMP_WORDS=({}); COMP_CWORD={}; f=$(complete -p {} | sed 's/.*-F \\([^ ]*\\).*/\\1/')\n\
         \"$f\" {} '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        words.join(" "),
        line.len() - 1,
        line[0],
        line[0],
        line[line.len() - 1],
        line[line.len() - 2],
    );
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile"]).write_stdin(script + &end);
    Ok(stdout(bash)?.lines().map(str::to_owned).collect())
}

#[test]
fn bash_completes_tools_and_their_options_also_by_link() -> Outcome {
    assert_eq!(offered_by_bash(&["perfdb", "compu"])?, ["compute-m6"]);
    assert_eq!(offered_by_bash(&["perfdb", "compute-m6", "--tc"])?, ["--tc-trace"]);
    assert_eq!(offered_by_bash(&["compute-m6", "--fail"])?, ["--fail-outside", "--fail-regression"]);
    assert_eq!(offered_by_bash(&["compute-m6", "--semantics", "c"])?, ["corrected"]);
    Ok(())
}

#[test]
fn zsh_and_fish_know_every_tool() -> Outcome {
    let zsh = stdout(of(&["completions", "zsh"]))?;
    let names = zsh.lines().next().ok_or("nothing")?.strip_prefix("#compdef ").ok_or("no #compdef")?;
    let expected: Vec<&str> = std::iter::once("perfdb").chain(TOOLS.iter().map(|tool| tool.name)).collect();
    assert_eq!(names.split(' ').collect::<Vec<_>>(), expected);
    assert_eq!(zsh.matches("#compdef").count(), 1);
    assert_eq!(zsh.matches("funcstack").count(), 1);
    let fish = stdout(of(&["completions", "fish"]))?;
    for name in expected {
        assert!(zsh.contains(&format!("\n_{name}() {{")), "zsh: {name}");
        assert!(fish.contains(&format!("\ncomplete -c {name} -")), "fish: {name}");
    }
    Ok(())
}
