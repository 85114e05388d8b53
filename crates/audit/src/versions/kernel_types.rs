//! Work on many tables, a kernel type at a time.

use perfdb_files::parallel::{OrderedMap, states};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Most threads: each holds whole tables.
const MOST_THREADS: usize = 8;

/// Does `work` on kernel types, on several threads, and hands on what comes of each in their order. Few wait, so that memory does not grow
/// with the databases.
pub(crate) fn each<R: Send, E>(
    kernel_types: BTreeSet<&str>,
    work: impl Fn(&str) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let mut waiting = kernel_types.into_iter();
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get()).min(MOST_THREADS);
    let mut threads = states(threads, || ());
    let ahead = threads.len();
    OrderedMap::new(&mut threads).tasks_ahead(ahead).run(
        || Ok(waiting.next()),
        |(), kernel_type| work(kernel_type),
        |result| take(result).map(ControlFlow::Continue),
    )
}
