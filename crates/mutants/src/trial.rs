//! Runs the tests with one mutant after the other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use wait_timeout::ChildExt;

/// Memory of addresses that a test may take: a mutant may go on for ever, and keep something each time.
const MOST_KIB: u32 = 8 << 20;

/// Cases of a property test, where nothing else is asked for: many mutants cannot have as many as the gate has.
const PROPERTY_CASES: &str = "32";

/// A test of a package.
pub struct Test {
    program: PathBuf,
    name: String,
    time: Duration,
    /// The sites that it comes to.
    sites: BTreeSet<usize>,
}

/// The tests of a package, the fastest first.
pub struct Trial {
    folder: PathBuf,
    tests: Vec<Test>,
}

impl Trial {
    /// Runs every test as it is, which must hold, and notes which sites it comes to.
    pub fn of(folder: &Path, programs: &[PathBuf], skipped: &[String]) -> Result<Trial> {
        let mut trial = Trial { folder: folder.to_owned(), tests: Vec::new() };
        let notes = tempfile::NamedTempFile::new()?;
        for program in programs {
            let listed = Command::new(program).args(["--list", "--format", "terse"]).current_dir(folder).output()?;
            let listed = String::from_utf8(listed.stdout).context("names of tests")?;
            for name in listed.lines().filter_map(|line| line.strip_suffix(": test")) {
                if skipped.iter().any(|skipped| skipped == name) {
                    println!("left out: {name}");
                    continue;
                }
                let mut test = Test {
                    program: program.clone(),
                    name: name.to_owned(),
                    time: Duration::from_secs(60),
                    sites: BTreeSet::new(),
                };
                fs::write(notes.path(), "")?;
                let start = Instant::now();
                ensure!(trial.holds(&test, 0, Some(notes.path()))?, "{name} in {} fails as it is", program.display());
                test.time = start.elapsed();
                test.sites = fs::read_to_string(notes.path())?.lines().filter_map(|line| line.parse().ok()).collect();
                trial.tests.push(test);
            }
        }
        trial.tests.sort_by_key(|test| test.time);
        let (all, slow) = (
            trial.tests.len(),
            trial.tests.iter().rev().take(3).map(|test| format!("{} {:.1} s", test.name, test.time.as_secs_f64())),
        );
        println!("{all} tests; the slowest: {}", slow.collect::<Vec<_>>().join(", "));
        Ok(trial)
    }

    /// The tests that come to a site.
    pub fn tests_of(&self, site: usize) -> Vec<&Test> {
        self.tests.iter().filter(|test| test.sites.contains(&site)).collect()
    }

    /// Whether one of these tests fails, or does not end in time, with this mutant.
    pub fn notices(&self, number: usize, tests: &[&Test]) -> Result<bool> {
        for test in tests {
            if !self.holds(test, number, None)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn holds(&self, test: &Test, number: usize, notes: Option<&Path>) -> Result<bool> {
        let cases = std::env::var("PROPTEST_CASES").unwrap_or_else(|_| PROPERTY_CASES.to_owned());
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("ulimit -v {MOST_KIB} && ulimit -c 0 && exec \"$0\" --exact \"$1\"")])
            .arg(&test.program)
            .arg(&test.name)
            .current_dir(&self.folder)
            .env("ACTIVE_MUTANT", number.to_string())
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("INSTA_UPDATE", "no")
            .env("PROPTEST_CASES", cases)
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(notes) = notes {
            command.env("REACHED_MUTANTS", notes);
        }
        let mut child = command.spawn()?;
        let Some(status) = child.wait_timeout(test.time * 10 + Duration::from_secs(20))? else {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        };
        Ok(status.success())
    }
}
