//! The help texts of all tools, as people read them.

use perfdb_tools::all_tools::TOOLS;
use perfdb_tools::registry::Tool;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A link to perfdb, which has everything.
fn program(tool: &Tool) -> Result<(TempDir, PathBuf), Box<dyn Error>> {
    let place = TempDir::new()?;
    let link = place.path().join(tool.name);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_perfdb"), &link)?;
    Ok((place, link))
}

fn help(program: &Path, columns: &str) -> Result<String, Box<dyn Error>> {
    let output = Command::new(program).arg("--help").env("COLUMNS", columns).output()?;
    assert!(output.status.success() && output.stderr.is_empty());
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn texts() -> Result<(), Box<dyn Error>> {
    for tool in TOOLS {
        let (_place, link) = program(tool)?;
        insta::assert_snapshot!(tool.name, help(&link, "100")?);
    }
    Ok(())
}

/// An example that is wrapped can no longer be copied into a shell.
#[test]
fn examples_fit_into_eighty_columns() -> Result<(), Box<dyn Error>> {
    for tool in TOOLS {
        let (_place, link) = program(tool)?;
        let text = help(&link, "1000")?;
        let (_, examples) = text.split_once("Examples:\n").ok_or_else(|| format!("{} has no examples", tool.name))?;
        let commands = examples.lines().take_while(|line| line.is_empty() || line.starts_with("  "));
        for line in commands {
            assert!(line.chars().count() <= 80, "{}: {line}", tool.name);
        }
    }
    Ok(())
}

/// What people use, on one screen.
#[test]
fn the_short_help_is_one_screen() -> Result<(), Box<dyn Error>> {
    for tool in TOOLS {
        let (_place, link) = program(tool)?;
        for columns in ["80", "100"] {
            let output = Command::new(&link).arg("-h").env("COLUMNS", columns).output()?;
            let text = String::from_utf8(output.stdout)?;
            assert!(output.status.success() && text.lines().count() <= 25, "{}: {text}", tool.name);
            for part in ["\nUsage: ", "\nExamples:\n", "\nOptions:\n", "\nGeneral options:\n"] {
                assert!(text.contains(part), "{}: {part:?} in {text}", tool.name);
            }
            let examples =
                text.split("\nExamples:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
            let commands = examples.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).count();
            assert_eq!(commands, 3, "{}: {text}", tool.name);
        }
    }
    Ok(())
}

/// Names of devices are listed once, by `perfdb list --devices`.
#[test]
fn devices_are_not_repeated() -> Result<(), Box<dyn Error>> {
    for tool in TOOLS {
        let (_place, link) = program(tool)?;
        assert!(!help(&link, "100")?.contains("ATLAS_800_A2_280T_32G_PCIE"), "{}", tool.name);
    }
    Ok(())
}
