//! Ending in order when the user or the system asks for it.

use nix::sys::signal::{SigSet, Signal};
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// A flag that becomes true when the process is asked to end (SIGINT, SIGTERM, SIGHUP), instead of ending it there and then.
/// Call it before any thread is started: threads that exist already would still be ended.
pub fn on_signal() -> &'static AtomicBool {
    let signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
    if signals.thread_block().is_ok() {
        std::thread::spawn(move || {
            while signals.wait().is_ok() {
                ASKED.store(true, Ordering::Relaxed);
            }
        });
    }
    &ASKED
}
