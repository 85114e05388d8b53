use super::*;
use crate::parallel::spawn::tests::with_threads_allowed;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicUsize;
use std::sync::{Barrier, Condvar};

/// A run whose source, or whose merging, may fail or stop at some task.
#[derive(Debug, Clone)]
struct Plan {
    tasks: usize,
    states: usize,
    threads_allowed: usize,
    tasks_ahead: usize,
    source_fails_at: Option<usize>,
    merge_fails_at: Option<usize>,
    breaks_at: Option<usize>,
}

fn plans() -> impl Strategy<Value = Plan> {
    let at = || prop::option::weighted(0.3, 0_usize..50);
    (0_usize..60, 1_usize..5, 0_usize..5, 1_usize..8, at(), at(), at()).prop_map(
        |(tasks, states, threads_allowed, tasks_ahead, source_fails_at, merge_fails_at, breaks_at)| Plan {
            tasks,
            states,
            threads_allowed,
            tasks_ahead,
            source_fails_at,
            merge_fails_at,
            breaks_at,
        },
    )
}

#[derive(Debug, PartialEq)]
enum Fault {
    Source(usize),
    Merge(usize),
}

/// What a plan must come to, one task after the other.
fn expected(plan: &Plan) -> (Vec<usize>, Result<(), Fault>) {
    let mut merged = Vec::new();
    for task in 0..plan.tasks {
        if plan.source_fails_at == Some(task) {
            return (merged, Err(Fault::Source(task)));
        }
        if plan.merge_fails_at == Some(task) {
            return (merged, Err(Fault::Merge(task)));
        }
        merged.push(task * 10);
        if plan.breaks_at == Some(task) {
            break;
        }
    }
    (merged, Ok(()))
}

proptest! {
    #[test]
    fn results_and_faults_are_those_of_one_thread(plan in plans()) {
        let mut tasks = 0..plan.tasks;
        let mut merged = Vec::new();
        // Alive: taken and not merged.
        let (taken, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut most_alive = 0;
        let mut states = vec![0_usize; plan.states];
        let result = with_threads_allowed(plan.threads_allowed, || {
            OrderedMap::new(&mut states).tasks_ahead(plan.tasks_ahead).run(
                || {
                    let task = tasks.next();
                    if let Some(task) = task.filter(|task| plan.source_fails_at == Some(*task)) {
                        return Err(Fault::Source(task));
                    }
                    if task.is_some() {
                        let alive = 1 + taken.fetch_add(1, Ordering::SeqCst) - ended.load(Ordering::SeqCst);
                        most_alive = most_alive.max(alive);
                    }
                    Ok(task)
                },
                |done: &mut usize, task| {
                    *done += 1;
                    task * 10
                },
                |result| {
                    ended.fetch_add(1, Ordering::SeqCst);
                    if plan.merge_fails_at == Some(result / 10) {
                        return Err(Fault::Merge(result / 10));
                    }
                    merged.push(result);
                    Ok(if plan.breaks_at == Some(result / 10) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                },
            )
        });
        let done: usize = states.iter().sum();
        prop_assert!(done <= taken.into_inner());
        prop_assert!(most_alive <= plan.tasks_ahead, "{most_alive} alive");
        if result.is_ok() && plan.breaks_at.is_none() {
            prop_assert_eq!(done, plan.tasks);
        }
        prop_assert_eq!((merged, result), expected(&plan));
    }
}

#[test]
fn every_state_works_at_the_same_time() {
    let (threads, together) = (3, Barrier::new(3));
    let mut states: Vec<usize> = (0..threads).collect();
    let (mut tasks, mut seen) = (0..threads, BTreeSet::new());
    let result = OrderedMap::new(&mut states).run(
        || Ok::<_, ()>(tasks.next()),
        |state, _| {
            // Only passed when each thread has a task.
            together.wait();
            *state
        },
        |state| {
            seen.insert(state);
            Ok(ControlFlow::Continue(()))
        },
    );
    assert_eq!((result, seen), (Ok(()), BTreeSet::from([0, 1, 2])));
}

#[test]
fn one_state_and_no_thread_mean_the_calling_thread() {
    let here = std::thread::current().id();
    for (states, allowed) in [(1, 9), (3, 0)] {
        let (mut tasks, mut merged) = (0..5, 0);
        with_threads_allowed(allowed, || {
            OrderedMap::new(&mut vec![(); states]).run(
                || Ok::<_, ()>(tasks.next()),
                |(), _| assert_eq!(std::thread::current().id(), here),
                |()| {
                    merged += 1;
                    Ok(ControlFlow::Continue(()))
                },
            )
        })
        .expect("no fault");
        assert_eq!(merged, 5);
    }
}

#[test]
fn a_task_that_takes_long_does_not_hold_up_the_others() {
    // The first task ends only when all others have.
    let (done, changed) = (Mutex::new(0), Condvar::new());
    let (mut tasks, mut merged) = (0..20, Vec::new());
    OrderedMap::new(&mut [(), ()])
        .tasks_ahead(20)
        .run(
            || Ok::<_, ()>(tasks.next()),
            |(), task| {
                let mut count = lock(&done);
                if task == 0 {
                    while *count < 19 {
                        count = changed.wait(count).unwrap_or_else(PoisonError::into_inner);
                    }
                } else {
                    *count += 1;
                    changed.notify_all();
                }
                task
            },
            |task| {
                merged.push(task);
                Ok(ControlFlow::Continue(()))
            },
        )
        .expect("no fault");
    assert_eq!(merged, (0..20).collect::<Vec<_>>());
}

#[test]
fn panics_of_work_source_and_merge_reach_the_caller() {
    for place in ["work", "source", "merge"] {
        for states in [1, 3] {
            let mut tasks = 0..100;
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let fail_at = |here: &str, task: usize| {
                    if here == place && task == 7 {
                        std::panic::panic_any(place);
                    }
                };
                OrderedMap::new(&mut vec![(); states]).run(
                    || {
                        let task = tasks.next();
                        fail_at("source", task.unwrap_or(0));
                        Ok::<_, ()>(task)
                    },
                    |(), task| {
                        fail_at("work", task);
                        task
                    },
                    |task| {
                        fail_at("merge", task);
                        Ok(ControlFlow::Continue(()))
                    },
                )
            }));
            assert_eq!(caught.expect_err("a panic").downcast_ref::<&str>(), Some(&place));
        }
    }
}
