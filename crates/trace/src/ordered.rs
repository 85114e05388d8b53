//! Work on several threads whose results are used in order.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};

/// Tasks per thread that are under way or wait for their turn; bounds what is held in memory.
const AHEAD: usize = 3;

/// Does every task on one of `threads` threads and hands the results to `merge` on the calling thread, in the order of the
/// tasks, until `merge` gives `false` or fails. `scratch` makes what each thread keeps for its tasks.
pub(crate) fn in_order<T, S, R, E>(
    threads: usize,
    mut tasks: impl Iterator<Item = T>,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> R + Sync,
    mut merge: impl FnMut(T, R) -> Result<bool, E>,
) -> Result<(), E>
where
    T: Send,
    R: Send,
{
    let (send_task, tasks_waiting) = channel::<(usize, T)>();
    let (send_result, results) = channel::<(usize, T, Result<R, Box<dyn Any + Send>>)>();
    let tasks_waiting = Mutex::new(tasks_waiting);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let (send_result, tasks_waiting) = (send_result.clone(), &tasks_waiting);
            let (scratch, work) = (&scratch, &work);
            scope.spawn(move || {
                let mut scratch = scratch();
                loop {
                    let task = tasks_waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((number, task)) = task else { return };
                    let result = catch_unwind(AssertUnwindSafe(|| work(&mut scratch, &task)));
                    if send_result.send((number, task, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send_result);
        let mut sent = 0;
        let mut merged = 0;
        let mut early = BTreeMap::new();
        loop {
            while sent < merged + AHEAD * threads.max(1) {
                let Some(task) = tasks.next() else { break };
                // The threads go on until the sender is dropped.
                let _ = send_task.send((sent, task));
                sent += 1;
            }
            if merged == sent {
                break;
            }
            while let Some((task, result)) = early.remove(&merged) {
                merged += 1;
                if !merge(task, result)? {
                    // Dropping the sender at the end of this scope ends the threads.
                    drop(send_task);
                    return Ok(());
                }
            }
            if merged < sent
                && let Ok((number, task, result)) = results.recv()
            {
                early.insert(number, (task, result.unwrap_or_else(|panic| resume_unwind(panic))));
            }
        }
        drop(send_task);
        Ok(())
    })
}
