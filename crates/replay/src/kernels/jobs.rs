//! Work on disjoint parts of results, on the threads of the rayon pool that the caller runs in; outside of one on the
//! calling thread alone.
//!
//! Kernels are generic over element types; jobs are not, so that only the loops are compiled once per type and the
//! machinery around them once at all.

use rayon::prelude::*;

use crate::kernels::context::{self, KernelContext};

/// Elements that make a job worth handing to another thread.
const ELEMENTS: usize = 1 << 15;

/// Rows of `width` elements per job.
pub(crate) fn rows_per_job(width: usize) -> usize {
    ELEMENTS.div_ceil(width.max(1))
}

/// Jobs that may run in any order, or at once.
#[derive(Default)]
pub(crate) struct Jobs<'a>(Vec<Box<dyn FnOnce() + Send + 'a>>);

impl<'a> Jobs<'a> {
    /// No jobs.
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a job.
    pub(crate) fn add(&mut self, job: impl FnOnce() + Send + 'a) {
        self.0.push(Box::new(job));
    }

    /// Runs all jobs and waits for them. Once the work has been cancelled, jobs that have not begun are left out.
    pub(crate) fn run(self) {
        let context = context::current();
        let run = |job: Box<dyn FnOnce() + Send + 'a>| {
            if !context.as_ref().is_some_and(KernelContext::is_cancelled) {
                job();
            }
        };
        if self.0.len() == 1 || !has_threads() {
            self.0.into_iter().for_each(run);
        } else {
            self.0.into_par_iter().for_each(run);
        }
    }
}

/// Runs `work` for each number below `count` and returns the results in order.
pub fn collect<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if has_threads() { (0..count).into_par_iter().map(&work).collect() } else { (0..count).map(work).collect() }
}

/// Whether the caller runs in a pool. The global one is never used: it cannot be had where the system gives no threads.
fn has_threads() -> bool {
    rayon::current_thread_index().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_runs_once() {
        let mut counts = vec![0; 1000];
        let mut jobs = Jobs::new();
        counts.iter_mut().for_each(|count| jobs.add(move || *count += 1));
        jobs.run();
        assert!(counts.iter().all(|count| *count == 1));
        assert_eq!(collect(100, |at| at * at), (0..100).map(|at| at * at).collect::<Vec<_>>());
        Jobs::new().run();
    }

    #[test]
    fn jobs_are_left_out_after_a_cancellation() {
        let context = KernelContext::default();
        let mut counts = vec![0; 1000];
        let mut jobs = Jobs::new();
        counts.iter_mut().for_each(|count| jobs.add(move || *count += 1));
        context.cancellation.cancel();
        context.scope(|| jobs.run());
        assert!(counts.iter().all(|count| *count == 0));
    }
}
