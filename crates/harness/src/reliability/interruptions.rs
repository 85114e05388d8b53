//! Writers are ended, or refused by the system, somewhere in the middle. In every case: each file is old or new, an error leaves all of them old,
//! and the same command again completes the work and removes what was left.
//!
//! Faults are put into system calls by strace, from outside, so that every call is met that changes a file, whoever makes it; `bins/tests/crash.rs`
//! goes through the calls that perfdb makes itself one by one.

use crate::reliability::Error;
use crate::reliability::draws::Draws;
use crate::reliability::files::{self, Entry, Files};
use crate::reliability::findings::Tally;
use crate::reliability::program::{Ended, Limits, Line, Outcome, Program, run_within};
use crate::reliability::world::{self, WRITERS};
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Calls that change files, lock them, or start threads; a question mark where not every machine has the call.
const CALLS: &str = "write,pwrite64,writev,openat,?rename,?renameat,renameat2,fsync,fdatasync,?link,linkat,?unlink,unlinkat,?mkdir,mkdirat,ftruncate,flock,clone3";

/// Whether strace is there and may trace.
pub fn has_strace() -> bool {
    let mut command = Command::new("strace");
    let traced = command.args(["-qq", "-e", "trace=none", "true"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    traced.is_ok_and(|status| status.success())
}

/// What meets a run.
#[derive(Debug, Clone)]
enum Fault {
    /// The n-th such call of a thread fails, or that and all later ones.
    Error { call: String, errno: &'static str, at: usize, lasts: bool },
    /// A signal at the n-th such call of a thread.
    SignalAt { call: String, signal: Signal, at: usize },
    /// A signal after some time.
    SignalAfter { signal: Signal, after: Duration },
}

impl std::fmt::Display for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Error { call, errno, at, lasts } => {
                write!(formatter, "{errno} at {call} {at}{}", if *lasts { " and from then on" } else { "" })
            }
            Fault::SignalAt { call, signal, at } => write!(formatter, "{signal} at {call} {at}"),
            Fault::SignalAfter { signal, after } => write!(formatter, "{signal} after {} us", after.as_micros()),
        }
    }
}

impl Fault {
    /// Whether the run could no longer say what went wrong.
    fn silences(&self) -> bool {
        matches!(self, Fault::Error { call, lasts: true, .. } if call == "write")
    }

    /// Whether temporaries may be left: of a run that had no time to remove them, or was not let.
    fn may_leave(&self) -> bool {
        match self {
            Fault::Error { call, .. } => call.starts_with("unlink"),
            Fault::SignalAt { signal, .. } | Fault::SignalAfter { signal, .. } => *signal == Signal::SIGKILL,
        }
    }
}

/// A command line that writes, and what it does when nothing meets it.
#[derive(Debug)]
struct Writer {
    line: Line,
    ended: Ended,
    old: Files,
    /// What it leaves.
    new: Files,
    /// What it leaves when it runs once more.
    newer: Files,
    /// Files that differ from run to run: times of measurements.
    volatile: Vec<PathBuf>,
    calls: BTreeMap<String, usize>,
    took: Duration,
}

/// Everything that runs need.
#[derive(Debug)]
pub struct Interruptions {
    program: Program,
    writers: Vec<Writer>,
}

impl Interruptions {
    /// Looks at what every writer does without faults; needs strace.
    pub fn new(program: Program) -> Result<Interruptions, Error> {
        if !has_strace() {
            return Err("strace is not there, or may not trace here".into());
        }
        let writers =
            WRITERS.iter().map(|(line, outputs)| Writer::learn(&program, line, outputs)).collect::<Result<_, _>>()?;
        Ok(Interruptions { program, writers })
    }

