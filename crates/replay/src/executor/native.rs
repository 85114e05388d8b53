//! The executor in this process: the operators' reference implementations on the host's CPU.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use perfdb_kernels::context::{self, CancellationToken, KernelContext};
use perfdb_kernels::tensor::Tensor;

use crate::bindings::{Bindings, Output};
use crate::case::Case;
use crate::executor::{Executor, Greeting, Measured, OutputInfo, Sample, StartError, Timing};
use crate::fill::build_inputs;
use crate::interrupt::Interrupt;
use crate::memory::available_bytes;
use crate::operator::Operator;
use crate::operators;
use crate::refusal::{CaseError, ErrorKind};

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
    cancellation: CancellationToken,
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
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(settings.threads.unwrap_or(0))
            .thread_name(|index| format!("operator-{index}"))
            // A case whose thread panics is a crash of the executor, not of the driver.
            .panic_handler(drop)
            .build()
            .map_err(|error| StartError::Environment(format!("no threads: {error}")))?;
        let cancellation = CancellationToken::default();
        let (jobs, job_queue) = channel::<Job>();
        let (answer_queue, answers) = channel();
        let seed = settings.seed;
        let context = KernelContext { cancellation: cancellation.clone(), available_bytes: Some(available_bytes) };
        // The loop is one of the pool's own threads, so that a case needs no further change of threads. The pool ends
        // with it.
        pool.spawn(move || {
            for job in job_queue {
                let answer = context.scope(|| run_case(&job.case, seed, job.dump));
                if answer_queue.send(answer).is_err() {
                    return;
                }
            }
        });
        let versions = [("perfdb".to_owned(), Some(env!("CARGO_PKG_VERSION").to_owned()))];
        let greeting = Greeting {
            device: "cpu".to_owned(),
            device_index: 0,
            timing: Timing::Worker,
            ops: None,
            versions: versions.into_iter().collect(),
        };
        Ok(NativeExecutor { greeting, settings, interrupt, cancellation, jobs: Some(jobs), answers })
    }

    /// Gives up the case in work. A thread that does not notice is left behind with its queue.
    fn give_up(&mut self) {
        self.cancellation.cancel();
        match self.answers.recv_timeout(CANCEL_GRACE) {
            Ok(_) => self.cancellation.reset(),
            Err(_) => self.jobs = None,
        }
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

fn run_case(case: &Case, seed: u64, dump: bool) -> Result<Measured, CaseError> {
    let operator = operators::find(&case.op)
        .ok_or_else(|| CaseError::unsupported(format!("{} is not one of the operators", case.op)))?;
    let mut bindings = Bindings::new(&case.call, build_inputs(case, seed)?);
    let mut samples = Vec::new();
    let mut outputs = Vec::new();
    let runs = u64::from(case.warmup) + u64::from(case.repeat);
    for run in 0..runs {
        context::proceed()?;
        if run > 0 && case.fresh_inputs {
            drop(bindings);
            bindings = Bindings::new(&case.call, build_inputs(case, seed)?);
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
    context::proceed()?;
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
        shape: tensor.shape().into(),
        dtype: tensor.dtype().name().into(),
        values: dump.then(|| tensor.values()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(repeat: u32) -> Arc<Case> {
        let text = r#"{"op":"SoftmaxV2","csv":"","row":2,"api":"torch.nn.functional.softmax","check":"warn","repeat":1,
            "inputs":[{"name":"x","shape":[64,64],"dtype":"float32","init":{"kind":"normal"}}],
            "args":[{"tensor":"x"}],"kwargs":{"dim":-1}}"#;
        let case: Case = serde_json::from_str(text).expect("a case");
        Arc::new(Case { repeat, ..case })
    }

    #[test]
    fn a_case_that_takes_too_long_is_given_up_and_the_next_one_runs() {
        let settings = NativeSettings { threads: Some(1), seed: 0, case_timeout: Duration::from_millis(1) };
        let mut executor = NativeExecutor::start(settings, Interrupt::default()).expect("threads");
        let error = executor.run(1, &case(u32::MAX), false).expect_err("too many runs");
        assert_eq!((error.kind, error.detail.as_str()), (ErrorKind::Timeout, "no answer within 0.001 s"));
        assert!(executor.is_alive());
        let mut next = executor.run(2, &case(3), false);
        while next.as_ref().is_err_and(|error| error.kind == ErrorKind::Timeout) {
            // A machine so busy that three small runs take a tick.
            next = executor.run(3, &case(3), false);
        }
        assert_eq!(next.map(|measured| measured.samples.len()), Ok(3));
    }
}
