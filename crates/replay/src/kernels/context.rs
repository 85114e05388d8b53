//! The context that kernels run in: how their work is cancelled, and how much memory they may take.
//!
//! An executor enters the context on its thread while it runs a case. Long loops ask between their parts whether to go
//! on, and jobs that have not begun are left out after a cancellation; what is computed from then on is worthless.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::kernels::error::KernelError;

thread_local! {
    static CURRENT: RefCell<Option<KernelContext>> = const { RefCell::new(None) };
}

/// Cancels the work of another thread. Clones are the same token.
#[derive(Clone, Debug, Default)]
pub struct CancellationToken(Arc<AtomicBool>);

impl CancellationToken {
    /// Cancels the work that runs under this token.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Makes the token ready for new work.
    pub(crate) fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// True once the work has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What kernels of one thread run under. The default is never cancelled and knows no memory limit.
#[derive(Clone, Debug, Default)]
pub struct KernelContext {
    /// Ends the work early.
    pub cancellation: CancellationToken,
    /// Measures the memory in bytes that is available now, where that is known.
    pub available_bytes: Option<fn() -> Option<u64>>,
    /// The time from which the work counts as cancelled.
    pub deadline: Option<Instant>,
}

impl KernelContext {
    /// True once the work has been cancelled, or its time is up.
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Runs `work` on this thread in this context.
    pub fn scope<R>(&self, work: impl FnOnce() -> R) -> R {
        let before = CURRENT.replace(Some(self.clone()));
        let result = work();
        CURRENT.set(before);
        result
    }
}

/// The context of this thread.
pub(crate) fn current() -> Option<KernelContext> {
    CURRENT.with_borrow(Clone::clone)
}

/// The memory in bytes that this thread's context says is available.
pub(crate) fn available_bytes() -> Option<u64> {
    CURRENT.with_borrow(|context| context.as_ref()?.available_bytes)?()
}

/// An error once the work of this thread has been cancelled.
pub(crate) fn proceed() -> Result<(), KernelError> {
    let is_cancelled = CURRENT.with_borrow(|context| context.as_ref().is_some_and(KernelContext::is_cancelled));
    if is_cancelled { Err(KernelError::Cancelled) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_counts_inside_its_scope() {
        let context = KernelContext::default();
        context.scope(|| assert_eq!(proceed(), Ok(())));
        context.cancellation.cancel();
        assert_eq!(context.scope(proceed), Err(KernelError::Cancelled));
        assert_eq!(proceed(), Ok(()));
        context.cancellation.reset();
        assert_eq!(context.scope(proceed), Ok(()));
        let late = KernelContext { deadline: Some(Instant::now()), ..context };
        assert_eq!(late.scope(proceed), Err(KernelError::Cancelled));
    }
}
