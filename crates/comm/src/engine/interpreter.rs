//! Finds an interpreter that has torch, and asks it what it can do.

use crate::backend::Backend;
use crate::error::Error;
use perfdb_files::escape::one_line;
use serde::Deserialize;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for the answer of an interpreter; importing torch from a cold network disk takes its time.
const PROBE_LIMIT: Duration = Duration::from_secs(120);

/// How much of what an interpreter prints is looked at.
const ANSWER_BYTES: u64 = 1 << 20;

/// The beginning of the line with the answer; the import may print other lines.
const MARK: &str = "PERFDB-PROBE ";

const PROBE: &str = r#"
import json, sys
answer = {"python": list(sys.version_info[:2])}
try:
    import torch
    import torch.distributed as distributed
    answer["torch"] = str(torch.__version__)
    answer["distributed"] = bool(distributed.is_available())
    available = lambda name: bool(getattr(distributed, name, lambda: True)())
    answer["gloo"] = available("is_gloo_available")
    answer["nccl"] = available("is_nccl_available")
    answer["cuda_devices"] = int(torch.cuda.device_count()) if torch.cuda.is_available() else 0
except BaseException as error:
    answer["error"] = "%s: %s" % (type(error).__name__, error)
else:
    try:
        import torch_npu
        answer["npu"] = True
    except BaseException as error:
        answer["npu_error"] = "%s: %s" % (type(error).__name__, error)
print("PERFDB-PROBE " + json.dumps(answer), flush=True)
"#;

/// An interpreter that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedInterpreter {
    /// Path, or name to look for in `PATH`.
    pub program: OsString,
}

/// An interpreter with torch.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// How it is started.
    pub program: PathBuf,
    /// Version of torch.
    pub torch: String,
    python: [u32; 2],
    gloo: bool,
    nccl: bool,
    npu: bool,
    npu_error: String,
    cuda_devices: u64,
}

#[derive(Deserialize)]
struct Answer {
    python: [u32; 2],
    #[serde(default)]
    torch: String,
    #[serde(default)]
    distributed: bool,
    #[serde(default)]
    gloo: bool,
    #[serde(default)]
    nccl: bool,
    #[serde(default)]
    cuda_devices: u64,
    #[serde(default)]
    npu: bool,
    #[serde(default)]
    npu_error: String,
    error: Option<String>,
}

impl Interpreter {
    /// The interpreter that was asked for; else the first with torch of: `python3` of the search path, the interpreter that
    /// runs the `torchrun` found there, the system's own `python3`.
    ///
    /// Importing torch takes its time: when `interrupt` becomes true meanwhile, the interpreter is ended and this fails with
    /// [`Error::Interrupted`].
    pub fn find(named: Option<&NamedInterpreter>, interrupt: &AtomicBool) -> Result<Self, Error> {
        let candidates = match named {
            Some(named) => vec![PathBuf::from(&named.program)],
            None => candidates(std::env::var_os("PATH").as_deref()),
        };
        let mut tried = Vec::new();
        for program in candidates {
            match probe(&program, interrupt) {
                Ok(found) => return Ok(found),
                Err(Unusable::Interrupted) => return Err(Error::Interrupted { results: None }),
                Err(Unusable::Because(reason)) => {
                    tracing::debug!(program = %program.display(), reason, "interpreter without usable torch");
                    tried.push(format!("{}: {reason}", program.display()));
                }
            }
        }
        let tried = if tried.is_empty() { "python3, not in PATH".to_owned() } else { tried.join("; ") };
        Err(Error::NoInterpreter { tried: one_line(&tried) })
    }

    /// The engine for `ranks` ranks on this node: the one asked for if it is there, else the best that is.
    pub fn backend(&self, asked: Option<Backend>, ranks: u64) -> Result<Backend, Error> {
        let missing = |backend: Backend| -> Option<String> {
            match backend {
                Backend::Hccl if !self.npu => {
                    Some(format!("torch_npu cannot be imported ({})", one_line(&self.npu_error)))
                }
                Backend::Nccl if !self.nccl => Some("this torch is built without it".into()),
                Backend::Nccl if self.cuda_devices < ranks => {
                    Some(format!("{} CUDA devices for {ranks} ranks", self.cuda_devices))
                }
                Backend::Gloo if !self.gloo => Some("this torch is built without it".into()),
                _ => None,
            }
        };
        let refused = |backend: Backend, reason: String| Error::NoBackend {
            backend,
            program: self.program.clone(),
            torch: self.torch.clone(),
            reason,
        };
        match asked {
            Some(backend) => missing(backend).map_or(Ok(backend), |reason| Err(refused(backend, reason))),
            None => [Backend::Hccl, Backend::Nccl]
                .into_iter()
                .find(|backend| missing(*backend).is_none())
                .map_or_else(|| self.backend(Some(Backend::Gloo), ranks), Ok),
        }
    }

