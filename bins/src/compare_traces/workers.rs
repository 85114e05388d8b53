//! How the cores are shared among traces that are read at the same time.

use crate::comparison::usable_cores;

/// Workers that load traces, and the threads that each of them may use.
pub(super) struct Workers {
    pub(super) count: usize,
    pub(super) threads: usize,
}

impl Workers {
    /// As many as are asked for (`None`: half the cores), and no more than there are `tasks`.
    pub(super) fn new(jobs: Option<usize>, tasks: usize) -> Workers {
        let cores = usable_cores();
        let count = jobs.unwrap_or(cores / 2).min(tasks).max(1);
        Workers { count, threads: (cores / (2 * count)).max(1) }
    }
}
