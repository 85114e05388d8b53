//! What a program of this package finds, and how it tells.

use crate::reliability::Error;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The number of the run.
    pub run: u64,
    /// What is wrong, with the command line.
    pub what: String,
}

/// Counts and findings of all runs, from several threads.
#[derive(Debug, Default)]
pub struct Tally {
    counts: Mutex<BTreeMap<String, u64>>,
    findings: Mutex<Vec<Finding>>,
}

impl Tally {
    /// Counts something.
    pub fn count(&self, what: impl Into<String>) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(what.into()).or_default() += 1;
    }

    /// How often something was counted.
    pub fn counted(&self, what: &str) -> u64 {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).get(what).copied().unwrap_or_default()
    }

    /// Keeps a finding.
    pub fn found(&self, run: u64, what: impl Into<String>) {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner).push(Finding { run, what: what.into() });
    }

    /// The findings so far, by their runs.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        findings.sort_by_key(|finding| finding.run);
        findings
    }

    /// Counts as lines.
    pub fn summary(&self) -> String {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(what, count)| format!("{count:>9}  {what}\n")).collect()
    }
}

/// Makes every run of `numbers`, on as many threads as are asked for, and prints what was counted and found; a failure if something was
/// found. `repeat` is the command that repeats one run, with `RUN` for its number.
pub fn make_runs(
    threads: usize,
    numbers: impl Iterator<Item = u64> + Send,
    repeat: &str,
    run: impl Fn(u64, &Tally) -> Result<(), Error> + Sync,
) -> ExitCode {
    let tally = Tally::default();
    on_threads(threads, numbers, |number| {
        if let Err(error) = run(number, &tally) {
            tally.found(number, format!("the run could not be made: {error}"));
        }
    });
    if report(&tally, repeat) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn report(tally: &Tally, repeat: &str) -> bool {
    print!("{}", tally.summary());
    let findings = tally.findings();
    for finding in &findings {
        println!("run {}: {}\n    {}", finding.run, finding.what, repeat.replace("RUN", &finding.run.to_string()));
    }
    println!("{} finding(s)", findings.len());
    findings.is_empty()
}

/// Calls `work` with every number below `count`, on as many threads as are asked for.
pub fn on_threads(threads: usize, numbers: impl Iterator<Item = u64> + Send, work: impl Fn(u64) + Sync) {
    let numbers = Mutex::new(numbers);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let next = numbers.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(number) = next else { return };
                    work(number);
                }
            });
        }
    });
}
