//! msprof around the replay of a database: its command line, one run, and what is done when a run has failed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use perfdb_store::update::{find_profiles, summaries_of};

use crate::microbench::directory;
use crate::microbench::error::Error;
use crate::microbench::process_group::{exit_number, run_to_end};
use crate::microbench::status::RunStatus;
use perfdb_files::interrupt::Interrupt;

/// The options of the replay program, besides where its output goes and which operators it runs.
#[derive(Debug, Clone, Default)]
pub struct ReplayCommand {
    /// The program, with words of its own.
    pub program: Vec<OsString>,
    /// Stop at the first operator that fails.
    pub fail_fast: bool,
    /// Database options: `--database-path P`, or device and the versions that were given.
    pub database: Vec<OsString>,
    /// Timed runs; 0 is not handed on.
    pub repeat_count: i64,
    /// `all` or `missing-only`.
    pub update_mode: &'static str,
    /// Ranks of DispatchFFNCombine; 0 is not handed on.
    pub ep_size: i64,
    /// Processes on each node, if given.
    pub per_node: Option<i64>,
    /// Number of nodes.
    pub nodes: i64,
    /// Number of this node.
    pub node_rank: i64,
    /// Address of node 0; an empty one is not handed on.
    pub master_addr: String,
    /// Port on node 0, if given.
    pub master_port: Option<i64>,
    /// Further arguments, behind all others.
    pub further: Vec<OsString>,
}

impl ReplayCommand {
    /// The words behind `msprof --output=…`.
    fn words(&self, operators: Option<&[String]>) -> Vec<OsString> {
        let mut words = self.program.clone();
        let mut push = |parts: &[&str]| words.extend(parts.iter().map(OsString::from));
        push(&["--execution-mode", "inprocess"]);
        if !self.fail_fast {
            push(&["--continue-on-error"]);
        }
        words.extend(self.database.iter().cloned());
        let mut push = |name: &str, value: String| words.extend([name.into(), value.into()]);
        if self.repeat_count != 0 {
            push("--repeat-count", self.repeat_count.to_string());
        }
        push("--update-mode", self.update_mode.to_owned());
        if let Some(operators) = operators {
            words.push("--ops".into());
            words.extend(operators.iter().map(OsString::from));
        }
        let mut push = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                words.extend([format!("--dispatch-ffn-combine-{name}").into(), value.into()]);
            }
        };
        push("ep-size", (self.ep_size != 0).then(|| self.ep_size.to_string()));
        push("nproc-per-node", self.per_node.map(|count| count.to_string()));
        push("nnodes", Some(self.nodes.to_string()));
        push("node-rank", Some(self.node_rank.to_string()));
        push("master-addr", Some(self.master_addr.clone()).filter(|address| !address.is_empty()));
        push("master-port", self.master_port.map(|port| port.to_string()));
        words.extend(self.further.iter().cloned());
        words
    }
}

/// How msprof is run for a database.
pub struct Profiling<'a> {
    /// The command line of the replay program.
    pub replay: &'a ReplayCommand,
    /// Operators that the user selected; decides whether operators may be run one by one.
    pub selected: Option<&'a [String]>,
    /// Operators that the run names.
    pub operators: Option<&'a [String]>,
    /// The children's stdout goes to stderr.
    pub quiet_stdout: bool,
    /// Where `[WARN]` lines go.
    pub line: &'a dyn Fn(&str),
    /// The request to stop.
    pub interrupt: &'a Interrupt,
}

/// What profiling gave.
#[derive(Debug, Default)]
pub struct Profiled {
    /// The op_summary files, in order.
    pub summaries: Vec<PathBuf>,
    /// The replay program's status of its operators.
    pub status: Option<RunStatus>,
}

/// Whether msprof is on the search path. Finding out first leaves no folder behind where it is not.
pub(crate) fn require_msprof(search_path: Option<&OsStr>) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    let is_program = |path: PathBuf| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    let found = search_path
        .is_some_and(|folders| std::env::split_paths(folders).any(|folder| is_program(folder.join("msprof"))));
    if found {
        return Ok(());
    }
    Err(Error::NoMsprof)
}

