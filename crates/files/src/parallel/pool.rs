//! Threads for iterators of rayon, as many as the system gives.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::sync::LazyLock;

/// Runs `work`; iterators of rayon in it use all cores. Where the system refuses the threads they use fewer, and in the end the calling thread:
/// rayon's own pool would panic. Within a pool of rayon it is that one.
///
/// ```
/// use rayon::prelude::*;
///
/// let squares: Vec<u32> = perfdb_files::parallel::on_all_cores(|| [1, 2, 3].par_iter().map(|x| x * x).collect());
/// assert_eq!(squares, [1, 4, 9]);
/// ```
pub fn on_all_cores<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| start(&ThreadPoolBuilder::build));
    if rayon::current_thread_index().is_some() {
        return work();
    }
    match &*POOL {
        Some(pool) => pool.install(work),
        None => alone(work),
    }
}

/// A pool of as many threads as there are cores, or a half, a quarter of them …; none where there is not one thread to be had.
fn start(build: &dyn Fn(ThreadPoolBuilder) -> Result<ThreadPool, ThreadPoolBuildError>) -> Option<ThreadPool> {
    // As many as the user or the number of cores says.
    let mut threads = 0;
    loop {
        if let Ok(pool) = build(ThreadPoolBuilder::new().num_threads(threads)) {
            return Some(pool);
        }
        let most = std::thread::available_parallelism().map_or(1, usize::from);
        threads = if threads == 0 { most } else { threads } / 2;
        if threads == 0 {
            return None;
        }
    }
}

/// Makes the calling thread a pool of its own, for as long as it lives.
fn alone<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    // Without a new thread there is nothing to refuse; were it refused all the same, the work would say so.
    if let Ok(pool) = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        std::mem::forget(pool);
    }
    work()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    /// More than any address space has: the system itself refuses.
    fn refuse(builder: ThreadPoolBuilder) -> Result<ThreadPool, ThreadPoolBuildError> {
        builder.stack_size(1 << 62).build()
    }

    #[test]
    fn without_threads_the_caller_does_the_work() {
        assert!(start(&refuse).is_none());
        let sum = std::thread::spawn(|| {
            let sum = || (0..1000).into_par_iter().map(|x: u64| x * 2).sum::<u64>();
            let here = std::thread::current().id();
            let threads = || (0..100).into_par_iter().map(|_| std::thread::current().id()).collect::<Vec<_>>();
            assert!(alone(threads).iter().all(|&thread| thread == here));
            alone(sum) + on_all_cores(sum)
        });
        assert_eq!(sum.join().expect("no panic"), 2 * 999_000);
    }

    #[test]
    fn fewer_threads_than_cores_do() {
        let most = std::thread::available_parallelism().map_or(1, usize::from);
        let few = |builder: ThreadPoolBuilder| {
            if builder_asks_for(&builder, most) { refuse(builder) } else { builder.build() }
        };
        assert_eq!(start(&few).map_or(0, |pool| pool.current_num_threads()), most / 2);
    }

    /// Whether a pool of it would have that many threads, or as many as there are cores.
    fn builder_asks_for(builder: &ThreadPoolBuilder, most: usize) -> bool {
        let text = format!("{builder:?}");
        text.contains("num_threads: 0,") || text.contains(&format!("num_threads: {most},"))
    }
}
