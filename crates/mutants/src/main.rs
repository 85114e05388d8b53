//! Mutation testing of a package with one build: all mutants of `cargo mutants` are compiled into its tests at once, and an environment
//! variable tells which one is active. Those that cannot stand side by side with others (constants, values of other types) are left to
//! `cargo mutants` itself, which builds for each.

mod build;
mod mutant;
mod schema;
mod sites;
mod tree;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Parser;

use crate::mutant::Mutant;
use crate::tree::Tree;

#[derive(Parser)]
struct Arguments {
    /// The package whose tests should notice the mutants.
    #[arg(long)]
    package: String,
    /// What `cargo mutants --list --json` prints.
    #[arg(long)]
    mutants: PathBuf,
    /// The names of the mutants to try, one a line.
    #[arg(long)]
    names: PathBuf,
    /// Where noticed.txt, missed.txt and unviable.txt are written.
    #[arg(long)]
    output: PathBuf,
    /// Leave out the mutants that need a build of their own.
    #[arg(long)]
    together: bool,
    /// Leave out this test: it is slow, and tells nothing about the module.
    #[arg(long, value_name = "TEST")]
    skip: Vec<String>,
    /// Cargo's folder for what is built.
    #[arg(long, default_value = "target")]
    target: PathBuf,
}

/// What has become of the mutants, by name.
#[derive(Default)]
struct Found {
    noticed: Vec<String>,
    missed: Vec<String>,
    unviable: Vec<String>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let all: Vec<Mutant> = serde_json::from_slice(&fs::read(&arguments.mutants)?)?;
    let names = fs::read_to_string(&arguments.names)?;
    let named = |name: &str| all.iter().find(|mutant| mutant.name == name).with_context(|| format!("no mutant {name}"));
    let drawn: Vec<Mutant> = names.lines().map(|name| named(name).cloned()).collect::<Result<_>>()?;
    let numbered: Vec<(usize, Mutant)> = (1..).zip(drawn).collect();

    let target = fs::canonicalize(&arguments.target)?;
    let tree = Tree::copy(&std::env::current_dir()?, &target.join("mutants/tree"))?;
    let package = build::Package { tree: &tree, name: &arguments.package, target: target.clone() };
    let built = package.build(&numbered)?;
    let folder = numbered[0].1.file.split("/src/").next().unwrap_or_default();
    let trial = trial::Trial::of(&tree.top.join(folder), &built.programs, &arguments.skip)?;
    let mut found = Found::default();
    for (number, mutant) in numbered.iter().filter(|(number, _)| !built.left_out.contains(number)) {
        let tests = trial.tests_of(built.sites.get(number).copied().unwrap_or_default());
        let noticed = trial.notices(*number, &tests)?;
        println!("{} by {} tests: {}", if noticed { "noticed" } else { "MISSED " }, tests.len(), mutant.name);
        if noticed { &mut found.noticed } else { &mut found.missed }.push(mutant.name.clone());
    }
    tree.restore()?;
    let alone: Vec<&str> = built.left_out.iter().map(|number| numbered[number - 1].1.name.as_str()).collect();
    if !arguments.together {
        one_by_one(&tree, &arguments.package, &alone, &target, &arguments.output, &mut found)?;
    }
    for (name, mutants) in [("noticed", &found.noticed), ("missed", &found.missed), ("unviable", &found.unviable)] {
        let lines: String = mutants.iter().map(|mutant| format!("{mutant}\n")).collect();
        fs::write(arguments.output.join(format!("{name}.txt")), lines)?;
    }
    Ok(())
}

/// Lets `cargo mutants` try these, each with a build of its own.
fn one_by_one(
    tree: &Tree,
    package: &str,
    names: &[&str],
    target: &Path,
    output: &Path,
    found: &mut Found,
) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    // Not every punctuation character: `\<` is the beginning of a word.
    let is_special = |c: char| r"[](){}.*+?^$|\".contains(c);
    let escaped = |name: &&str| {
        name.chars().flat_map(|c| is_special(c).then_some('\\').into_iter().chain([c])).collect::<String>()
    };
    let patterns: Vec<String> = names.iter().map(escaped).collect();
    let output = fs::canonicalize(output)?;
    let status = Command::new("cargo")
        .args([
            "mutants",
            "--in-place",
            "--baseline",
            "skip",
            "--timeout",
            "120",
            "--colors",
            "never",
            "--package",
            package,
            "--no-shuffle",
        ])
        .args(["--re", &format!("^({})$", patterns.join("|"))])
        .arg("--output")
        .arg(&output)
        .args(["--", "--tests"])
        .current_dir(&tree.top)
        .env("CARGO_TARGET_DIR", target)
        .status()?;
    // 2: some were missed; 3: some ran out of time, which is noticing them.
    ensure!(matches!(status.code(), Some(0 | 2 | 3)), "cargo mutants: {status}");
    let lines = |name: &str| -> Result<Vec<String>> {
        let text = fs::read_to_string(output.join("mutants.out").join(format!("{name}.txt")))?;
        // Fields of structs pass its filter whatever they are called.
        Ok(text.lines().filter(|line| names.contains(line)).map(str::to_owned).collect())
    };
    found.noticed.extend(lines("caught")?.into_iter().chain(lines("timeout")?));
    found.missed.extend(lines("missed")?);
    found.unviable.extend(lines("unviable")?);
    Ok(())
}
