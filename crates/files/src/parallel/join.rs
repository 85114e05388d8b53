//! Two pieces of work at the same time.

use crate::parallel::spawn::builder;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

/// Does `first` on the calling thread and `second` on another one, or one after the other where there is no other. A
/// panic of either goes on in the caller once both have ended.
pub fn join<A, B: Send>(first: impl FnOnce() -> A, second: impl FnOnce() -> B + Send) -> (A, B) {
    let second = Mutex::new(Some(second));
    let take = || second.lock().unwrap_or_else(PoisonError::into_inner).take();
    std::thread::scope(|scope| {
        let other = builder().spawn_scoped(scope, || take().map(|second| second()));
        let first = first();
        let second = match other {
            Ok(other) => other.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => take().map(|second| second()),
        };
        match second {
            Some(second) => (first, second),
            None => unreachable!("only one of the threads takes the second piece"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::join;
    use crate::parallel::spawn::tests::with_threads_allowed;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn both_are_done_with_and_without_a_thread() {
        for threads in [0, 1] {
            assert_eq!(with_threads_allowed(threads, || join(|| 1, || "two")), (1, "two"));
        }
    }

    #[test]
    fn the_second_runs_on_a_thread_of_its_own() {
        let here = std::thread::current().id();
        let (first, second) = join(|| std::thread::current().id(), || std::thread::current().id());
        assert!(first == here && second != here);
    }

    #[test]
    fn panics_go_on_in_the_caller() {
        for threads in [0, 1] {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                with_threads_allowed(threads, || join(|| (), || -> () { std::panic::panic_any("second") }))
            }));
            assert_eq!(caught.expect_err("a panic").downcast_ref::<&str>(), Some(&"second"));
        }
    }
}
