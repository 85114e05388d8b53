//! Giving up a computation in process: a case that takes too long, or a run that is to stop.
//!
//! The executor says on its thread which wish counts while it runs a case. Long loops ask between their parts, and the
//! jobs of a kernel that have not begun are left out; what is computed from then on is worthless and thrown away.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::refusal::{CaseError, ErrorKind};

thread_local! {
    static WISH: RefCell<Option<Wish>> = const { RefCell::new(None) };
}

/// The wish to give up what is being computed. Clones are the same wish.
#[derive(Clone, Debug, Default)]
pub struct Wish(Arc<AtomicBool>);

impl Wish {
    /// Gives up.
    pub fn state(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Takes the wish back.
    pub fn withdraw(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// True when nobody waits for the result any more.
    pub fn is_stated(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs `work`, which this wish may end early.
pub fn heeding<R>(wish: &Wish, work: impl FnOnce() -> R) -> R {
    let before = WISH.replace(Some(wish.clone()));
    let result = work();
    WISH.set(before);
    result
}

/// The wish that counts on this thread.
pub(crate) fn current() -> Option<Wish> {
    WISH.with_borrow(Clone::clone)
}

/// An error once the work of this thread has been given up (`timeout`).
pub(crate) fn proceed() -> Result<(), CaseError> {
    match current() {
        Some(wish) if wish.is_stated() => Err(CaseError::new(ErrorKind::Timeout, "given up")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_counts_while_it_is_heeded() {
        let wish = Wish::default();
        heeding(&wish, || assert_eq!(proceed(), Ok(())));
        wish.state();
        assert_eq!(heeding(&wish, proceed).map_err(|error| error.kind), Err(ErrorKind::Timeout));
        assert_eq!(proceed(), Ok(()));
        wish.withdraw();
        assert_eq!(heeding(&wish, proceed), Ok(()));
    }
}