impl Profiling<'_> {
    /// Runs all operators under one msprof; where that gives no data and the user has selected several, each under its own.
    pub fn run(&self, output: &Path) -> Result<Profiled, Error> {
        let (code, shown) = self.run_msprof(output, self.operators)?;
        let profiles = find_profiles(output)?;
        let summaries = summaries_of(&profiles)?;
        let kept = output.display();
        if code == 0 || !summaries.is_empty() {
            if code != 0 {
                (self.line)(&format!(
                    "[WARN] msprof exited with {code}, but {} op_summary file(s) were generated under {kept}. \
                     Continuing with generated profiling data.",
                    summaries.len()
                ));
            }
            require_data(output, &profiles, &summaries)?;
            return Ok(Profiled { summaries, status: read_status(output) });
        }
        match self.selected {
            None => Err(Error::Combined { kept: output.to_owned(), command: shown }),
            Some(selected) if selected.len() == 1 || self.replay.fail_fast => {
                Err(Error::Profiling(format!("msprof exited with {code}; profiling data kept at {kept}: {shown}")))
            }
            Some(selected) => self.run_one_by_one(output, selected),
        }
    }

    fn run_one_by_one(&self, output: &Path, selected: &[String]) -> Result<Profiled, Error> {
        (self.line)(
            "[WARN] Combined msprof run produced no op_summary data. \
             Retrying each selected operator in a separate msprof run.",
        );
        let mut all_profiles = Vec::new();
        let mut joined: Option<RunStatus> = None;
        for operator in selected {
            let of_operator = output.join(format!("{}{operator}", directory::OF_OPERATOR));
            std::fs::create_dir_all(&of_operator).map_err(|source| Error::io(&of_operator, source))?;
            let (code, shown) = self.run_msprof(&of_operator, Some(std::slice::from_ref(operator)))?;
            let profiles = find_profiles(&of_operator)?;
            let summaries = summaries_of(&profiles)?;
            if code != 0 && summaries.is_empty() {
                return Err(Error::Profiling(format!(
                    "msprof exited with {code} while profiling {operator}; profiling data kept at {}: {shown}",
                    of_operator.display()
                )));
            }
            if code != 0 {
                (self.line)(&format!(
                    "[WARN] msprof exited with {code} while profiling {operator}, but {} op_summary file(s) were generated.",
                    summaries.len()
                ));
            }
            if let Some(status) = read_status(&of_operator) {
                let joined = joined.get_or_insert_default();
                joined.success.extend(status.success);
                joined.failed.extend(status.failed);
                joined.skipped.extend(status.skipped);
            }
            all_profiles.extend(profiles);
        }
        all_profiles.sort();
        all_profiles.dedup();
        let summaries = summaries_of(&all_profiles)?;
        require_data(output, &all_profiles, &summaries)?;
        Ok(Profiled { summaries, status: joined })
    }

    /// One msprof. Returns its exit status, negative for a signal, and its command for messages.
    fn run_msprof(&self, output: &Path, operators: Option<&[String]>) -> Result<(i32, String), Error> {
        let absolute = std::path::absolute(output).map_err(|source| Error::io(output, source))?;
        let mut option = OsString::from("--output=");
        option.push(&absolute);
        let mut command = Command::new("msprof");
        command.arg(option).args(self.replay.words(operators));
        command.env("PERFDB_REPLAY_BACKEND", "npu");
        command.env("PERFDB_RUN_STATUS", directory::status_file(&absolute));
        command.env("PERFDB_REPLAY_JOURNAL", directory::journal(&absolute));
        if self.quiet_stdout {
            command.stdout(Stdio::from(io::stderr()));
        }
        let shown = std::iter::once(command.get_program()).chain(command.get_args());
        let shown = shown.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ");
        let status = run_to_end(&mut command, self.interrupt)
            .map_err(|source| Error::Profiling(format!("msprof cannot be started: {source}")))?;
        match self.interrupt.signal() {
            Some(signal) => Err(Error::interrupted(signal)),
            None => Ok((exit_number(status), shown)),
        }
    }
}

/// A run without profile directories, or without summaries in them, has measured nothing.
pub(crate) fn require_data(output: &Path, profiles: &[PathBuf], summaries: &[PathBuf]) -> Result<(), Error> {
    if profiles.is_empty() {
        return Err(Error::Profiling(format!("No PROF_* directories under {}", output.display())));
    }
    if summaries.is_empty() {
        return Err(Error::Profiling(format!("No op_summary_*.csv found under {}", output.display())));
    }
    Ok(())
}

/// The replay program's status of its operators; nothing where the file is absent or unreadable.
pub(crate) fn read_status(output: &Path) -> Option<RunStatus> {
    let status: serde_json::Map<_, _> =
        serde_json::from_slice(&std::fs::read(directory::status_file(output)).ok()?).ok()?;
    // Another replay program may leave lists out; an empty one is no status.
    if status.is_empty() { None } else { serde_json::from_value(status.into()).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_and_empty_values_are_not_handed_on() {
        let command = ReplayCommand {
            program: vec!["run-all-op".into()],
            database: vec!["--database-path".into(), "db".into()],
            update_mode: "all",
            nodes: 1,
            fail_fast: true,
            further: vec!["--warmup".into(), "1".into()],
            ..ReplayCommand::default()
        };
        let words: Vec<String> = command.words(None).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(
            words.join(" "),
            "run-all-op --execution-mode inprocess --database-path db --update-mode all \
             --dispatch-ffn-combine-nnodes 1 --dispatch-ffn-combine-node-rank 0 --warmup 1"
        );
    }

    #[test]
    fn a_status_may_leave_lists_out() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let read = |text: &str| -> std::io::Result<Option<(usize, usize)>> {
            std::fs::write(directory::status_file(folder.path()), text)?;
            Ok(read_status(folder.path()).map(|status| (status.success.len(), status.failed.len())))
        };
        assert_eq!(read(r#"{"failed": [{"op": "Add_run.py", "reason": "no"}]}"#)?, Some((0, 1)));
        assert_eq!(read(r#"{"success": [], "failed": [], "skipped": []}"#)?, Some((0, 0)));
        for nothing in ["{}", "[]", "{\"succ", r#"{"failed": [{}]}"#] {
            assert_eq!(read(nothing)?, None, "{nothing}");
        }
        Ok(())
    }

    #[test]
    fn a_missing_msprof_says_what_to_source() {
        let error = require_msprof(Some("/nowhere".as_ref())).expect_err("not there").to_string();
        assert!(error.contains("msprof") && error.contains("set_env.sh"));
    }
}
