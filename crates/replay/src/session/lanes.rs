//! The executors of a run: one lane per device, and one for a call on several ranks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use crate::case::Case;
use crate::executor::supervisor::{Supervisor, Trouble};
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
pub(super) type Answer = Result<(Measured, u32), Trouble>;

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
    pub(super) refuses: &'w (dyn Fn(&Case) -> Option<Trouble> + Sync),
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
                let result = run_in_turn(&mut self.ranks, &*self.starters.ranks, work, merge);
                self.ranks.shut_down();
                result
            }
            Route::Devices => match self.devices.as_mut_slice() {
                [lane] => run_in_turn(lane, &*self.starters.single, work, merge),
                lanes => run_shared(lanes, &*self.starters.single, work, merge),
            },
        }
    }
}

fn answer(lane: &mut Supervisor, start: &StartExecutor<'_>, work: &Work<'_>, case: &Arc<Case>) -> Answer {
    match (work.refuses)(case) {
        Some(trouble) => Err(trouble),
        None => lane.run(start, work.next_id, case, work.dump, &work.greeted),
    }
}

fn ends_the_operator(answer: &Answer) -> bool {
    match answer {
        Err(Trouble::Start(_) | Trouble::UnsupportedOperator) => true,
        Err(Trouble::Case(error)) => error.kind == crate::refusal::ErrorKind::Environment,
        Ok(_) => false,
    }
}

fn run_in_turn<E>(
    lane: &mut Supervisor,
    start: &StartExecutor<'_>,
    work: &Work<'_>,
    merge: &mut dyn FnMut(usize, Answer) -> Result<(), E>,
) -> Result<(), E> {
    for (index, case) in work.cases.iter().enumerate() {
        if (work.is_stopped)() {
            return Ok(());
        }
        let answer = answer(lane, start, work, case);
        let ends = ends_the_operator(&answer);
        merge(index, answer)?;
        if ends {
            return Ok(());
        }
    }
    Ok(())
}

/// Each lane takes the next case of the plan as it gets free; answers are merged in plan order.
fn run_shared<E>(
    lanes: &mut [Supervisor],
    start: &StartExecutor<'_>,
    work: &Work<'_>,
    merge: &mut dyn FnMut(usize, Answer) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let (sender, answers) = channel();
    std::thread::scope(|scope| {
        for lane in lanes {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) && !(work.is_stopped)() {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = work.cases.get(index) else { return };
                    let answer = answer(lane, start, work, case);
                    if ends_the_operator(&answer) {
                        stop.store(true, Ordering::Relaxed);
                    }
                    if sender.send((index, answer)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early: std::collections::BTreeMap<usize, Answer> = std::collections::BTreeMap::new();
        let mut expected = 0;
        let mut result = Ok(());
        for (index, answer) in answers {
            early.insert(index, answer);
            while let Some(answer) = early.remove(&expected) {
                if result.is_ok() {
                    result = merge(expected, answer);
                    if result.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                expected += 1;
            }
        }
        for (index, answer) in early {
            result = result.and_then(|()| merge(index, answer));
        }
        result
    })
}
