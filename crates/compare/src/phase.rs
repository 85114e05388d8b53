//! Phases of the work in the log.

use std::time::Instant;

/// Does some work, and logs how long it took.
pub(crate) fn phase<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = work();
    tracing::info!("{name} took {:.3} s", started.elapsed().as_secs_f64());
    result
}
