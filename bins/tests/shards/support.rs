//! What the tests have in common.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(crate) use perfdb_harness::copy_folder;
use tempfile::TempDir;

pub(crate) type TestResult = Result<(), Box<dyn std::error::Error>>;

pub(crate) fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(path)
}

/// `perfdb`, in a folder.
pub(crate) fn perfdb(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("perfdb"));
    for variable in ["PERFDB_REPLAY_BACKEND", "PERFDB_WORKER", "PERFDB_RUN_STATUS", "PERFDB_REPLAY_JOURNAL"] {
        command.env_remove(variable);
    }
    command.env("SOURCE_DATE_EPOCH", "1767225600").current_dir(folder).args(arguments);
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a run shows: exit status, stdout, and what it says besides, less the notes about shards.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    code: Option<i32>,
    stdout: String,
    stderr: Vec<String>,
}

impl Shown {
    pub(crate) fn of(output: &Output) -> Shown {
        let stderr = text(&output.stderr).lines().filter(|line| !line.contains("shard")).map(str::to_owned).collect();
        Shown { code: output.status.code(), stdout: text(&output.stdout), stderr }
    }
}

/// All files of a folder but the shards, by their paths.
pub(crate) fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, Box<dyn std::error::Error>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.extend(Some(path).filter(|path| path != &folder.join("shards")));
            } else {
                found.insert(path.strip_prefix(folder)?.to_owned(), fs::read(&path)?);
            }
        }
    }
    Ok(found)
}

/// Numbers of shards that every tool is tried with.
pub(crate) const COUNTS: [u32; 4] = [1, 2, 7, 64];

/// Does all shards of a job, as machines do: a tenth of them is killed and done again.
pub(crate) fn do_shards(folder: &Path, arguments: &[&str], of: u32) -> TestResult {
    for number in 1..=of {
        let shard = format!("{number}/{of}");
        let run = || perfdb(folder, &[arguments, &["--shard", &shard]].concat());
        if number % 10 == 5 {
            let mut killed = run().stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
            killed.kill()?;
            killed.wait()?;
        }
        let output = run().output()?;
        if !folder.join(format!("shards/shard-{number}-of-{of}/manifest.json")).is_file() {
            return Err(format!("{shard}: {:?}", Shown::of(&output)).into());
        }
    }
    Ok(())
}

/// A whole run and the merge of its shards show and write the same, however many there are.
pub(crate) fn merges_to_the_whole(prepare: impl Fn(&Path) -> TestResult, line: &str) -> TestResult {
    let arguments = &line.split(' ').collect::<Vec<_>>()[..];
    let whole = TempDir::new()?;
    prepare(whole.path())?;
    let expected = Shown::of(&perfdb(whole.path(), arguments).output()?);
    let expected_files = files(whole.path())?;
    for of in COUNTS {
        let folder = TempDir::new()?;
        prepare(folder.path())?;
        let before = files(folder.path())?;
        do_shards(folder.path(), arguments, of)?;
        assert_eq!(files(folder.path())?.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{of} shards");
        // Tables that are there are replaced for a command that somebody has typed.
        let typed = if arguments[0] == "parse-kernel-details" { [&["--"], arguments].concat() } else { Vec::new() };
        let merged = perfdb(folder.path(), &[&["merge-shards", "shards"], &typed[..]].concat()).output()?;
        assert_eq!(Shown::of(&merged), expected, "{of} shards");
        let merged_files = files(folder.path())?;
        assert_eq!(merged_files.keys().collect::<Vec<_>>(), expected_files.keys().collect::<Vec<_>>(), "{of} shards");
        for (path, content) in &expected_files {
            assert!(merged_files[path] == *content, "{of} shards: {} differs", path.display());
        }
    }
    Ok(())
}
