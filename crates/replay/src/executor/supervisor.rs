//! Keeps one executor going: starts it when the first case comes, replaces it when it has died, within limits.

use std::sync::Arc;
use std::time::Instant;

use crate::case::Case;
use crate::executor::{Executor, Greeting, Measured, StartError, StartExecutor};
use crate::refusal::{CaseError, ErrorKind};

/// One place for an executor: a device, or the host.
pub(crate) struct Supervisor {
    device: Option<String>,
    executor: Option<Box<dyn Executor>>,
    has_started: bool,
    restarts: u32,
    max_restarts: u32,
}

/// Why a case gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CaseFailure {
    /// The case failed.
    Case(CaseError),
    /// The executor cannot run this operator at all.
    UnsupportedOperator,
    /// No executor could be started: the run ends.
    Start(StartError),
}

impl Supervisor {
    /// A place on that local device, or on the default one.
    pub(crate) fn new(device: Option<String>, max_restarts: u32) -> Supervisor {
        Supervisor { device, executor: None, has_started: false, restarts: 0, max_restarts }
    }

    /// Runs a case, starting an executor where none is alive.
    /// `greeted` is called with the greeting of each executor that is started.
    pub(crate) fn run(
        &mut self,
        start: &StartExecutor<'_>,
        id: impl FnOnce() -> u64,
        case: &Arc<Case>,
        dump: bool,
        greeted: &dyn Fn(&Greeting),
    ) -> Result<(Measured, u32), CaseFailure> {
        let executor = self.alive_executor(start, greeted)?;
        let greeting = executor.greeting();
        let device_index = greeting.device_index;
        if greeting.ops.as_ref().is_some_and(|ops| !ops.iter().any(|op| *op == case.op)) {
            return Err(CaseFailure::UnsupportedOperator);
        }
        executor.run(id(), case, dump).map(|measured| (measured, device_index)).map_err(CaseFailure::Case)
    }

    fn alive_executor(
        &mut self,
        start: &StartExecutor<'_>,
        greeted: &dyn Fn(&Greeting),
    ) -> Result<&mut Box<dyn Executor>, CaseFailure> {
        if self.executor.as_ref().is_some_and(|executor| !executor.is_alive()) {
            self.executor = None;
        }
        let environment = |detail: String| CaseFailure::Case(CaseError::new(ErrorKind::Environment, detail));
        if self.executor.is_none() {
            if self.has_started {
                if self.restarts >= self.max_restarts {
                    return Err(environment(format!("the worker was restarted {} times", self.max_restarts)));
                }
                self.restarts += 1;
                tracing::info!("restart {} of {} of the executor", self.restarts, self.max_restarts);
            }
            let since = Instant::now();
            let started = start(self.device.as_deref()).map_err(|error| match error {
                StartError::Environment(detail) if self.has_started => environment(detail),
                error => CaseFailure::Start(error),
            })?;
            self.has_started = true;
            let (greeting, seconds) = (started.greeting(), since.elapsed().as_secs_f64());
            tracing::info!("executor on {:?} is ready after {seconds:.3} s", greeting.device);
            greeted(started.greeting());
            self.executor = Some(started);
        }
        self.executor.as_mut().ok_or_else(|| environment("no executor".to_owned()))
    }

    /// Ends the executor in an orderly way. The next case starts a new one, which is no restart.
    pub(crate) fn shut_down(&mut self) {
        if let Some(mut executor) = self.executor.take() {
            executor.shut_down();
            self.has_started = false;
        }
    }
}
