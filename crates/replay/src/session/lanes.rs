//! The executors of a run: one lane per device, and one for a call on several ranks.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use perfdb_files::parallel::OrderedMap;

use crate::case::Case;
use crate::executor::supervisor::{CaseFailure, Supervisor};
use crate::executor::{Greeting, Measured, StartExecutor};
use crate::settings::RunSettings;

/// How executors are started.
pub struct Starters<'a> {
    /// On one device.
    pub single: Box<StartExecutor<'a>>,
    /// On several ranks.
    pub ranks: Box<StartExecutor<'a>>,
}

/// What an executor gave for a case, with the number of its device.
pub(super) type Answer = Result<(Measured, u32), CaseFailure>;

/// Where the cases of an operator go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// To the lanes, one case at a time each.
    Devices,
    /// To the executor that spans several ranks.
    Ranks,
}

pub(super) struct Lanes<'a> {
    starters: Starters<'a>,
    devices: Vec<Supervisor>,
    ranks: Supervisor,
}

/// What the lanes need to know to run cases.
pub(super) struct Work<'w> {
    pub(super) cases: &'w [Arc<Case>],
    pub(super) dump: bool,
    pub(super) next_id: &'w (dyn Fn() -> u64 + Sync),
    pub(super) greeted: &'w (dyn Fn(&Greeting) + Sync),
    /// Refuses a case before it is sent.
    pub(super) refuses: &'w (dyn Fn(&Case) -> Option<CaseFailure> + Sync),
    /// True when no further case is to be sent.
    pub(super) is_stopped: &'w (dyn Fn() -> bool + Sync),
}

impl<'a> Lanes<'a> {
    pub(super) fn new(settings: &RunSettings, starters: Starters<'a>) -> Lanes<'a> {
        let restarts = settings.limits.max_restarts;
        let devices = match settings.devices.as_slice() {
            [] => vec![Supervisor::new(None, restarts)],
            devices => devices.iter().map(|device| Supervisor::new(Some(device.clone()), restarts)).collect(),
        };
        Lanes { starters, devices, ranks: Supervisor::new(None, restarts) }
    }

    pub(super) fn shut_down(&mut self) {
        for lane in &mut self.devices {
            lane.shut_down();
        }
        self.ranks.shut_down();
    }

    /// Runs the cases and hands each answer, in the order of the cases, to `merge`. Cases that were not sent get none.
    pub(super) fn run<E>(
        &mut self,
        route: Route,
        work: &Work<'_>,
        merge: &mut dyn FnMut(usize, Answer) -> Result<(), E>,
    ) -> Result<(), E> {
        match route {
            Route::Ranks => {
                // The devices are needed by the ranks.
                for lane in &mut self.devices {
                    lane.shut_down();
                }
                let ranks = std::slice::from_mut(&mut self.ranks);
                let result = run_on(ranks, &*self.starters.ranks, work, merge);
                self.ranks.shut_down();
                result
            }
            Route::Devices => run_on(&mut self.devices, &*self.starters.single, work, merge),
        }
    }
}

fn answer(lane: &mut Supervisor, start: &StartExecutor<'_>, work: &Work<'_>, case: &Arc<Case>) -> Answer {
    match (work.refuses)(case) {
        Some(error) => Err(error),
        None => lane.run(start, work.next_id, case, work.dump, &work.greeted),
    }
}

fn ends_the_operator(answer: &Answer) -> bool {
    match answer {
        Err(CaseFailure::Start(_) | CaseFailure::UnsupportedOperator) => true,
        Err(CaseFailure::Case(error)) => error.kind == crate::refusal::ErrorKind::Environment,
        Ok(_) => false,
    }
}

/// Each lane takes the next case of the plan as it gets free; answers are merged in plan order. What has been answered when
/// the operator ends is merged all the same.
fn run_on<E>(
    lanes: &mut [Supervisor],
    start: &StartExecutor<'_>,
    work: &Work<'_>,
    merge: &mut dyn FnMut(usize, Answer) -> Result<(), E>,
) -> Result<(), E> {
    let ends = AtomicBool::new(false);
    let is_stopped = || ends.load(Ordering::Relaxed) || (work.is_stopped)();
    let mut cases = work.cases.iter().enumerate();
    // A lane never waits for one that takes longer.
    OrderedMap::new(lanes).tasks_ahead(work.cases.len()).run(
        || Ok(cases.next().filter(|_| !is_stopped())),
        |lane, (index, case)| {
            let answer = (!is_stopped()).then(|| answer(lane, start, work, case))?;
            if ends_the_operator(&answer) {
                ends.store(true, Ordering::Relaxed);
            }
            Some((index, answer))
        },
        |answered| {
            if let Some((index, answer)) = answered {
                merge(index, answer).inspect_err(|_| ends.store(true, Ordering::Relaxed))?;
            }
            Ok(ControlFlow::Continue(()))
        },
    )
}
