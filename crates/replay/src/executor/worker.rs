//! The executor in another process: a worker that speaks the replay protocol (`docs/formats/replay-protocol.md`).

pub mod command;
mod message;
mod process;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::backend::Backend;
use crate::case::Case;
use crate::executor::{Executor, Greeting, Measured, StartError, Timing};
use crate::refusal::{CaseError, ErrorKind};
use perfdb_files::interrupt::Interrupt;

use command::WorkerCommand;
use message::{FromWorker, Received, ToWorker};
use process::{Incoming, WorkerProcess};

/// Version of the protocol.
pub(crate) const PROTOCOL: u32 = 1;

/// Lines that a worker may print before it greets: a program that is not a worker may print without end.
const LINES_BEFORE_GREETING: usize = 10_000;

/// How long a worker may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(10);

/// How a worker is spoken to.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// The backend that it is asked for.
    pub backend: Backend,
    /// Seed of random inputs.
    pub seed: u64,
    /// Random inputs must be the same on every executor.
    pub exact_init: bool,
    /// Longest time until it greets.
    pub start_timeout: Duration,
    /// Longest time for one case.
    pub case_timeout: Duration,
    /// Longest line that it may write, in MiB.
    pub line_mib: u32,
}

/// Something that a worker sends beside its answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerOutput {
    /// A line that is no message.
    Noise(String),
    /// A log message.
    Log(String),
    /// This number of timed runs of the case in work are done.
    Progress(u64),
}

/// Where log messages and progress go.
pub type Listener = Arc<dyn Fn(WorkerOutput) + Sync + Send>;

/// A worker process, alive.
pub struct WorkerExecutor {
    settings: WorkerSettings,
    interrupt: Interrupt,
    listener: Listener,
    process: WorkerProcess,
    greeting: Greeting,
    alive: bool,
    /// Holds the files of the shipped worker.
    _command: WorkerCommand,
}

/// What the driver takes a line of a worker for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// A message of the protocol.
    Message,
    /// Anything that a library may print.
    Noise,
}

/// What a line is that a worker writes, for tests of workers.
///
/// # Errors
/// A message of the protocol that lacks something, or is no JSON: what is wrong.
///
/// ```
/// use perfdb_replay::executor::worker::{LineKind, line_kind};
/// assert_eq!(line_kind(r#"{"type":"progress","id":1,"done":3}"#), Ok(LineKind::Message));
/// assert_eq!(line_kind("[W socket.cpp] no IPv6"), Ok(LineKind::Noise));
/// assert!(line_kind(r#"{"type":"result","id":1}"#).is_err());
/// ```
pub fn line_kind(line: &str) -> Result<LineKind, String> {
    match message::read(line) {
        Received::Message(_) => Ok(LineKind::Message),
        Received::Noise => Ok(LineKind::Noise),
        Received::Malformed(fault) => Err(fault),
    }
}

/// The error of a case that had no answer in time; seconds in their shortest form.
pub(crate) fn no_answer(limit: Duration) -> CaseError {
    CaseError::new(ErrorKind::Timeout, format!("no answer within {} s", limit.as_secs_f64()))
}

/// What is missing, and what to do about it.
fn cannot_start(command: &WorkerCommand, error: &std::io::Error) -> String {
    let advice = match command.program() {
        _ if error.kind() != std::io::ErrorKind::NotFound => "",
        program if program == "msprof" => "; source the set_env.sh of the Ascend toolkit",
        program if program.to_string_lossy().contains("python") => {
            "; PERFDB_PYTHON or the option for it names the interpreter"
        }
        _ => "",
    };
    format!("cannot start {}: {error}{advice}", command.shown())
}

/// Why no message came.
enum NoMessage {
    Timeout,
    Ended,
    Interrupted(i32),
    /// Many lines that are not messages.
    OnlyNoise,
}

impl WorkerExecutor {
    /// Starts the worker and exchanges greetings.
    pub fn start(
        command: WorkerCommand,
        settings: &WorkerSettings,
        interrupt: &Interrupt,
        listener: &Listener,
    ) -> Result<WorkerExecutor, StartError> {
        let process = WorkerProcess::start(&command, settings.line_mib)
            .map_err(|error| StartError::Environment(cannot_start(&command, &error)))?;
        let greeting = Greeting {
            device: String::new(),
            device_index: 0,
            timing: Timing::Worker,
            ops: None,
            versions: Default::default(),
        };
        let shown = command.shown();
        let mut worker = WorkerExecutor {
            settings: settings.clone(),
            interrupt: interrupt.clone(),
            listener: listener.clone(),
            process,
            greeting,
            alive: true,
            _command: command,
        };
        worker.process.send(&ToWorker::Hello {
            protocol: PROTOCOL,
            driver: concat!("perfdb ", env!("CARGO_PKG_VERSION")),
            backend: settings.backend.name(),
            seed: settings.seed,
            exact_init: settings.exact_init,
        });
        match worker.await_greeting(&shown) {
            Ok(greeting) => {
                worker.greeting = greeting;
                Ok(worker)
            }
            Err(error) => {
                worker.end();
                Err(error)
            }
        }
    }

