//! Ctrl-C and SIGTERM become a wish to stop, so that workers are ended and reports are written.

use nix::sys::signal::{SigSet, Signal};
use perfdb_replay::interrupt::Interrupt;

/// Watches for Ctrl-C and SIGTERM. To be called before other threads are started: they inherit the blocked signals.
/// A second signal ends the process at once.
pub fn watch_signals() -> Interrupt {
    let interrupt = Interrupt::default();
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    if signals.thread_block().is_err() {
        return interrupt;
    }
    let wish = interrupt.clone();
    std::thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            if wish.signal().is_some() {
                std::process::exit(128 + signal as i32);
            }
            wish.stop(signal as i32);
        }
    });
    interrupt
}
