//! The files of `docs/examples` as they are used: a job array on a real Slurm, where it can be started, and the command of the
//! Kubernetes job.

use super::support::{TestResult, copy_folder, files, perfdb, testdata, text};
use perfdb_pycompat::yaml::{self, Node};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

const TOOL: [&str; 7] =
    ["generate-op-comparison", "--scenarios", "list.yaml", "--data-dir", "data", "--output", "out/comparison.json"];

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples").join(name)
}

/// Scenarios, and what one process makes of them.
fn inputs() -> Result<(TempDir, String, Vec<u8>), Box<dyn std::error::Error>> {
    let folder = TempDir::new()?;
    copy_folder(&testdata("scenarios"), &folder.path().join("data"))?;
    let list = fs::read_to_string(testdata("scenarios.yaml"))?.replace("scenarios/", "data/");
    fs::write(folder.path().join("list.yaml"), list)?;
    let whole = perfdb(folder.path(), &TOOL).output()?;
    let output = folder.path().join("out/comparison.json");
    let content = fs::read(&output)?;
    fs::remove_dir_all(folder.path().join("out"))?;
    Ok((folder, text(&whole.stdout), content))
}

/// The shards together are what one process has made.
fn merged(folder: &Path, shown: &str, content: &[u8]) -> TestResult {
    let merged = perfdb(folder, &["merge-shards", "shards"]).output()?;
    assert_eq!(text(&merged.stdout), shown, "{}", text(&merged.stderr));
    assert_eq!(files(folder)?.get(Path::new("out/comparison.json")).map(Vec::as_slice), Some(content));
    Ok(())
}

/// `PATH` with the folder of perfdb in front.
fn path_of_programs() -> Result<std::ffi::OsString, Box<dyn std::error::Error>> {
    let program = assert_cmd::cargo::cargo_bin("perfdb");
    let own = program.parent().ok_or("no folder")?.to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths([own].into_iter().chain(std::env::split_paths(&others)))?)
}

