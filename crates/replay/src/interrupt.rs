//! The wish to stop, as a signal handler or a caller states it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Shared between whoever watches signals and a run. Clones are the same wish.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicI32>);

impl Interrupt {
    /// Asks the run to stop because of that signal.
    pub fn stop(&self, signal: i32) {
        self.0.store(signal, Ordering::SeqCst);
    }

    /// The signal, if the run is to stop.
    pub fn signal(&self) -> Option<i32> {
        Some(self.0.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }
}
