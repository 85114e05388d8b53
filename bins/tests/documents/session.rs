//! A shell in a copy of the shipped inputs.

use crate::shown;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// `cargo run … --bin NAME -- ARGUMENTS` without building, since the program is there.
const CARGO: &str = r#"#!/bin/sh
while [ "$1" != -- ]; do
    [ "$1" = --bin ] && name=$2
    shift || exit 101
done
shift
exec "$name" "$@"
"#;

/// Where the commands of one document run. Folder and exit status go from one to the next.
pub(crate) struct Session {
    clone: TempDir,
    /// Home and programs, which are no part of the clone.
    outside: TempDir,
    programs: PathBuf,
    at: PathBuf,
    status: i32,
    printed: Vec<String>,
}

impl Session {
    /// Copies `testdata` (of the golden cases only the archive that a guide unpacks).
    pub(crate) fn start(root: &Path) -> io::Result<Session> {
        let clone = TempDir::new()?;
        copy(&root.join("testdata"), &clone.path().join("testdata"), &|path| !path.ends_with("golden"))?;
        let archive = "testdata/golden/generate-shape-grid/bench-db.tar.gz";
        std::fs::create_dir_all(clone.path().join(archive).parent().unwrap_or(clone.path()))?;
        std::fs::copy(root.join(archive), clone.path().join(archive))?;
        let outside = TempDir::new()?;
        let programs = outside.path().join("programs");
        std::fs::create_dir(&programs)?;
        let perfdb = Path::new(env!("CARGO_BIN_EXE_perfdb"));
        symlink(perfdb, programs.join("perfdb"))?;
        for tool in perfdb_tools::all_tools::TOOLS {
            symlink(perfdb, programs.join(tool.name))?;
        }
        std::fs::write(programs.join("cargo"), CARGO)?;
        std::fs::set_permissions(programs.join("cargo"), std::fs::Permissions::from_mode(0o755))?;
        let at = clone.path().to_owned();
        Ok(Session { clone, outside, programs, at, status: 0, printed: Vec::new() })
    }

    /// A new terminal at the root of the same clone.
    pub(crate) fn begin_anew(&mut self) {
        (self.at, self.status) = (self.clone.path().to_owned(), 0);
        self.printed.clear();
    }

    /// The files of the clone with their bytes, and its folders. What is built, in `target`, is not looked at.
    pub(crate) fn tree(&self) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
        let mut tree = BTreeMap::new();
        add_to_tree(self.clone.path(), self.clone.path(), &mut tree)?;
        Ok(tree)
    }

    /// The folder that the commands are in.
    pub(crate) fn folder(&self) -> &Path {
        &self.at
    }

    /// Runs a block of commands, all of which must succeed.
    pub(crate) fn run_whole(&mut self, script: &str) -> Result<(), String> {
        let printed = self.shell(&format!("set -e\n{script}"))?;
        match self.status {
            0 => Ok(()),
            status => Err(format!("exit status {status}\n{script}{printed}")),
        }
    }

    /// Runs a command and compares what it prints, unless nothing is shown.
    pub(crate) fn run(&mut self, command: &str, expected: &[String]) -> Result<(), String> {
        let printed = self.shell(command)?;
        let lines: Vec<&str> = printed.lines().collect();
        if expected.is_empty() {
            return if self.status == 0 { Ok(()) } else { Err(format!("exit status {}\n{printed}", self.status)) };
        }
        if shown::matches(expected, &lines) { Ok(()) } else { Err(format!("prints\n{printed}")) }
    }

    /// Whether some command has printed these lines one below the other.
    pub(crate) fn has_printed(&self, text: &str) -> bool {
        let expected: Vec<String> = text.lines().map(str::to_owned).collect();
        self.printed.iter().any(|printed| shown::is_within(&expected, &printed.lines().collect::<Vec<_>>()))
    }

    /// What a command prints on both streams.
    fn shell(&mut self, script: &str) -> Result<String, String> {
        let failed = |error: io::Error| format!("bash: {error}");
        let whereabouts = self.programs.join("cwd");
        let text = format!("cd \"$1\"; (exit {}); {script}\nstatus=$?; pwd > \"$2\"; exit $status", self.status);
        let path = std::env::var("PATH").unwrap_or_default();
        let output = tempfile::tempfile().map_err(failed)?;
        // Both streams go to one file, in the order in which they are written.
        let status = Command::new("bash")
            .args(["-c", "exec bash -c \"$0\" bash \"$@\" 2>&1", &text])
            .args([&self.at, &whereabouts])
            .env("PATH", format!("{}:{path}", self.programs.display()))
            .env("HOME", self.outside.path())
            .env("SOURCE_DATE_EPOCH", "1767225600")
            .env_remove("PERFDB_DATA_DIR")
            .stdin(std::process::Stdio::null())
            .stdout(output.try_clone().map_err(failed)?)
            .status()
            .map_err(failed)?;
        self.status = status.code().unwrap_or(-1);
        if let Ok(at) = std::fs::read_to_string(&whereabouts) {
            self.at = PathBuf::from(at.trim_end());
        }
        let printed = read_back(output).map_err(failed)?;
        self.printed.push(printed.clone());
        Ok(printed)
    }
}

fn read_back(mut file: std::fs::File) -> io::Result<String> {
    use std::io::{Read, Seek};
    file.flush()?;
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn add_to_tree(root: &Path, folder: &Path, tree: &mut BTreeMap<PathBuf, Vec<u8>>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
        if path.is_dir() && !path.is_symlink() {
            if name != Path::new("target") {
                add_to_tree(root, &path, tree)?;
                tree.insert(name, Vec::new());
            }
        } else {
            tree.insert(name, std::fs::read(&path).unwrap_or_default());
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, takes: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let (source, target) = {
            let entry = entry?;
            (entry.path(), to.join(entry.file_name()))
        };
        if source.is_dir() {
            if takes(&source) {
                copy(&source, &target, takes)?;
            }
        } else {
            std::fs::copy(&source, &target)?;
        }
    }
    Ok(())
}
