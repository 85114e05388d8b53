//! Pieces of work that do not need each other.

/// Kernels below which a thread costs more than it saves.
const WORTH_A_THREAD: usize = 10_000;

/// Whether two pieces of work are done at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtOnce(bool);

impl AtOnce {
    /// One after the other.
    pub(crate) const NEVER: AtOnce = AtOnce(false);

    /// For work on this many kernels.
    pub(crate) fn of(threads: usize, kernels: usize) -> AtOnce {
        AtOnce(threads > 1 && kernels >= WORTH_A_THREAD)
    }

    /// Does both.
    pub(crate) fn both<A, B: Send>(self, first: impl FnOnce() -> A, second: impl FnOnce() -> B + Send) -> (A, B) {
        if self.0 { perfdb_files::parallel::join(first, second) } else { (first(), second()) }
    }
}