    /// Makes the run of this number: what is found goes to the tally.
    pub fn run(&self, seed: u64, number: u64, tally: &Tally) -> Result<(), Error> {
        let mut draws = Draws::of(seed, number);
        let writer = draws.one_of(&self.writers);
        let fault = writer.draw(&mut draws)?;
        let folder = TempDir::new()?;
        let log = TempDir::new()?;
        let log = log.path().join("strace");
        let temporary = TempDir::new()?;
        let line = Line {
            variables: vec![("TMPDIR".to_owned(), temporary.path().display().to_string())],
            ..writer.line.clone()
        };
        files::write(&writer.old, folder.path())?;
        let outcome = meet(&self.program, &line, folder.path(), &fault, &log)?;
        let found = files::read(folder.path())?;
        let temporaries = files::read(temporary.path())?;
        let again = self.program.run(&line, folder.path(), Limits::default())?;
        let end = files::read(folder.path())?;
        tally.count(match (&fault, has_met(&fault, &outcome, &log)) {
            (_, false) => "no fault met",
            (Fault::Error { .. }, true) => "failing calls",
            (Fault::SignalAt { .. }, true) => "signals at calls",
            (Fault::SignalAfter { .. }, true) => "signals at times",
        });
        let mut wrong = writer.wrong_after(&fault, &outcome, &found);
        wrong.extend(writer.wrong_at_end(&again, &end));
        if !fault.may_leave() && !temporaries.is_empty() {
            wrong.push(format!("left in TMPDIR: {:?} ({})", temporaries.keys(), outcome.ended));
        }
        for what in wrong {
            tally.found(number, format!("{fault}: {what}\n    {}", writer.line.words.join(" ")));
        }
        Ok(())
    }
}

/// Runs a line with a fault.
fn meet(program: &Program, line: &Line, folder: &Path, fault: &Fault, log: &Path) -> Result<Outcome, Error> {
    let injection = match fault {
        Fault::Error { call, errno, at, lasts } => {
            format!("{call}:error={errno}:when={at}{}", if *lasts { "+" } else { "" })
        }
        Fault::SignalAt { call, signal, at } => format!("{call}:signal={signal}:when={at}"),
        Fault::SignalAfter { signal, after } => {
            let mut command = program.command(line, folder, &[]);
            command.stdin(Stdio::null());
            return run_within(command, *after, *signal);
        }
    };
    let mut front = traced(log);
    front.extend(["-e".into(), format!("inject={injection}").into()]);
    let mut command = program.command(line, folder, &front);
    command.stdin(Stdio::null());
    // Traced, it is slower.
    run_within(command, Duration::from_secs(60), Signal::SIGKILL)
}

fn traced(log: &Path) -> Vec<OsString> {
    ["strace", "-f", "-qq", "-e", &format!("trace={CALLS}"), "-e", "signal=none", "-o"]
        .into_iter()
        .map(OsString::from)
        .chain([log.into()])
        .collect()
}

fn has_met(fault: &Fault, outcome: &Outcome, log: &Path) -> bool {
    match fault {
        Fault::Error { .. } => fs::read_to_string(log).is_ok_and(|log| log.contains("(INJECTED)")),
        Fault::SignalAt { .. } => !matches!(outcome.ended, Ended::Exit(0 | 3)),
        Fault::SignalAfter { .. } => !matches!(outcome.ended, Ended::Exit(_)),
    }
}

fn is_cut_json(path: &Path, entry: &Entry) -> bool {
    let Entry::File(bytes) = entry else { return false };
    path.extension().is_some_and(|ending| ending == "json")
        && !files::is_left_over(path)
        && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err()
}

/// Tools whose every run has a folder of its own.
fn measures(line: &Line) -> bool {
    matches!(line.tool(), "op-replay" | "run-all-op")
}

