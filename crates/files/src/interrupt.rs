//! Ctrl-C and the other signals that ask a program to end.
//!
//! Once [`install`]ed, a signal (SIGINT, SIGTERM, SIGHUP) ends the process as it would without, but first removes its temporaries and
//! lock files, and never comes between the renames of one set of files. A program that can stop in order [takes](cooperate) the first signal as
//! a request; the second one ends it at once.

use crate::leftovers;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A request to stop, shared between whoever watches signals and a run. Clones are the same request.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Request>);

#[derive(Debug, Default)]
struct Request {
    signal: AtomicI32,
    is_made: AtomicBool,
}

impl Interrupt {
    /// Asks the run to stop because of that signal.
    pub fn stop(&self, signal: i32) {
        self.0.signal.store(signal, Ordering::SeqCst);
        self.0.is_made.store(true, Ordering::SeqCst);
    }

    /// The signal, if the run is to stop.
    pub fn signal(&self) -> Option<i32> {
        Some(self.0.signal.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }

    /// A flag that is true once the run is to stop.
    pub fn flag(&self) -> &AtomicBool {
        &self.0.is_made
    }
}

/// The request that signals make.
static BY_SIGNAL: LazyLock<Interrupt> = LazyLock::new(Interrupt::default);
/// Whether the program stops by itself when it is asked to.
static COOPERATES: AtomicBool = AtomicBool::new(false);

/// Watches for signals from now on, in a thread of its own. A program that cannot start one is ended by signals as any other is.
pub fn install() -> io::Result<()> {
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if *installed {
        return Ok(());
    }
    // The thread first: without it nobody would answer the signals.
    let (sender, receiver) = std::sync::mpsc::channel::<Signals>();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Ok(signals) = receiver.recv() {
            watch(signals);
        }
    })?;
    // A file that may not grow any more is an error of its writer, which cleans up.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let _ = sender.send(signals);
    *installed = true;
    Ok(())
}

/// The request that the first signal makes from now on; the second one ends the process. Without [`install`] before, installs.
pub fn cooperate() -> &'static Interrupt {
    COOPERATES.store(true, Ordering::SeqCst);
    if let Err(error) = install() {
        tracing::warn!("signals end this process at once: {error}");
    }
    &BY_SIGNAL
}

fn watch(mut signals: Signals) {
    for signal in signals.forever() {
        if COOPERATES.load(Ordering::SeqCst) && BY_SIGNAL.signal().is_none() {
            BY_SIGNAL.stop(signal);
            continue;
        }
        let _held = leftovers::remove_all();
        let _ = emulate_default_handler(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_seen_by_all_clones() {
        let interrupt = Interrupt::default();
        let clone = interrupt.clone();
        assert_eq!((clone.signal(), clone.flag().load(Ordering::SeqCst)), (None, false));
        interrupt.stop(15);
        assert_eq!((clone.signal(), clone.flag().load(Ordering::SeqCst)), (Some(15), true));
    }
}