    /// torchrun of torch 1 stops in its own option handling under Python 3.11 and later, unless output is redirected.
    pub(crate) fn torchrun_needs_redirects(&self) -> bool {
        let major: u32 = self.torch.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(2);
        major < 2 && self.python >= [3, 11]
    }

    #[cfg(test)]
    pub(crate) fn for_tests(torch: &str, python: [u32; 2], npu: bool, cuda_devices: u64) -> Self {
        Self {
            program: "python3".into(),
            torch: torch.into(),
            python,
            gloo: true,
            nccl: cuda_devices > 0,
            npu,
            npu_error: "no module".into(),
            cuda_devices,
        }
    }
}

fn candidates(search_path: Option<&OsStr>) -> Vec<PathBuf> {
    let on_path = |name: &str| {
        std::env::split_paths(search_path.unwrap_or_default())
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    };
    let of_torchrun = on_path("torchrun").and_then(|file| interpreter_of(&file));
    let mut found: Vec<PathBuf> = Vec::new();
    for program in [on_path("python3"), of_torchrun, Some("/usr/bin/python3".into())].into_iter().flatten() {
        if program.is_file() && !found.contains(&program) {
            found.push(program);
        }
    }
    found
}

/// The interpreter in the first line of a script, `#!/…/python3`.
fn interpreter_of(script: &Path) -> Option<PathBuf> {
    let mut start = vec![0; 512];
    let length = std::fs::File::open(script).ok()?.read(&mut start).ok()?;
    let text = String::from_utf8_lossy(&start[..length]).into_owned();
    let mut words = text.lines().next()?.strip_prefix("#!")?.split_whitespace();
    let program = words.next()?;
    if program.ends_with("/env") {
        return None; // whatever it finds is on the search path, and that has been looked at
    }
    Some(PathBuf::from(program))
}

/// Why an interpreter was not taken.
enum Unusable {
    /// The user ended the search.
    Interrupted,
    /// It has no torch that can be used.
    Because(String),
}

impl From<std::io::Error> for Unusable {
    fn from(error: std::io::Error) -> Self {
        Self::Because(error.to_string())
    }
}

