//! Runs every case of `testdata/golden`: one test per folder, named `<tool>/<case>`.
//!
//! `case.json` says what to run and what it must write; `testdata/golden/README.md` has the keys. Cases that name
//! `data/` need a folder of that name, given by `PERFDB_GOLDEN_DATA` or lying at `../shared/data`; without it they are
//! ignored, and a line says how many.

mod case;
mod comparison;
mod strict;

use case::Case;
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};

fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let data = std::env::var_os("PERFDB_GOLDEN_DATA").map_or_else(|| root.join("../shared/data"), PathBuf::from);
    let data = data.canonicalize().ok();
    let folders = case_folders(&root.join("testdata/golden"));
    assert!(!folders.is_empty(), "no golden cases below testdata/golden");
    let trials: Vec<Trial> = folders.into_iter().map(|folder| trial(folder, data.clone())).collect();
    let ignored = trials.iter().filter(|trial| trial.has_ignored_flag()).count();
    if ignored > 0 && !arguments.list {
        eprintln!("{ignored} cases are ignored: they need the folder of real data (PERFDB_GOLDEN_DATA)");
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(folder: PathBuf, data: Option<PathBuf>) -> Trial {
    let parts: Vec<_> = folder.iter().rev().take(2).map(|part| part.to_string_lossy().into_owned()).collect();
    let name = format!("{}/{}", parts[1], parts[0]);
    let case = Case::read(&folder);
    let ignored = data.is_none() && case.as_ref().is_ok_and(Case::needs_data);
    // Errors cannot go from thread to thread; their text can.
    let case = case.map_err(|error| error.to_string());
    let of = name.clone();
    let run = move || {
        let differences = case?.run(&of, data.as_deref()).map_err(|error| error.to_string())?;
        if differences.is_empty() { Ok(()) } else { Err(Failed::from(differences.join("\n"))) }
    };
    Trial::test(name, run).with_ignored_flag(ignored)
}

fn case_folders(cases: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = entries(cases)
        .flat_map(|tool| entries(&tool).collect::<Vec<_>>())
        .filter(|folder| folder.join("case.json").is_file())
        .collect();
    folders.sort();
    folders
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
