//! `perfdb doctor`: what of the vendors' software is on this machine, and what that enables.

use crate::database::default_python;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(super) const EXAMPLES: &str = "\
Examples:
  perfdb doctor
  PERFDB_PYTHON=/opt/venv/bin/python perfdb doctor --json";

/// Something that may be installed.
struct Part {
    name: &'static str,
    is: Is,
    enables: &'static str,
    otherwise: &'static str,
}

/// How it is found.
#[derive(Clone, Copy)]
enum Is {
    /// A program on the PATH.
    Program(&'static str),
    /// A Python module, and the distribution that has its version.
    Module(&'static str, &'static str),
    /// Devices by the beginning of their names, a number follows.
    Device(&'static str),
}

const PARTS: &[Part] = &[
    Part {
        name: "NPU",
        is: Is::Device("davinci"),
        enables: "op-replay, run-all-op and start-microbench measure on it",
        otherwise: "operators can be planned and checked here, and run with --backend native, but not be measured",
    },
    Part {
        name: "GPU",
        is: Is::Device("nvidia"),
        enables: "profiles for compare-traces can be taken here",
        otherwise: "profiles for compare-traces have to come from elsewhere",
    },
    Part {
        name: "msprof",
        is: Is::Program("msprof"),
        enables: "start-microbench profiles by itself",
        otherwise: "start-microbench needs --prof-path with profiles from elsewhere",
    },
    Part {
        name: "torch",
        is: Is::Module("torch", "torch"),
        enables: "the worker replays operators; collectives run on the CPU (gloo)",
        otherwise: "no worker: op-replay has --backend native, and run-comm-bench can only plan",
    },
    Part {
        name: "torch_npu",
        is: Is::Module("torch_npu", "torch_npu"),
        enables: "the worker and the communication bench use the NPU",
        otherwise: "the worker and the communication bench cannot use an NPU",
    },
    Part {
        name: "torchrun",
        is: Is::Program("torchrun"),
        enables: "run-comm-bench starts its ranks with it",
        otherwise: "run-comm-bench starts its ranks through python -m torch.distributed.run, where torch is there",
    },
    Part {
        name: "vllm-ascend",
        is: Is::Module("vllm_ascend", "vllm-ascend"),
        enables: "its operators can be replayed, and its version names the database's directory",
        otherwise: "the database's directory has to be given with --vllm-version or --database-path",
    },
    Part {
        name: "Slurm",
        is: Is::Program("srun"),
        enables: "run-comm-bench can be started on several nodes with srun",
        otherwise: "several nodes need torchrun on each of them",
    },
];

/// What was found of a part.
struct Found {
    part: &'static Part,
    /// Where it is or which version; none if it is not there.
    what: Option<String>,
}

/// What is on a machine.
pub(super) struct Machine {
    python: String,
    found: Vec<Found>,
}

impl Machine {
    /// Looks around; nothing is loaded and no device is opened.
    pub(super) fn look() -> Machine {
        let python = default_python();
        let modules: Vec<(&str, &str)> = PARTS
            .iter()
            .filter_map(|part| match part.is {
                Is::Module(module, distribution) => Some((module, distribution)),
                _ => None,
            })
            .collect();
        let versions = module_versions(&python, &modules);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = PARTS.iter().map(|part| {
            let what = match part.is {
                Is::Program(name) => program(&path, name).map(|path| path.display().to_string()),
                Is::Device(name) => devices(Path::new("/dev"), name),
                Is::Module(module, _) => {
                    versions.iter().find_map(|(name, version)| (name == module).then(|| version.clone()))
                }
            };
            Found { part, what }
        });
        Machine { found: found.collect(), python: python.to_string_lossy().into_owned() }
    }

    /// A line for each part: what is there, and what follows.
    pub(super) fn to_text(&self) -> String {
        let width = PARTS.iter().map(|part| part.name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for Found { part, what } in &self.found {
            let (what, follows) = match what {
                Some(what) => (what.as_str(), part.enables),
                None => ("not found", part.otherwise),
            };
            text.push_str(&format!("{:width$}  {what}\n{:width$}    {follows}\n", part.name, ""));
        }
        text.push_str(&format!(
            "\nPython modules as {} sees them; PERFDB_PYTHON names another interpreter.\n",
            self.python
        ));
        text
    }

    /// The same for programs.
    pub(super) fn to_json(&self) -> Value {
        let parts: Vec<Value> = self
            .found
            .iter()
            .map(|Found { part, what }| {
                let enables = if what.is_some() { part.enables } else { part.otherwise };
                json!({"name": part.name, "found": what.is_some(), "what": what, "enables": enables})
            })
            .collect();
        json!({"format_version": 1, "python": self.python, "parts": parts})
    }
}

/// The program of a name in the folders of a PATH.
fn program(path: &OsStr, name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path).map(|folder| folder.join(name)).find(runs)
}

/// How many devices there are whose names are `name` and a number.
fn devices(folder: &Path, name: &str) -> Option<String> {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let entries = std::fs::read_dir(folder).ok()?;
    let count = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|entry| entry.strip_prefix(name).is_some_and(is_number))
        .count();
    (count > 0).then(|| format!("{count} ({}/{name}N)", folder.display()))
}

/// Modules that the interpreter finds, and their versions. They are not imported: that takes seconds and wakes devices.
fn module_versions(python: &OsStr, modules: &[(&str, &str)]) -> Vec<(String, String)> {
    const SCRIPT: &str = "\
import sys
from importlib import metadata, util
for module, distribution in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        if util.find_spec(module) is None:
            continue
    except (ImportError, ValueError):
        continue
    try:
        version = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        version = 'of unknown version'
    print(module, version, sep='\\t')
";
    let arguments = modules.iter().flat_map(|(module, distribution)| [module, distribution]);
    let output =
        Command::new(python).arg("-c").arg(SCRIPT).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let Ok(output) = output else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout);
    let pair = |line: &str| line.split_once('\t').map(|(module, version)| (module.to_owned(), version.to_owned()));
    text.lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn programs_are_found_where_they_can_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("msprof");
        std::fs::write(&file, "").unwrap();
        assert_eq!(program(folder.path().as_os_str(), "msprof"), None);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(program(folder.path().as_os_str(), "msprof"), Some(file));
    }

    #[test]
    fn devices_have_numbers() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["davinci0", "davinci12", "davinci_manager", "davincix"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert!(devices(folder.path(), "davinci").unwrap().starts_with("2 ("));
        assert_eq!(devices(folder.path(), "nvidia"), None);
    }

    #[test]
    fn what_is_missing_says_what_then() {
        let part = &PARTS[2];
        let machine = |what: Option<&str>| Machine {
            python: "python3".to_owned(),
            found: vec![Found { part, what: what.map(str::to_owned) }],
        };
        assert!(machine(None).to_text().contains("--prof-path"));
        assert!(machine(Some("/usr/bin/msprof")).to_text().starts_with("msprof       /usr/bin/msprof\n"));
        assert_eq!(machine(None).to_json()["parts"][0]["found"], false);
    }
}
