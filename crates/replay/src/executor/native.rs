//! The executor in this process: the operators' reference implementations on the host's CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use crate::bindings::{Bindings, Output};
use crate::case::Case;
use crate::executor::{Executor, Greeting, Measured, OutputInfo, Sample, StartError, Timing};
use crate::fill::build_inputs;
use crate::interrupt::Interrupt;
use crate::operator::Operator;
use crate::operators;
use crate::refusal::{CaseError, ErrorKind};
use crate::tensor::Tensor;

/// How the executor in process runs.
#[derive(Clone, Debug)]
pub struct NativeSettings {
    /// Threads of the operators; `None` means all cores.
    pub threads: Option<usize>,
    /// Seed of random inputs.
    pub seed: u64,
    /// Longest time for one case.
    pub case_timeout: Duration,
}

/// How long a case that was cancelled may take to notice.
const CANCEL_GRACE: Duration = Duration::from_secs(5);
/// How often a waiting driver looks at the interrupt.
const TICK: Duration = Duration::from_millis(100);

/// Runs cases on a thread of its own, so that a case that takes too long can be given up.
#[derive(Debug)]
pub struct NativeExecutor {
    greeting: Greeting,
    settings: NativeSettings,
    interrupt: Interrupt,
    cancel: Arc<AtomicBool>,
    jobs: Option<Sender<Job>>,
    answers: Receiver<Result<Measured, CaseError>>,
}

#[derive(Debug)]
struct Job {
    case: Arc<Case>,
    dump: bool,
}

impl NativeExecutor {
    /// Starts the executor.
    pub fn start(settings: NativeSettings, interrupt: Interrupt) -> Result<NativeExecutor, StartError> {
        let environment = |error: &dyn std::error::Error| StartError::Environment(format!("no threads: {error}"));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(settings.threads.unwrap_or(0))
            .thread_name(|index| format!("operator-{index}"))
            .build()
            .map_err(|error| environment(&error))?;
        let cancel = Arc::new(AtomicBool::new(false));
        let (jobs, job_queue) = channel::<Job>();
        let (answer_queue, answers) = channel();
        let (seed, cancelled) = (settings.seed, cancel.clone());
        std::thread::Builder::new()
            .name("native-executor".to_owned())
            .spawn(move || {
                for job in job_queue {
                    let answer = pool.install(|| run_case(&job.case, seed, job.dump, &cancelled));
                    if answer_queue.send(answer).is_err() {
                        return;
                    }
                }
            })
            .map_err(|error| environment(&error))?;
        let versions = [("perfdb".to_owned(), Some(env!("CARGO_PKG_VERSION").to_owned()))];
        let greeting = Greeting {
            device: "cpu".to_owned(),
            device_index: 0,
            timing: Timing::Worker,
            ops: None,
            versions: versions.into_iter().collect(),
        };
        Ok(NativeExecutor { greeting, settings, interrupt, cancel, jobs: Some(jobs), answers })
    }

    fn give_up(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
        // A thread that does not notice keeps its own queue and is left behind.
        let _ = self.answers.recv_timeout(CANCEL_GRACE);
        self.jobs = None;
    }
}

impl Executor for NativeExecutor {
    fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    fn run(&mut self, _id: u64, case: &Arc<Case>, dump: bool) -> Result<Measured, CaseError> {
        let ended = || CaseError::new(ErrorKind::Crash, "the executor's thread ended");
        let job = Job { case: case.clone(), dump };
        self.jobs.as_ref().ok_or_else(ended)?.send(job).map_err(|_| ended())?;
        let started = Instant::now();
        loop {
            match self.answers.recv_timeout(TICK) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Disconnected) => {
                    self.jobs = None;
                    return Err(ended());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(signal) = self.interrupt.signal() {
                self.give_up();
                return Err(CaseError::new(ErrorKind::Internal, format!("stopped by signal {signal}")));
            }
            if started.elapsed() >= self.settings.case_timeout {
                self.give_up();
                return Err(super::worker::no_answer(self.settings.case_timeout));
            }
        }
    }

    fn is_alive(&self) -> bool {
        self.jobs.is_some()
    }

    fn shut_down(&mut self) {
        self.jobs = None;
    }
}

fn run_case(case: &Case, seed: u64, dump: bool, cancel: &AtomicBool) -> Result<Measured, CaseError> {
    let operator = operators::find(&case.op)
        .ok_or_else(|| CaseError::unsupported(format!("{} is not one of the operators", case.op)))?;
    let mut bindings = Bindings::new(&case.call, build_inputs(case, seed)?).cancelled_by(cancel);
    let mut samples = Vec::with_capacity(case.repeat as usize);
    let mut outputs = Vec::new();
    let runs = u64::from(case.warmup) + u64::from(case.repeat);
    for run in 0..runs {
        if cancel.load(Ordering::Relaxed) {
            return Err(CaseError::new(ErrorKind::Timeout, "given up"));
        }
        if run > 0 && case.fresh_inputs {
            drop(bindings);
            bindings = Bindings::new(&case.call, build_inputs(case, seed)?).cancelled_by(cancel);
        }
        let (sample, run_outputs) = time_one_run(operator, &mut bindings)?;
        if run >= u64::from(case.warmup) {
            samples.push(sample);
        }
        if run + 1 < runs {
            give_back(run_outputs, &mut bindings);
        } else {
            outputs = run_outputs;
        }
    }
    let api = case.call.api.clone();
    let attempt = case.call.attempts.first().map(|attempt| attempt.name.clone());
    let outputs = outputs.iter().map(|output| describe(output.tensor(), dump)).collect();
    Ok(Measured { api, attempt, outputs, samples })
}

fn time_one_run(operator: &Operator, bindings: &mut Bindings<'_>) -> Result<(Sample, Vec<Output>), CaseError> {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let begin = Instant::now();
    let outputs = (operator.run)(bindings);
    let duration = begin.elapsed();
    let sample =
        Sample { start_us: since_epoch.as_nanos() as f64 / 1e3, duration_us: duration.as_nanos() as f64 / 1e3 };
    Ok((sample, outputs?))
}

fn give_back(outputs: Vec<Output>, bindings: &mut Bindings<'_>) {
    for output in outputs {
        if let Output::InPlace(taken) = output {
            bindings.give_back(taken);
        }
    }
}

fn describe(tensor: &Tensor, dump: bool) -> OutputInfo {
    OutputInfo {
        shape: tensor.shape().to_vec(),
        dtype: tensor.dtype().name().into(),
        values: dump.then(|| tensor.values()),
    }
}
