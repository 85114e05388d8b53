//! Workers that misbehave: what they print and what they leave behind is bounded.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use perfdb_files::interrupt::Interrupt;
use perfdb_replay::backend::Backend;
use perfdb_replay::case::{Call, Case, Check};
use perfdb_replay::executor::worker::command::WorkerCommand;
use perfdb_replay::executor::worker::{Listener, WorkerExecutor, WorkerSettings};
use perfdb_replay::executor::{Executor, StartError};
use perfdb_replay::refusal::ErrorKind;

/// Longer than any of these tests takes: what is tested ends without it.
const LIMIT: Duration = Duration::from_secs(600);

fn start(command: &str) -> Result<WorkerExecutor, StartError> {
    let settings = WorkerSettings {
        backend: Backend::TorchCpu,
        seed: 0,
        exact_init: false,
        start_timeout: LIMIT,
        case_timeout: LIMIT,
        line_mib: 64,
    };
    let listener: Listener = Arc::new(|_| {});
    let command = WorkerCommand::custom(command).expect("words");
    WorkerExecutor::start(command, &settings, &Interrupt::default(), &listener)
}

fn start_error(command: &str) -> String {
    start(command).map(|_| "started").expect_err("no worker").to_string()
}

#[test]
fn a_program_that_prints_without_end_is_no_worker() {
    assert_eq!(start_error("yes"), "yes printed 10000 lines without a greeting");
}

#[test]
fn an_answer_that_is_no_json_ends_the_case_at_once() {
    let script = r#"read hello; echo '{"type":"hello","protocol":1}'; read case;
        echo '{"type":"result","id":1,"api":"a","outputs":[],"samples":[[NaN,1e400]]}'; read more"#;
    let mut worker = start(&format!("sh -c '{}'", script.replace('\'', r#"'"'"'"#))).expect("a greeting");
    let case = Case {
        op: "Add".into(),
        csv: "".into(),
        row: 2,
        call: Call::new("a"),
        outputs: Vec::new(),
        check: Check::Warn,
        repeat: 1,
        warmup: 0,
        fresh_inputs: false,
    };
    let error = worker.run(1, &Arc::new(case), false).expect_err("no answer");
    assert_eq!(error.kind, ErrorKind::Internal);
    assert!(error.detail.starts_with("protocol error: a result message that cannot be read"), "{}", error.detail);
}

#[test]
fn what_a_worker_has_started_ends_with_it() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    for (name, greeting) in
        [("no-greeting", ""), ("goodbye", "echo \"{\\\"type\\\":\\\"hello\\\",\\\"protocol\\\":1}\"; read shutdown;")]
    {
        let fifo = folder.path().join(name);
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU)?;
        let mut reader = std::fs::OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(&fifo)?;
        // The worker's child holds the other end open as long as it lives.
        let script = format!("exec 3>{}; echo started >&3; sleep 1000 >&3 & {greeting} exit 0", fifo.display());
        match start(&format!("sh -c '{script}'")) {
            Ok(mut worker) => worker.shut_down(),
            Err(error) => assert!(error.to_string().contains("ended without a greeting"), "{error}"),
        }
        let (mut text, deadline) = (Vec::new(), Instant::now() + LIMIT);
        while reader.read_to_end(&mut text).is_err() {
            assert!(Instant::now() < deadline, "{name}: the child of the worker lives on");
            std::thread::yield_now();
        }
        assert_eq!(text, b"started\n");
    }
    Ok(())
}
