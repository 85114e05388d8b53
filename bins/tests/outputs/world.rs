//! A folder with something to read for every tool.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

pub(crate) type TestResult = Result<(), Box<dyn Error>>;
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The folder.
pub(crate) struct World(TempDir);

impl World {
    pub(crate) fn new() -> Result<World, Box<dyn Error>> {
        let world = World(TempDir::new()?);
        let inputs = perfdb_harness::reliability::world::inputs().map_err(|error| error.to_string())?;
        perfdb_harness::reliability::files::write(&inputs, world.0.path()).map_err(|error| error.to_string())?;
        Ok(world)
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command line: the tool and its arguments, split at blanks.
    pub(crate) fn run(&self, line: &str) -> Result<Output, Box<dyn Error>> {
        let mut words = line.split(' ');
        let tool = words.next().ok_or("a tool")?;
        let mut command = Command::new(assert_cmd::cargo::cargo_bin(tool));
        command.args(words).current_dir(self.0.path()).env("SOURCE_DATE_EPOCH", "1767225600");
        Ok(command.output()?)
    }

    /// All files, by their paths.
    pub(crate) fn files(&self) -> Result<Files, Box<dyn Error>> {
        let mut files = Files::new();
        let mut folders = vec![self.0.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(path.strip_prefix(self.0.path())?.to_owned(), fs::read(&path)?);
                }
            }
        }
        Ok(files)
    }
}
