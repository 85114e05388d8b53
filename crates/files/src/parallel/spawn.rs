//! Starting threads that the system may refuse.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// A thread that could not be started, with the work it was for.
pub struct Refused<F> {
    /// The work; nothing of it has been done.
    pub work: F,
    /// The system's reason.
    pub reason: io::Error,
}

impl<F> fmt::Debug for Refused<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("reason", &self.reason).finish_non_exhaustive()
    }
}

/// Starts a thread; gives the work back where the system refuses one.
///
/// # Errors
/// [`Refused`] with the work, so that the caller can do it.
pub fn spawn<F, T>(name: &str, work: F) -> Result<JoinHandle<T>, Refused<F>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let work = Arc::new(Mutex::new(Some(work)));
    let of_thread = Arc::clone(&work);
    let take = |work: &Mutex<Option<F>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let started = builder().name(name.to_owned()).spawn(move || match take(&of_thread) {
        Some(work) => work(),
        None => unreachable!("the work is only taken back from a thread that never ran"),
    });
    match started {
        Ok(handle) => Ok(handle),
        Err(reason) => match take(&work) {
            Some(work) => Err(Refused { work, reason }),
            None => unreachable!("a thread that was refused has not run"),
        },
    }
}

/// What every thread of this crate is started with.
pub(crate) fn builder() -> Builder {
    #[cfg(test)]
    if !tests::may_spawn() {
        // More than any address space has: the system itself refuses.
        return Builder::new().stack_size(1 << 62);
    }
    Builder::new()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::spawn;
    use std::cell::Cell;

    thread_local! {
        static ALLOWED: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    /// Runs `test`; this thread can start `threads` threads in it.
    pub(crate) fn with_threads_allowed<T>(threads: usize, test: impl FnOnce() -> T) -> T {
        let before = ALLOWED.replace(threads);
        let result = test();
        ALLOWED.set(before);
        result
    }

    pub(super) fn may_spawn() -> bool {
        let left = ALLOWED.get();
        ALLOWED.set(left.saturating_sub(1));
        left > 0
    }

    #[test]
    fn a_refused_thread_gives_its_work_back() {
        let refused = with_threads_allowed(0, || spawn("never", || 7)).expect_err("refused");
        assert_eq!((refused.work)(), 7);
        assert!(!refused.reason.to_string().is_empty());
        let handle = spawn("once", || 8).expect("a thread");
        assert_eq!(handle.join().expect("no panic"), 8);
    }
}