    fn await_greeting(&mut self, command: &str) -> Result<Greeting, StartError> {
        let limit = self.settings.start_timeout;
        let message =
            self.next_message(Instant::now() + limit, Some(LINES_BEFORE_GREETING)).map_err(
                |silence| match silence {
                    NoMessage::Timeout => {
                        StartError::Environment(format!("no greeting from {command} within {} s", limit.as_secs_f64()))
                    }
                    NoMessage::Ended => StartError::Environment(format!(
                        "{command} ended without a greeting: {}",
                        self.process.ending()
                    )),
                    NoMessage::Interrupted(signal) => StartError::Interrupted(signal),
                    NoMessage::OnlyNoise => StartError::Environment(format!(
                        "{command} printed {LINES_BEFORE_GREETING} lines without a greeting"
                    )),
                },
            )?;
        match message {
            Ok(FromWorker::Hello(hello)) if hello.protocol == PROTOCOL => Ok(hello.greeting),
            Ok(FromWorker::Hello(hello)) => Err(StartError::Protocol { worker: hello.protocol.to_string() }),
            Ok(FromWorker::Error(error)) => Err(StartError::Environment(error.text())),
            Ok(_) => Err(StartError::Environment(format!("{command} did not begin with a greeting"))),
            Err(fault) => Err(StartError::Environment(format!("{command}: {fault}"))),
        }
    }

    /// The next message that is an answer; log messages go to the listener. `most_noise` limits the lines that are not messages.
    fn next_message(
        &mut self,
        deadline: Instant,
        most_noise: Option<usize>,
    ) -> Result<Result<FromWorker, String>, NoMessage> {
        let mut noise = 0;
        loop {
            let line = match self.process.next_line(deadline, &self.interrupt) {
                Incoming::Line(line) => line,
                Incoming::TooLong => {
                    let reason = format!("a line of more than {} MiB (worker-line-limit)", self.settings.line_mib);
                    return Ok(Err(reason));
                }
                Incoming::Timeout => return Err(NoMessage::Timeout),
                Incoming::Interrupted(signal) => return Err(NoMessage::Interrupted(signal)),
                Incoming::Ended => return Err(NoMessage::Ended),
            };
            match message::read(&line) {
                Received::Noise => {
                    (self.listener)(WorkerOutput::Noise(line));
                    noise += 1;
                    if most_noise.is_some_and(|most| noise >= most) {
                        return Err(NoMessage::OnlyNoise);
                    }
                }
                Received::Malformed(fault) => return Ok(Err(fault)),
                Received::Message(FromWorker::Log { message, .. }) => (self.listener)(WorkerOutput::Log(message)),
                Received::Message(FromWorker::Progress { done }) => (self.listener)(WorkerOutput::Progress(done)),
                Received::Message(message) => return Ok(Ok(message)),
            }
        }
    }

    /// Ends the worker at once: its process group, gently at first.
    fn end(&mut self) {
        self.alive = false;
        self.process.terminate();
    }

    fn protocol_fault(&mut self, fault: &str) -> CaseError {
        self.end();
        CaseError::new(ErrorKind::Internal, format!("protocol error: {fault}"))
    }

    fn accept(&mut self, result: message::CaseResult, case: &Case) -> Result<Measured, CaseError> {
        let measured = result.measured;
        let expected = case.repeat as usize;
        let complete = measured.samples.len() == expected
            || (self.greeting.timing == Timing::Profiler && measured.samples.is_empty());
        if !complete {
            return Err(self.protocol_fault(&format!("{} samples, expected {expected}", measured.samples.len())));
        }
        let sane = |sample: &crate::executor::Sample| sample.start_us.is_finite() && sample.duration_us >= 0.0;
        if !measured.samples.iter().all(sane) {
            return Err(self.protocol_fault("a sample that is no time"));
        }
        Ok(measured)
    }
}

impl Executor for WorkerExecutor {
    fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    fn run(&mut self, id: u64, case: &Arc<Case>, dump: bool) -> Result<Measured, CaseError> {
        if !self.alive {
            return Err(CaseError::new(ErrorKind::Crash, "the worker has ended"));
        }
        let limit = self.settings.case_timeout;
        self.process.send(&ToWorker::Case { id, case, dump });
        match self.next_message(Instant::now() + limit, None) {
            Err(NoMessage::Timeout | NoMessage::OnlyNoise) => {
                self.end();
                Err(no_answer(limit))
            }
            Err(NoMessage::Ended) => {
                self.alive = false;
                Err(CaseError::new(ErrorKind::Crash, self.process.ending()))
            }
            Err(NoMessage::Interrupted(signal)) => {
                self.end();
                Err(CaseError::new(ErrorKind::Internal, format!("stopped by signal {signal}")))
            }
            Ok(Err(fault)) => Err(self.protocol_fault(&fault)),
            Ok(Ok(FromWorker::Result(result))) if result.id == id => self.accept(result, case),
            Ok(Ok(FromWorker::Error(error))) if error.id == Some(id) => {
                if error.kind == ErrorKind::Oom {
                    // Memory that a failed allocation left behind would fail the next case as well.
                    self.end();
                }
                Err(CaseError::new(error.kind, error.text()))
            }
            Ok(Ok(message)) => Err(self.protocol_fault(&format!("an answer to case {id} was {}", message.described()))),
        }
    }

    fn is_alive(&self) -> bool {
        self.alive
    }

    fn shut_down(&mut self) {
        if self.alive {
            self.alive = false;
            self.process.send(&ToWorker::Shutdown);
            self.process.close_input();
            self.process.wait_for_exit(GOODBYE, &self.interrupt);
        }
    }
}

impl Drop for WorkerExecutor {
    fn drop(&mut self) {
        if self.alive {
            self.end();
        }
    }
}
