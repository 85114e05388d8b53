//! The executor in this process: the operators' reference implementations on the host's CPU.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use crate::kernels::context::{self, CancellationToken, KernelContext};
use crate::kernels::tensor::Tensor;

use crate::bindings::{Bindings, Output};
use crate::case::Case;
use crate::executor::worker::{Listener, WorkerOutput};
use crate::executor::{Executor, Greeting, Measured, OutputInfo, Sample, StartError, Timing};
use crate::fill::build_inputs;
use crate::operator::Operator;
use crate::operators;
use crate::refusal::{CaseError, ErrorKind};
use perfdb_files::interrupt::Interrupt;
use perfdb_files::memory::available_bytes;

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

/// The error of a case whose thread is gone.
const ENDED: &str = "the executor's thread ended";
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
    place: Place,
}

/// Where cases run.
#[derive(Debug)]
enum Place {
    /// On a thread of the executor, which takes jobs and gives answers.
    Thread { jobs: Sender<Job>, answers: Receiver<Result<Measured, CaseError>> },
    /// On the calling thread, because the system gave no other.
    Caller,
    /// The executor has ended.
    Ended,
}

#[derive(Debug)]
struct Job {
    case: Arc<Case>,
    dump: bool,
}

impl NativeExecutor {
    /// Starts the executor. Where the system gives no threads, cases run on the calling thread, and the listener hears of it.
    pub fn start(
        settings: NativeSettings,
        interrupt: Interrupt,
        listener: &Listener,
    ) -> Result<NativeExecutor, StartError> {
        let cancellation = CancellationToken::default();
        let place = start_thread(&settings, &cancellation);
        Ok(NativeExecutor::at(place, settings, cancellation, interrupt, listener))
    }

    fn at(
        place: Result<Place, rayon::ThreadPoolBuildError>,
        settings: NativeSettings,
        cancellation: CancellationToken,
        interrupt: Interrupt,
        listener: &Listener,
    ) -> NativeExecutor {
        let place = place.unwrap_or_else(|error| {
            let line = format!("no threads ({error}): every case runs on one thread");
            listener(WorkerOutput::Log(line));
            Place::Caller
        });
        let versions = [("perfdb".to_owned(), Some(env!("CARGO_PKG_VERSION").to_owned()))];
        let greeting = Greeting {
            device: "cpu".to_owned(),
            device_index: 0,
            timing: Timing::Worker,
            ops: None,
            versions: versions.into_iter().collect(),
        };
        NativeExecutor { greeting, settings, interrupt, cancellation, place }
    }

    fn run_here(&self, case: &Case, dump: bool) -> Result<Measured, CaseError> {
        let limit = self.settings.case_timeout;
        let deadline = Instant::now().checked_add(limit);
        let context = KernelContext { deadline, ..context_of(&self.cancellation) };
        let result = context.scope(|| run_case(case, self.settings.seed, dump));
        match self.interrupt.signal() {
            Some(signal) => Err(stopped_by(signal)),
            None => result.map_err(|error| match error.kind {
                ErrorKind::Timeout => super::worker::no_answer(limit),
                _ => error,
            }),
        }
    }

    /// Waits for the answer to the case in work; `None` where it was given up in time.
    fn await_answer(
        &self,
        answers: &Receiver<Result<Measured, CaseError>>,
    ) -> Result<Result<Measured, CaseError>, Unanswered> {
        let started = Instant::now();
        loop {
            match answers.recv_timeout(TICK) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err(Unanswered::Ended),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let error = match self.interrupt.signal() {
                Some(signal) => stopped_by(signal),
                None if started.elapsed() < self.settings.case_timeout => continue,
                None => super::worker::no_answer(self.settings.case_timeout),
            };
            self.cancellation.cancel();
            if answers.recv_timeout(CANCEL_GRACE).is_err() {
                return Err(Unanswered::LeftBehind(error));
            }
            self.cancellation.reset();
            return Ok(Err(error));
        }
    }
}

/// Why the executor's thread gave no answer.
enum Unanswered {
    /// It ended.
    Ended,
    /// It did not notice that its case was given up.
    LeftBehind(CaseError),
}

fn stopped_by(signal: i32) -> CaseError {
    CaseError::new(ErrorKind::Internal, format!("stopped by signal {signal}"))
}

fn context_of(cancellation: &CancellationToken) -> KernelContext {
    KernelContext {
        cancellation: cancellation.clone(),
        available_bytes: Some(available_bytes),
        ..KernelContext::default()
    }
}

/// Starts the threads of the operators. One of them takes the cases.
fn start_thread(
    settings: &NativeSettings,
    cancellation: &CancellationToken,
) -> Result<Place, rayon::ThreadPoolBuildError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads.unwrap_or(0))
        .thread_name(|index| format!("operator-{index}"))
        // A case whose thread panics is a crash of the executor, not of the driver.
        .panic_handler(drop)
        .build()?;
    let (jobs, job_queue) = channel::<Job>();
    let (answer_queue, answers) = channel();
    let (seed, context) = (settings.seed, context_of(cancellation));
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
    Ok(Place::Thread { jobs, answers })
}

impl Executor for NativeExecutor {
    fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    fn run(&mut self, _id: u64, case: &Arc<Case>, dump: bool) -> Result<Measured, CaseError> {
        let (jobs, answers) = match &self.place {
            Place::Caller => return self.run_here(case, dump),
            Place::Thread { jobs, answers } => (jobs, answers),
            Place::Ended => return Err(CaseError::new(ErrorKind::Crash, ENDED)),
        };
        let sent = jobs.send(Job { case: case.clone(), dump }).map_err(|_| Unanswered::Ended);
        match sent.and_then(|()| self.await_answer(answers)) {
            Ok(answer) => answer,
            Err(unanswered) => {
                self.place = Place::Ended;
                match unanswered {
                    Unanswered::Ended => Err(CaseError::new(ErrorKind::Crash, ENDED)),
                    Unanswered::LeftBehind(error) => Err(error),
                }
            }
        }
    }

    fn is_alive(&self) -> bool {
        !matches!(self.place, Place::Ended)
    }

    fn shut_down(&mut self) {
        self.place = Place::Ended;
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
        let silent: Listener = Arc::new(|_| {});
        let mut executor = NativeExecutor::start(settings, Interrupt::default(), &silent).expect("threads");
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

    #[test]
    fn without_threads_cases_run_on_the_calling_thread() {
        let lines = Arc::new(std::sync::Mutex::new(Vec::new()));
        let heard = lines.clone();
        let listener: Listener = Arc::new(move |output| heard.lock().expect("no panic").push(output));
        let refused = rayon::ThreadPoolBuilder::new().spawn_handler(|_| Err(std::io::ErrorKind::WouldBlock.into()));
        let place = refused.build().map(|_| Place::Ended);
        let settings = NativeSettings { threads: None, seed: 0, case_timeout: Duration::from_secs(60) };
        let (token, interrupt) = (CancellationToken::default(), Interrupt::default());
        let mut executor = NativeExecutor::at(place, settings, token, interrupt, &listener);
        assert_eq!(lines.lock().expect("no panic").len(), 1);
        assert_eq!(executor.run(1, &case(3), false).map(|measured| measured.samples.len()), Ok(3));
        executor.settings.case_timeout = Duration::ZERO;
        let error = executor.run(2, &case(3), false).expect_err("no time at all");
        assert_eq!((error.kind, error.detail.as_str()), (ErrorKind::Timeout, "no answer within 0 s"));
        executor.interrupt.stop(15);
        assert_eq!(executor.run(3, &case(3), false).expect_err("stopped").detail, "stopped by signal 15");
    }
}
