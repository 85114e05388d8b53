//! One run of a tool, under limits.

use crate::reliability::Error;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long a run may take, and how much memory of its own it may have.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Then it hangs.
    pub time: Duration,
    /// Private memory, as the system counts data (`ulimit -d`).
    pub memory_mib: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { time: Duration::from_secs(10), memory_mib: 512 }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ended {
    /// With this exit status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// It was ended because it took longer than it may.
    Hung,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ended::Exit(status) => write!(formatter, "exit {status}"),
            Ended::Signal(signal) => write!(formatter, "signal {signal}"),
            Ended::Hung => formatter.write_str("hung"),
        }
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it said.
    pub stderr: String,
}

/// A command line: the tool, its arguments, its environment.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// The tool and its arguments.
    pub words: Vec<String>,
    /// Variables besides those of this process.
    pub variables: Vec<(String, String)>,
    /// What is its standard input, within the folder.
    pub stdin: Option<String>,
}

impl Line {
    /// From a line of words with blanks between them.
    pub fn of(line: &str) -> Line {
        Line { words: line.split(' ').map(str::to_owned).collect(), ..Line::default() }
    }

    pub fn tool(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }
}

/// Variables that would change what a tool does.
const VARIABLES: [&str; 5] =
    ["PERFDB_DATA_DIR", "PERFDB_REPLAY_BACKEND", "PERFDB_WORKER", "PERFDB_RUN_STATUS", "PERFDB_REPLAY_JOURNAL"];

/// The built `perfdb`.
#[derive(Debug, Clone)]
pub struct Program(PathBuf);

impl Program {
    /// This file, else `perfdb` beside the running program.
    pub fn find(given: Option<&Path>) -> Result<Program, Error> {
        let path = match given {
            Some(path) => path.to_owned(),
            None => std::env::current_exe()?.with_file_name("perfdb"),
        };
        match path.canonicalize() {
            Ok(path) => Ok(Program(path)),
            Err(error) => {
                let path = path.display();
                Err(format!("{path}: {error}; cargo build --bin perfdb makes it, --program names another").into())
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The command of a line in a folder, behind the words of `front` (a tracer).
    pub fn command(&self, line: &Line, folder: &Path, front: &[OsString]) -> Command {
        let mut words = front.iter().cloned().chain([self.0.clone().into_os_string()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).args(&line.words).current_dir(folder).env("SOURCE_DATE_EPOCH", "1767225600");
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        command.envs(line.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a line in a folder, as long and with as much memory as it may take.
    pub fn run(&self, line: &Line, folder: &Path, limits: Limits) -> Result<Outcome, Error> {
        let script = format!("ulimit -c 0 && ulimit -d {} && exec \"$0\" \"$@\"", u64::from(limits.memory_mib) * 1024);
        let mut command = self.command(line, folder, &["sh".into(), "-c".into(), script.into()]);
        command.stdin(match &line.stdin {
            Some(name) => Stdio::from(File::open(folder.join(name))?),
            None => Stdio::null(),
        });
        run_within(command, limits.time, Signal::SIGKILL)
    }
}

/// Runs a command to its end, or sends it and all that it started a signal when the time is over, and ends it where that is of no avail.
pub fn run_within(mut command: Command, time: Duration, signal: Signal) -> Result<Outcome, Error> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn()?;
    let group = Pid::from_raw(i32::try_from(child.id())?);
    let (sender, receiver) = mpsc::channel();
    let waiter = std::thread::spawn(move || sender.send(child.wait_with_output()));
    let mut is_over = false;
    let mut received = receiver.recv_timeout(time);
    if received.is_err() && signal != Signal::SIGKILL {
        // It may have ended in between; so below.
        let _ = killpg(group, signal);
        received = receiver.recv_timeout(Limits::default().time);
    }
    let output: Output = match received {
        Ok(output) => output?,
        Err(_) => {
            is_over = true;
            let _ = killpg(group, Signal::SIGKILL);
            receiver.recv()??
        }
    };
    let _ = waiter.join();
    let ended = match (output.status.code(), output.status.signal()) {
        (_, Some(_)) if is_over => Ended::Hung,
        (Some(status), _) => Ended::Exit(status),
        (None, signal) => Ended::Signal(signal.unwrap_or_default()),
    };
    Ok(Outcome { ended, stdout: output.stdout, stderr: String::from_utf8_lossy(&output.stderr).into_owned() })
}