impl Writer {
    fn learn(program: &Program, line: &str, outputs: &[&str]) -> Result<Writer, Error> {
        let line = Line::of(line);
        let folder = TempDir::new()?;
        let mut old = world::inputs()?;
        // What is there to be replaced.
        old.extend(outputs.iter().map(|output| (PathBuf::from(output), Entry::File(b"old".to_vec()))));
        files::write(&old, folder.path())?;
        let old = files::read(folder.path())?;
        let started = Instant::now();
        let first = program.run(&line, folder.path(), Limits::default())?;
        let took = started.elapsed();
        if !matches!(first.ended, Ended::Exit(0 | 3)) {
            return Err(format!("{}: {} {}", line.words.join(" "), first.ended, first.stderr).into());
        }
        let new = files::read(folder.path())?;
        program.run(&line, folder.path(), Limits::default())?;
        let newer = files::read(folder.path())?;
        let other = TempDir::new()?;
        let log = TempDir::new()?;
        let log = log.path().join("strace");
        files::write(&old, other.path())?;
        let mut command = program.command(&line, other.path(), &traced(&log));
        command.stdin(Stdio::null());
        run_within(command, Duration::from_secs(60), Signal::SIGKILL)?;
        let other = files::read(other.path())?;
        let mut volatile: Vec<PathBuf> = files::changed(&new, &other).into_iter().map(Path::to_owned).collect();
        // Two measured times are the same by chance now and then.
        for _ in 0..if measures(&line) { 2 } else { 0 } {
            let again = TempDir::new()?;
            files::write(&old, again.path())?;
            program.run(&line, again.path(), Limits::default())?;
            volatile.extend(files::changed(&new, &files::read(again.path())?).into_iter().map(Path::to_owned));
        }
        let mut calls = BTreeMap::new();
        for text in fs::read_to_string(&log)?.lines() {
            let call =
                text.split_once(' ').map_or("", |(_, rest)| rest.trim_start()).split('(').next().unwrap_or_default();
            if CALLS.split(',').any(|known| known.trim_start_matches('?') == call) {
                *calls.entry(call.to_owned()).or_default() += 1;
            }
        }
        Ok(Writer { line, ended: first.ended, old, new, newer, volatile, calls, took })
    }

