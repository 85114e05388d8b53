//! How a worker is started: the shipped one or another, alone, under msprof, or on several ranks.

use perfdb_files::folders::{PrivateFolder, private};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

macro_rules! shipped {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("shipped/", $name)))),*] };
}

/// The files of the shipped worker, a Python package that is run as a folder.
const SHIPPED: &[(&str, &str)] = shipped![
    "__main__.py",
    "perfdb_worker/__init__.py",
    "perfdb_worker/attention.py",
    "perfdb_worker/calls.py",
    "perfdb_worker/channel.py",
    "perfdb_worker/devices.py",
    "perfdb_worker/failures.py",
    "perfdb_worker/loop.py",
    "perfdb_worker/norms.py",
    "perfdb_worker/npu.py",
    "perfdb_worker/products.py",
    "perfdb_worker/ranks.py",
    "perfdb_worker/reference.py",
    "perfdb_worker/tensors.py",
    "perfdb_worker/worker.py",
];

/// A command line for a worker, with what it needs to live.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    words: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    /// Messages run over this Unix socket instead of stdin and stdout.
    pub(super) socket: Option<PathBuf>,
    /// How long it may take to connect.
    pub(super) connect_timeout: Duration,
    /// Folders that live as long as the command.
    _folders: Vec<Arc<PrivateFolder>>,
}

/// Command lines that cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A worker command that cannot be split into words.
    #[error("the worker's command line: {0}")]
    Words(String),
    /// The shipped worker could not be written to the temporary folder.
    #[error("cannot write the shipped worker: {0}")]
    Shipping(#[from] std::io::Error),
}

/// Ranks that torchrun starts for one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// Processes on this node.
    pub per_node: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of this node.
    pub node_rank: u32,
    /// Address of node 0.
    pub master_addr: String,
    /// Port on node 0.
    pub master_port: u16,
}

/// What is wrong with a command line that ends within a word.
const UNFINISHED: &str = "a quote is not closed, or a backslash stands at the end";

impl WorkerCommand {
    /// The shipped worker, run by that interpreter.
    pub fn shipped(python: impl AsRef<OsStr>) -> Result<WorkerCommand, CommandError> {
        let folder = private("perfdb-worker-")?;
        std::fs::create_dir(folder.path().join("perfdb_worker"))?;
        for (name, text) in SHIPPED {
            std::fs::write(folder.path().join(name), text)?;
        }
        let words = vec![python.as_ref().into(), folder.path().into()];
        Ok(WorkerCommand { _folders: vec![Arc::new(folder)], ..WorkerCommand::of_words(words) })
    }

    /// Another worker, split into words as a shell does, without expansion.
    pub fn custom(command: impl AsRef<OsStr>) -> Result<WorkerCommand, CommandError> {
        let words = shlex::bytes::split(command.as_ref().as_bytes());
        let words = words.ok_or(CommandError::Words(UNFINISHED.to_owned()))?;
        if words.is_empty() {
            return Err(CommandError::Words("empty command".to_owned()));
        }
        Ok(WorkerCommand::of_words(words.into_iter().map(OsString::from_vec).collect()))
    }

    fn of_words(words: Vec<OsString>) -> WorkerCommand {
        let connect_timeout = Duration::from_secs(120);
        WorkerCommand { words, environment: Vec::new(), socket: None, connect_timeout, _folders: Vec::new() }
    }

    /// The same with a variable set.
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> WorkerCommand {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The same on several ranks.
    pub(crate) fn on_ranks(mut self, python: impl AsRef<OsStr>, ranks: &Ranks) -> WorkerCommand {
        let python = python.as_ref();
        let mut words: Vec<OsString> =
            [python, "-m".as_ref(), "torch.distributed.run".as_ref()].map(OsString::from).to_vec();
        let options = [
            format!("--nproc_per_node={}", ranks.per_node),
            format!("--nnodes={}", ranks.nodes),
            format!("--node_rank={}", ranks.node_rank),
            format!("--master_addr={}", ranks.master_addr),
            format!("--master_port={}", ranks.master_port),
        ];
        words.extend(options.map(OsString::from));
        // torchrun starts the script with its own interpreter.
        let names_python = |word: &OsString| {
            Path::new(word).file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"))
        };
        let is_python = self.words[0] == python || names_python(&self.words[0]);
        if is_python && self.words.len() > 1 {
            self.words.remove(0);
        } else if !is_python {
            words.push("--no_python".into());
        }
        words.append(&mut self.words);
        WorkerCommand { words, ..self }.with_variable("_DFC_AUTO_TORCHRUN", "1")
    }

    /// The same under msprof, which writes its profile below `output`; messages run over a socket.
    pub(crate) fn under_msprof(self, output: &Path, connect_timeout: Duration) -> Result<WorkerCommand, CommandError> {
        let folder = private("perfdb-socket-")?;
        let socket = folder.path().join("worker");
        let mut option = OsString::from("--output=");
        option.push(output);
        let mut words = vec![OsString::from("msprof"), option];
        words.extend(self.words);
        words.extend([OsString::from("--connect"), socket.clone().into()]);
        let mut folders = self._folders;
        folders.push(Arc::new(folder));
        Ok(WorkerCommand {
            words,
            environment: self.environment,
            socket: Some(socket),
            connect_timeout,
            _folders: folders,
        })
    }

    /// The words, for messages.
    pub fn shown(&self) -> String {
        self.words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// The program that is started.
    pub(super) fn program(&self) -> &std::ffi::OsStr {
        &self.words[0]
    }

    pub(super) fn to_process(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        let split = |text| WorkerCommand::custom(text).expect("words").words;
        assert_eq!(split("python3 fake.py"), ["python3", "fake.py"]);
        assert_eq!(split(r#" a 'b c' "d \"e\" \x" f\ g '' "#), ["a", "b c", r#"d "e" \x"#, "f g", ""]);
        assert_eq!(split("$HOME ~ *"), ["$HOME", "~", "*"]);
        for unfinished in ["'a", "\"a", "a\\"] {
            assert!(WorkerCommand::custom(unfinished).is_err(), "{unfinished}");
        }
        assert!(WorkerCommand::custom("  ").is_err());
    }

    #[test]
    fn torchrun_comes_before_the_script() {
        let ranks =
            Ranks { per_node: 8, nodes: 2, node_rank: 1, master_addr: "10.0.0.1".to_owned(), master_port: 29501 };
        let command = WorkerCommand::custom("python3 w.py -x").expect("words").on_ranks("py", &ranks);
        assert_eq!(
            command.shown(),
            "py -m torch.distributed.run --nproc_per_node=8 --nnodes=2 --node_rank=1 --master_addr=10.0.0.1 \
             --master_port=29501 w.py -x"
        );
        let command = WorkerCommand::custom("/opt/bin/py w.py").expect("words").on_ranks("/opt/bin/py", &ranks);
        assert!(command.shown().ends_with("--master_port=29501 w.py"), "an interpreter of any name");
        let command = WorkerCommand::custom("./w").expect("words").on_ranks("py", &ranks);
        assert!(command.shown().ends_with("--no_python ./w"));
    }
}