#[test]
fn the_command_of_the_kubernetes_job_makes_shards() -> TestResult {
    let (folder, shown, content) = inputs()?;
    let text_of = fs::read_to_string(example("kubernetes-indexed-job.yaml"))?;
    let mut node = yaml::parse(&text_of)?;
    for key in ["spec", "template", "spec", "containers", "command"] {
        node = match node {
            Node::List(list) => list.into_iter().next().ok_or("an empty list")?,
            node => node,
        };
        let Node::Map(mut map) = node else { return Err(format!("{key}: no map").into()) };
        if key == "template" {
            assert!(matches!(map.remove("completions"), Some(Node::Integer(8))));
        }
        node = map.remove(key).ok_or(key)?;
    }
    let Node::List(words) = node else { return Err("the command is no list".into()) };
    let words: Vec<String> = words
        .into_iter()
        .map(|word| match word {
            Node::Text(word) => Ok(word),
            other => Err(format!("a word is {}", other.kind())),
        })
        .collect::<Result<_, _>>()?;
    for index in 0..8 {
        let output = Command::new(&words[0])
            .args(&words[1..])
            .args(TOOL)
            .env("JOB_COMPLETION_INDEX", index.to_string())
            .env("PATH", path_of_programs()?)
            .current_dir(&folder)
            .output()?;
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    merged(folder.path(), &shown, &content)
}

/// A Slurm of one node in a folder of its own. Its programs end with this.
struct Slurm {
    folder: TempDir,
    programs: Vec<Child>,
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for program in self.programs.iter_mut().rev() {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

impl Slurm {
    /// Starts it; the reason where it cannot be.
    fn start() -> Result<Slurm, String> {
        let failed = |error: std::io::Error| error.to_string();
        for program in ["munged", "slurmctld", "slurmd", "sbatch"] {
            let search = std::env::var_os("PATH").unwrap_or_default();
            let mut folders = std::env::split_paths(&search).chain(["/usr/sbin".into(), "/sbin".into()]);
            if !folders.any(|folder| folder.join(program).is_file()) {
                return Err(format!("there is no {program} (Debian: slurm-wlm and munge)"));
            }
        }
        let folder = TempDir::new().map_err(failed)?;
        let path = folder.path();
        // munged insists that everybody can get at its socket, and nobody at its key.
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(failed)?;
        for name in ["state", "spool"] {
            fs::create_dir(path.join(name)).map_err(failed)?;
        }
        fs::write(path.join("key"), [42; 64]).map_err(failed)?;
        fs::set_permissions(path.join("key"), fs::Permissions::from_mode(0o600)).map_err(failed)?;
        fs::write(path.join("slurm.conf"), configuration(path)?).map_err(failed)?;
        let mut slurm = Slurm { folder, programs: Vec::new() };
        let file = |name: &str| slurm.folder.path().join(name).display().to_string();
        let munged = [
            "--foreground".to_owned(),
            format!("--socket={}", file("munge.socket")),
            format!("--key-file={}", file("key")),
            format!("--pid-file={}", file("munge.pid")),
            format!("--log-file={}", file("munge.log")),
            format!("--seed-file={}", file("munge.seed")),
        ];
        let configuration = file("slurm.conf");
        let socket = slurm.folder.path().join("munge.socket");
        slurm.run("munged", &munged)?;
        slurm.wait_for("munged", |_| socket.exists())?;
        slurm.run("slurmctld", &["-D".to_owned(), "-c".to_owned(), "-f".to_owned(), configuration.clone()])?;
        slurm.run("slurmd", &["-D".to_owned(), "-f".to_owned(), configuration])?;
        slurm.wait_for("slurmd", |slurm| {
            let state = slurm.command("sinfo").args(["--noheader", "--format=%t"]).output();
            state.is_ok_and(|state| text(&state.stdout).trim() == "idle")
        })?;
        Ok(slurm)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf"));
        command
    }

    fn run(&mut self, program: &str, arguments: &[String]) -> Result<(), String> {
        let log =
            fs::File::create(self.folder.path().join(format!("{program}.out"))).map_err(|error| error.to_string())?;
        let mut command = self.command(&format!("/usr/sbin/{program}"));
        let started = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        self.programs.push(started.map_err(|error| format!("{program} does not start: {error}"))?);
        Ok(())
    }

    /// Waits for something; the reason where a program ends before, or it never comes.
    fn wait_for(&mut self, program: &str, is_done: impl Fn(&Slurm) -> bool) -> Result<(), String> {
        for _ in 0..5000 {
            if is_done(self) {
                return Ok(());
            }
            if self.programs.iter_mut().any(|program| !matches!(program.try_wait(), Ok(None))) {
                let said = fs::read_to_string(self.folder.path().join(format!("{program}.out"))).unwrap_or_default();
                return Err(format!("{program} ended: {said}"));
            }
            // A process is started and waited for, which leaves the others time.
            let _ = Command::new("true").status();
        }
        Err(format!("{program} does not become ready"))
    }

    /// Runs the job array of the example and waits for its end.
    fn array(&self, folder: &Path, tasks: &str) -> Result<Output, Box<dyn std::error::Error>> {
        let output = self
            .command("sbatch")
            .args(["--wait", "--output=task-%a.log", "--export=ALL,SHARDS=4"])
            .arg(format!("--array={tasks}"))
            .arg(example("slurm-array.sh"))
            .args(TOOL)
            .env("PATH", path_of_programs()?)
            .current_dir(folder)
            .output()?;
        Ok(output)
    }
}

fn configuration(folder: &Path) -> Result<String, String> {
    let output = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().map_err(|error| format!("{program}: {error}"))?;
        Ok::<_, String>(text(&output.stdout).trim().to_owned())
    };
    let (host, user) = (output("hostname", "-s")?, output("id", "-un")?);
    let free_port = || {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        socket.map(|address| address.port()).map_err(|error| error.to_string())
    };
    let (controller, node, folder) = (free_port()?, free_port()?, folder.display());
    Ok(format!(
        "ClusterName=test
SlurmctldHost={host}
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName={host} CPUs=2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"
    ))
}

#[test]
fn a_job_array_on_slurm_makes_shards() -> TestResult {
    let slurm = match Slurm::start() {
        Ok(slurm) => slurm,
        Err(reason) => {
            eprintln!("skipped: no Slurm can be started here: {reason}");
            return Ok(());
        }
    };
    let (folder, shown, content) = inputs()?;
    let said = |output: &Output| {
        let log = fs::read_to_string(folder.path().join("task-1.log")).unwrap_or_default();
        format!("{}{log}", text(&output.stderr))
    };
    // One task is not done, as if its node had gone.
    let output = slurm.array(folder.path(), "1-2,4")?;
    assert!(output.status.success(), "{}", said(&output));
    let refused = perfdb(folder.path(), &["merge-shards", "shards"]).output()?;
    assert!(text(&refused.stderr).contains("1 of 4 shards missing: 3"), "{}", text(&refused.stderr));
    let output = slurm.array(folder.path(), "3")?;
    assert!(output.status.success(), "{}", said(&output));
    merged(folder.path(), &shown, &content)
}
