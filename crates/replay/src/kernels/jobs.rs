//! Work on disjoint parts of results, on the threads of the current pool.
//!
//! Kernels are generic over element types; jobs are not, so that only the loops are compiled once per type and the
//! machinery around them once at all.

use rayon::prelude::*;

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

    /// Runs all jobs and waits for them.
    pub(crate) fn run(self) {
        if self.0.len() == 1 {
            self.0.into_iter().for_each(|job| job());
        } else {
            self.0.into_par_iter().for_each(|job| job());
        }
    }
}

/// Runs `work` for each number below `count` and returns the results in order.
pub(crate) fn collect<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let mut jobs = Jobs::new();
    for (at, result) in results.iter_mut().enumerate() {
        let work = &work;
        jobs.add(move || *result = Some(work(at)));
    }
    jobs.run();
    results.into_iter().flatten().collect()
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
}
