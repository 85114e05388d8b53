//! What the tests share: a folder, the interpreter, running a tool and looking at what it left.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) type TestResult = Result<(), Box<dyn Error>>;

/// The interpreter of the tests.
pub(crate) fn python() -> String {
    std::env::var("PERFDB_PYTHON").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "/usr/bin/python3".into())
}

/// Why real collectives cannot run here, if they cannot.
pub(crate) fn torch_is_missing() -> Option<String> {
    let python = python();
    let script = "import torch.distributed as d; assert d.is_available()";
    match Command::new(&python).args(["-c", script]).output() {
        Ok(output) if output.status.success() => None,
        Ok(_) => Some(format!("{python} cannot import torch.distributed")),
        Err(error) => Some(format!("{python}: {error}")),
    }
}

/// A folder for one test.
pub(crate) struct Case {
    folder: tempfile::TempDir,
}

impl Case {
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        Ok(Self { folder: tempfile::tempdir()? })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command of one of the tools, in the folder, without the variables of another run.
    pub(crate) fn tool(&self, name: &str) -> Command {
        let program = match name {
            "generate-comm-microbench" => env!("CARGO_BIN_EXE_generate-comm-microbench"),
            "run-comm-bench" => env!("CARGO_BIN_EXE_run-comm-bench"),
            _ => env!("CARGO_BIN_EXE_validate-comm-alignment"),
        };
        self.command(program)
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env("PERFDB_PYTHON", python());
        for name in ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "NNODES", "NODE_RANK", "NPROC", "QUICK"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn read(&self, name: &str) -> Result<String, Box<dyn Error>> {
        std::fs::read_to_string(self.path(name)).map_err(|error| format!("{name}: {error}").into())
    }

    /// The rows of a table, header left out.
    pub(crate) fn rows(&self, table: &Path) -> Result<Vec<Vec<String>>, Box<dyn Error>> {
        let text = self.read(&table.to_string_lossy())?;
        let header = "message_bytes,num_devices,dtype,topology_tier,Duration(us),bandwidth_gbps\r\n";
        let rows = text.strip_prefix(header).ok_or("another header")?;
        Ok(rows.lines().map(|row| row.split(',').map(str::to_owned).collect()).collect())
    }

    /// Processes that work in this folder's results.
    pub(crate) fn workers(&self) -> Result<Vec<String>, Box<dyn Error>> {
        let folder = self.folder.path().to_string_lossy().into_owned();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc")?.flatten() {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            if command.contains(&folder) && command.contains("worker.py") {
                found.push(command);
            }
        }
        Ok(found)
    }
}

/// Fails with everything a tool said unless it ended with this status.
pub(crate) fn expect_status(output: &Output, status: i32) -> TestResult {
    if output.status.code() == Some(status) {
        return Ok(());
    }
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(format!("{}, expected {status}\n{stdout}\n{stderr}", output.status).into())
}

/// Fails unless the text contains all parts.
pub(crate) fn expect_parts(text: &[u8], parts: &[&str]) -> TestResult {
    let text = String::from_utf8_lossy(text);
    match parts.iter().find(|part| !text.contains(**part)) {
        None => Ok(()),
        Some(part) => Err(format!("no {part:?} in:\n{text}").into()),
    }
}
