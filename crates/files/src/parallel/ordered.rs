//! The ordered parallel map.

use crate::parallel::spawn::builder;
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// Tasks per thread that are under way or wait for their turn, unless set by [`OrderedMap::tasks_ahead`].
const TASKS_AHEAD: usize = 3;

/// One state per thread, for an [`OrderedMap`]; one for 0 threads.
pub fn states<S>(threads: usize, make: impl FnMut() -> S) -> Vec<S> {
    std::iter::repeat_with(make).take(threads.max(1)).collect()
}

/// Works on tasks in parallel and merges the results in the order of the tasks.
///
/// Each thread has one of the `states`: scratch memory, or what the work is done on (a device). Tasks are taken and
/// results merged on the calling thread, so neither need be `Send`; with one state the calling thread does everything.
#[derive(Debug)]
pub struct OrderedMap<'s, S> {
    states: &'s mut [S],
    tasks_ahead: usize,
}

impl<'s, S: Send> OrderedMap<'s, S> {
    /// A map on as many threads as there are states.
    ///
    /// # Panics
    /// Without a state.
    pub fn new(states: &'s mut [S]) -> OrderedMap<'s, S> {
        assert!(!states.is_empty(), "at least one state is needed to work with");
        let tasks_ahead = TASKS_AHEAD * states.len();
        OrderedMap { states, tasks_ahead }
    }

    /// How many tasks may be taken and not merged yet (at least one): bounds what is held in memory. By default three
    /// per thread. More lets threads go on behind a task that takes long.
    #[must_use]
    pub fn tasks_ahead(self, tasks: usize) -> OrderedMap<'s, S> {
        OrderedMap { tasks_ahead: tasks.max(1), ..self }
    }

    /// Takes tasks from `next` until it gives none, does `work` on each and hands the results to `merge` in the order of
    /// the tasks, until it breaks off. Tasks that are under way then are finished, and their results dropped.
    ///
    /// # Errors
    /// The first error in the order of the tasks, of `next` (once everything before it has been merged) or of `merge`.
    ///
    /// # Panics
    /// When one of the functions does; the other threads end first.
    pub fn run<T, R, E>(
        self,
        next: impl FnMut() -> Result<Option<T>, E>,
        work: impl Fn(&mut S, T) -> R + Sync,
        merge: impl FnMut(R) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E>
    where
        T: Send,
        R: Send,
    {
        match self.states {
            [] => Ok(()),
            [state] => in_turn(state, next, work, merge),
            states => on_threads(states, self.tasks_ahead, next, work, merge),
        }
    }
}

fn in_turn<S, T, R, E>(
    state: &mut S,
    mut next: impl FnMut() -> Result<Option<T>, E>,
    work: impl Fn(&mut S, T) -> R,
    mut merge: impl FnMut(R) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    while let Some(task) = next()? {
        if merge(work(state, task))?.is_break() {
            break;
        }
    }
    Ok(())
}

/// A task or a result, with its number in the order of the tasks.
type Numbered<T> = (usize, T);

/// What came of a task, or the panic in it.
type Outcome<R> = Result<R, Box<dyn Any + Send>>;

fn on_threads<S: Send, T: Send, R: Send, E>(
    states: &mut [S],
    tasks_ahead: usize,
    next: impl FnMut() -> Result<Option<T>, E>,
    work: impl Fn(&mut S, T) -> R + Sync,
    merge: impl FnMut(R) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let (task_sender, task_receiver) = channel();
    let task_receiver = Mutex::new(task_receiver);
    let (result_sender, results) = channel();
    let stopped = AtomicBool::new(false);
    let threads = states.len();
    let idle_states = Mutex::new(states.iter_mut());
    let take_state = || lock(&idle_states).next();
    std::thread::scope(|scope| {
        let mut started = 0;
        for _ in 0..threads {
            let (result_sender, task_receiver, stopped, work) =
                (result_sender.clone(), &task_receiver, &stopped, &work);
            let worker = move || {
                if let Some(state) = take_state() {
                    work_on_tasks(state, task_receiver, &result_sender, stopped, work);
                }
            };
            if builder().spawn_scoped(scope, worker).is_err() {
                // What is refused once is refused again.
                break;
            }
            started += 1;
        }
        drop(result_sender);
        let _stop = StopOnDrop(&stopped);
        match take_state_unless(started > 0, take_state) {
            Some(state) => in_turn(state, next, &work, merge),
            None => feed_and_merge(task_sender, &results, tasks_ahead, next, merge),
        }
    })
}

/// A state for the calling thread, where it has to do the work.
fn take_state_unless<'s, S>(has_threads: bool, take: impl FnOnce() -> Option<&'s mut S>) -> Option<&'s mut S> {
    if has_threads { None } else { take() }
}

/// What each thread does until all tasks are done.
fn work_on_tasks<S, T, R>(
    state: &mut S,
    tasks: &Mutex<Receiver<Numbered<T>>>,
    results: &Sender<Numbered<Outcome<R>>>,
    stopped: &AtomicBool,
    work: &impl Fn(&mut S, T) -> R,
) {
    loop {
        let task = lock(tasks).recv();
        let Ok((number, task)) = task else { return };
        if stopped.load(Ordering::Relaxed) {
            return;
        }
        let result = catch_unwind(AssertUnwindSafe(|| work(state, task)));
        if results.send((number, result)).is_err() {
            return;
        }
    }
}

/// What the calling thread does. The sender goes when this ends, in any way, and the threads with it.
fn feed_and_merge<T, R, E>(
    tasks: Sender<Numbered<T>>,
    results: &Receiver<Numbered<Outcome<R>>>,
    tasks_ahead: usize,
    mut next: impl FnMut() -> Result<Option<T>, E>,
    mut merge: impl FnMut(R) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let (mut taken, mut merged) = (0, 0);
    let mut end = None;
    let mut early = BTreeMap::new();
    loop {
        while end.is_none() && taken - merged < tasks_ahead {
            match next() {
                Ok(Some(task)) => {
                    // Received as long as there are threads, and they go on until the sender is gone.
                    let _ = tasks.send((taken, task));
                    taken += 1;
                }
                Ok(None) => end = Some(Ok(())),
                Err(error) => end = Some(Err(error)),
            }
        }
        if merged == taken {
            return end.unwrap_or(Ok(()));
        }
        let result = loop {
            if let Some(result) = early.remove(&merged) {
                break result;
            }
            match results.recv() {
                Ok((number, Ok(result))) => {
                    early.insert(number, result);
                }
                Ok((_, Err(panic))) => resume_unwind(panic),
                Err(_) => unreachable!("threads go on as long as they are given tasks"),
            }
        };
        merged += 1;
        if merge(result)?.is_break() {
            return Ok(());
        }
    }
}

/// Keeps threads from beginning tasks that nobody waits for.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
