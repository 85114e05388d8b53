//! Runs every case of `testdata/golden`: one test per folder, named `<tool>/<case>`.
//!
//! `case.json` says what to run and what it must write; `testdata/golden/README.md` has the keys. Cases that name
//! `data/` need a folder of that name, given by `PERFDB_GOLDEN_DATA` or lying at `../shared/data`; without it they are
//! skipped with a line that says so.

mod case;
mod comparison;

use case::{Case, Outcome};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};

fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let data = std::env::var_os("PERFDB_GOLDEN_DATA").map_or_else(|| root.join("../shared/data"), PathBuf::from);
    let data = data.canonicalize().ok();
    let folders = case_folders(&root.join("testdata/golden"));
    assert!(!folders.is_empty(), "no golden cases below testdata/golden");
    let trials = folders.into_iter().map(|folder| trial(folder, data.clone())).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(folder: PathBuf, data: Option<PathBuf>) -> Trial {
    let parts: Vec<_> = folder.iter().rev().take(2).map(|part| part.to_string_lossy().into_owned()).collect();
    let name = format!("{}/{}", parts[1], parts[0]);
    Trial::test(name.clone(), move || match Case::read(&folder).and_then(|case| case.run(data.as_deref()))? {
        Outcome::Same => Ok(()),
        Outcome::NeedsData => {
            eprintln!("skipped {name}: it needs the folder of real data (PERFDB_GOLDEN_DATA)");
            Ok(())
        }
        Outcome::Differs(differences) => Err(Failed::from(differences.join("\n"))),
    })
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