    fn draw(&self, draws: &mut Draws) -> Result<Fault, Error> {
        let signal =
            *draws.one_of(&[Signal::SIGKILL, Signal::SIGKILL, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
        if draws.one_in(4) {
            let most = usize::try_from(self.took.as_micros())?;
            let after = Duration::from_micros(u64::try_from(draws.below(most))?);
            return Ok(Fault::SignalAfter { signal, after });
        }
        let calls: Vec<&String> = self.calls.keys().collect();
        let call = (*draws.one_of(&calls)).clone();
        let at = 1 + draws.below(self.calls[&call]);
        if draws.one_in(2) {
            return Ok(Fault::SignalAt { call, signal, at });
        }
        let errors: &[&str] = match call.as_str() {
            "write" | "pwrite64" | "writev" | "ftruncate" => &["ENOSPC", "EIO", "EDQUOT", "EINTR", "EFBIG"],
            "openat" => &["ENOSPC", "EIO", "EMFILE", "ENFILE", "EACCES", "EROFS", "EINTR"],
            "flock" => &["EINTR", "ENOLCK", "EIO"],
            "clone3" => &["EAGAIN", "ENOMEM"],
            _ => &["ENOSPC", "EIO", "EDQUOT", "EACCES", "EROFS", "EPERM"],
        };
        let errno = draws.one_of(errors);
        // A disk that is full stays full. What lasts beyond other calls also keeps a run from taking back what it has done.
        let can_last = matches!(call.as_str(), "write" | "fsync" | "fdatasync" | "clone3") && *errno != "EINTR";
        Ok(Fault::Error { call, errno, at, lasts: can_last && draws.one_in(2) })
    }

    /// Whether the content of a file is known by the run alone.
    fn is_fixed(&self, path: &Path) -> bool {
        !self.volatile.iter().any(|known| known == path)
    }

    /// Tools that keep what they have measured, in every case: what they say of that is not a table.
    fn keeps_results(&self) -> bool {
        self.line.tool() == "run-all-op"
    }

    fn wrong_after(&self, fault: &Fault, outcome: &Outcome, found: &Files) -> Vec<String> {
        let mut wrong = Vec::new();
        let has_failed = matches!(outcome.ended, Ended::Exit(status) if status != 0 && status != 3);
        match outcome.ended {
            Ended::Hung if !matches!(fault, Fault::SignalAfter { signal: Signal::SIGKILL, .. }) => {
                wrong.push("hung".to_owned())
            }
            Ended::Signal(signal) if signal == Signal::SIGABRT as i32 || signal == Signal::SIGSEGV as i32 => {
                wrong.push(format!("ended by signal {signal}: {}", outcome.stderr.trim()));
            }
            Ended::Exit(101) => wrong.push(format!("panicked: {}", outcome.stderr.trim())),
            _ => {}
        }
        if outcome.stderr.contains("panicked at") {
            wrong.push(format!("panicked: {}", outcome.stderr.trim()));
        }
        let is_signal = !matches!(fault, Fault::Error { .. });
        // What was measured until then is worth keeping: it is written whole, and the status says that the run was ended.
        let keeps_measured = self.keeps_results() || is_signal && measures(&self.line);
        // A table that cannot be opened is a finding of some tools, and a reason for calls without an answer of audit-coverage.
        let tells_of_it = outcome.ended == Ended::Exit(3) && self.ended == Ended::Exit(0)
            || self.line.tool() == "audit-coverage"
                && String::from_utf8_lossy(&outcome.stdout).contains("(unreadable)");
        wrong.extend(
            found
                .iter()
                .filter(|(path, entry)| is_cut_json(path, entry) && self.old.get(*path) != Some(entry))
                .map(|(path, _)| format!("{} is half a document ({})", path.display(), outcome.ended)),
        );
        for (path, entry) in found {
            let is_known = [&self.old, &self.new].iter().any(|files| files.get(path) == Some(entry));
            let is_excepted = tells_of_it || keeps_measured;
            if !is_known && !files::is_left_over(path) && self.is_fixed(path) && !is_excepted {
                wrong.push(format!("{} is neither old nor new ({})", path.display(), outcome.ended));
            }
        }
        wrong.extend(
            self.old.keys().filter(|path| !found.contains_key(*path)).map(|path| format!("{} is gone", path.display())),
        );
        let is_table = |path: &Path| path.starts_with("db") && path.extension().is_some_and(|ending| ending == "csv");
        let is_looked_at = |path: &Path| !files::is_left_over(path) && (!keeps_measured || is_table(path));
        let changed: Vec<&Path> =
            files::changed(&self.old, found).into_iter().filter(|path| is_looked_at(path)).collect();
        // Rows that cannot run are put aside before a measuring run is over.
        let is_by_then = |path: &&Path| keeps_measured && found.get(*path) == self.new.get(*path);
        // The line that says what was written comes behind the files; where no write succeeds any more, neither does the error's.
        let is_new = |path: &&Path| !self.is_fixed(path) || found.get(*path) == self.new.get(*path);
        let is_said_in_vain =
            (outcome.stderr.contains("error: stdout: ") || fault.silences()) && changed.iter().all(is_new);
        if has_failed && !(changed.is_empty() || is_said_in_vain || is_signal && changed.iter().all(is_by_then)) {
            wrong.push(format!("failed, and changed {changed:?}: {}", outcome.stderr.trim()));
        }
        if !has_failed && !tells_of_it && matches!(outcome.ended, Ended::Exit(_)) {
            let missing =
                self.new.iter().filter(|(path, entry)| self.is_fixed(path) && found.get(*path) != Some(entry));
            wrong.extend(missing.map(|(path, _)| format!("{} and {} is not new", outcome.ended, path.display())));
        }
        if !fault.may_leave() {
            let left: Vec<&PathBuf> = found.keys().filter(|path| files::is_left_over(path)).collect();
            if !left.is_empty() {
                wrong.push(format!("left behind {left:?} ({})", outcome.ended));
            }
        }
        wrong
    }

    /// After the same command again.
    fn wrong_at_end(&self, again: &Outcome, end: &Files) -> Vec<String> {
        let mut wrong = Vec::new();
        if again.ended != self.ended {
            wrong.push(format!("then {}: {}", again.ended, again.stderr.trim()));
        }
        // A second measuring run has a folder of its own, and locks no database from which it drops nothing: what lies there waits for
        // somebody who writes.
        let is_second_name = |path: &Path| path.starts_with("db") && path.to_string_lossy().contains(".old.tmp-");
        let is_of_first = |path: &Path| {
            measures(&self.line) && (path.starts_with("out") || path.ends_with(".perfdb.lock") || is_second_name(path))
        };
        let left = end.keys().filter(|path| files::is_left_over(path) && !is_of_first(path));
        wrong.extend(left.map(|path| format!("not removed: {}", path.display())));
        for (path, entry) in self.new.iter().filter(|(path, _)| self.is_fixed(path) && !is_of_first(path)) {
            let found = end.get(path);
            if found != Some(entry) && found != self.newer.get(path) {
                wrong.push(format!("{} after the same command again", path.display()));
            }
        }
        wrong
    }
}