/// Asks one interpreter what it can do.
fn probe(program: &Path, interrupt: &AtomicBool) -> Result<Interpreter, Unusable> {
    let mut output = tempfile::tempfile()?;
    let mut command = Command::new(program);
    command.args(["-c", PROBE]).stdin(Stdio::null()).stdout(output.try_clone()?).stderr(Stdio::null());
    tracing::info!(program = %program.display(), "asking the interpreter for torch");
    let start = Instant::now();
    let spawned = perfdb_files::process::spawn(&mut command);
    let mut child = spawned.map_err(|error| Unusable::Because(format!("cannot be started: {error}")))?;
    let status = loop {
        let ended = child.try_wait()?;
        let unusable = match ended {
            Some(status) => break status,
            None if interrupt.load(Ordering::Relaxed) => Unusable::Interrupted,
            None if start.elapsed() > PROBE_LIMIT => {
                Unusable::Because(format!("no answer within {} s", PROBE_LIMIT.as_secs()))
            }
            None => {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        let _ = child.kill();
        let _ = child.wait();
        return Err(unusable);
    };
    tracing::info!(program = %program.display(), seconds = start.elapsed().as_secs_f64(), %status, "the interpreter has answered");
    let mut bytes = Vec::new();
    output.rewind()?;
    output.take(ANSWER_BYTES).read_to_end(&mut bytes)?;
    interpreter(program, &String::from_utf8_lossy(&bytes), status).map_err(Unusable::Because)
}

/// The interpreter that has given this answer; `Err` is why it cannot be used.
fn interpreter(program: &Path, text: &str, status: ExitStatus) -> Result<Interpreter, String> {
    let Some(answer) = text.lines().find_map(|line| line.strip_prefix(MARK)) else {
        return Err(format!("no answer when asked for torch ({status})"));
    };
    let answer: Answer = serde_json::from_str(answer).map_err(|e| format!("an answer that cannot be read: {e}"))?;
    match answer.error {
        Some(error) => Err(error),
        None if !answer.distributed => Err(format!("torch {} is built without torch.distributed", answer.torch)),
        None => Ok(Interpreter {
            program: program.to_owned(),
            torch: answer.torch,
            python: answer.python,
            gloo: answer.gloo,
            nccl: answer.nccl,
            npu: answer.npu,
            npu_error: answer.npu_error,
            cuda_devices: answer.cuda_devices,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_engine_is_taken_and_an_explicit_one_never_replaced() {
        let chosen =
            |npu, cuda, asked, ranks| Interpreter::for_tests("2.9.0", [3, 12], npu, cuda).backend(asked, ranks);
        assert_eq!(chosen(true, 8, None, 2).unwrap(), Backend::Hccl);
        assert_eq!(chosen(false, 2, None, 2).unwrap(), Backend::Nccl);
        assert_eq!(chosen(false, 1, None, 2).unwrap(), Backend::Gloo);
        let refusal = chosen(false, 1, Some(Backend::Nccl), 2).unwrap_err().to_string();
        assert!(refusal.contains("backend nccl") && refusal.contains("1 CUDA devices for 2 ranks"), "{refusal}");
        assert!(chosen(false, 0, Some(Backend::Hccl), 2).unwrap_err().to_string().contains("torch_npu"));
    }

    #[test]
    fn old_torchrun_under_new_python_needs_redirects() {
        let needs = |torch, python| Interpreter::for_tests(torch, python, false, 0).torchrun_needs_redirects();
        assert!(needs("1.13.0a0", [3, 11]));
        assert!(!needs("1.13.1", [3, 10]) && !needs("2.0.0", [3, 11]) && !needs("rubbish", [3, 11]));
    }

    #[test]
    fn the_interpreter_of_a_script() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("torchrun");
        std::fs::write(&script, "#!/opt/x/bin/python3 -s\nimport sys\n").unwrap();
        assert_eq!(interpreter_of(&script), Some("/opt/x/bin/python3".into()));
        std::fs::write(&script, "#!/usr/bin/env python3\n").unwrap();
        assert_eq!(interpreter_of(&script), None);
        std::fs::write(&script, b"\x7fELF").unwrap();
        assert_eq!(interpreter_of(&script), None);
    }

    #[test]
    fn a_probe_ends_at_once_when_the_user_asks_for_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (program, pid) = (folder.path().join("slow-python"), folder.path().join("pid"));
        let script = format!("#!/bin/sh\necho $$ > '{0}.new' && mv '{0}.new' '{0}'\nexec sleep 600\n", pid.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let interrupt = AtomicBool::new(false);
        let found = std::thread::scope(|scope| {
            let search = scope.spawn(|| {
                let named = NamedInterpreter { program: program.clone().into() };
                Interpreter::find(Some(&named), &interrupt)
            });
            while !pid.exists() && !search.is_finished() {
                std::thread::yield_now();
            }
            interrupt.store(true, Ordering::Relaxed);
            search.join().unwrap()
        });
        assert!(matches!(found, Err(Error::Interrupted { results: None })), "{found:?}");
        let pid: i32 = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
        assert!(!crate::engine::is_running(pid), "the interpreter is left behind");
    }

    #[test]
    fn the_only_one_tried_is_named() {
        let named = NamedInterpreter { program: "./no-such-python".into() };
        let error = Interpreter::find(Some(&named), &AtomicBool::new(false)).unwrap_err().to_string();
        assert!(error.starts_with("no Python with torch found (tried: ./no-such-python: "), "{error}");
        let named = NamedInterpreter { program: "false".into() };
        let error = Interpreter::find(Some(&named), &AtomicBool::new(false)).unwrap_err().to_string();
        assert!(error.contains("tried: false: ") && error.contains("install torch"), "{error}");
    }
}
