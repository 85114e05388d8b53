//! The original scripts beside perfdb, on the same mutated inputs: what they print and write must be the same wherever they accept their input.
//!
//! The scripts are not part of perfdb. They are run from a checkout of msmodeling (`tools/`), by a Python that has what they import.

use crate::reliability::Error;
use crate::reliability::files::{self, Entry, Files};
use crate::reliability::findings::Tally;
use crate::reliability::mutated::{Mutated, Run};
use crate::reliability::program::{Ended, Limits, Line, Outcome, Program, run_within};
use nix::sys::signal::Signal;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The scripts, below `tools` of a checkout, by the tools that replace them.
const SCRIPTS: &[(&str, &str)] = &[
    ("compute-m6", "perf_data_analysis/compute_m6.py"),
    ("generate-op-comparison", "perf_data_analysis/generate_op_comparison.py"),
    ("generate-per-shape-comparison", "perf_data_analysis/generate_per_shape_comparison.py"),
    ("generate-shape-grid", "perf_data_collection/generate_shape_grid.py"),
    ("parse-kernel-details", "perf_data_collection/parsers/parse_kernel_details.py"),
    ("trace-to-csv", "perf_data_collection/parsers/trace_to_csv.py"),
    ("validate-comm-alignment", "perf_data_collection/comm_bench/validate_comm_alignment.py"),
];

/// What runs need.
#[derive(Debug)]
pub struct Originals {
    python: PathBuf,
    checkout: PathBuf,
    program: Program,
    mutated: Mutated,
}

impl Originals {
    /// The scripts of a checkout, those of these tools or all.
    pub fn new(python: &Path, checkout: &Path, program: Program, tools: &[String]) -> Result<Originals, Error> {
        let checkout = checkout.canonicalize()?;
        let known = SCRIPTS.iter().filter(|(tool, script)| {
            (tools.is_empty() || tools.iter().any(|wanted| wanted == tool))
                && checkout.join("tools").join(script).is_file()
        });
        let tools: Vec<String> = known.map(|(tool, _)| (*tool).to_owned()).collect();
        if tools.is_empty() {
            return Err(format!("{}: none of the scripts is below tools/", checkout.display()).into());
        }
        let mutated = Mutated::new(program.clone(), Limits::default(), &tools)?;
        Ok(Originals { python: python.to_owned(), checkout, program, mutated })
    }

    /// Runs both on the input of this number, one after the other in folders of the same path.
    pub fn run(&self, seed: u64, number: u64, tally: &Tally) -> Result<(), Error> {
        let run = self.mutated.draw(seed, number);
        let line = run.line();
        let outer = TempDir::new()?;
        let folder = outer.path().canonicalize()?.join("work");
        files::write(run.before(), &folder)?;
        let before = files::read(&folder)?;
        let original = self.original(line, &folder)?;
        let by_original = files::read(&folder)?;
        fs::remove_dir_all(&folder)?;
        files::write(run.before(), &folder)?;
        let ours = self.program.run(line, &folder, Limits::default())?;
        let by_us = files::read(&folder)?;
        let tool = line.tool();
        match (original.ended, ours.ended) {
            (Ended::Exit(0), Ended::Exit(0)) => {
                tally.count(format!("accepted by both: {tool}"));
                if let Some(what) = difference(tool, &before, (&original, &by_original), (&ours, &by_us)) {
                    tally.found(number, described(&run, &what));
                }
            }
            (Ended::Exit(0), _) => {
                tally.count(format!("refused by perfdb alone: {tool}"));
                let why = ours.stderr.lines().last().unwrap_or("").to_owned();
                tally.found(number, described(&run, &format!("refused by perfdb alone: {why}")));
            }
            (_, Ended::Exit(0)) => tally.count(format!("refused by the original alone: {tool}")),
            _ => tally.count(format!("refused by both: {tool}")),
        }
        Ok(())
    }

    fn original(&self, line: &Line, folder: &Path) -> Result<Outcome, Error> {
        let script = SCRIPTS.iter().find(|(tool, _)| *tool == line.tool()).map_or("", |(_, script)| script);
        let mut command = Command::new(&self.python);
        command
            .arg(self.checkout.join("tools").join(script))
            .args(line.words.iter().skip(1))
            .current_dir(folder)
            .env("PYTHONPATH", &self.checkout)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONIOENCODING", "utf-8")
            .envs(line.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(match &line.stdin {
            Some(name) => Stdio::from(File::open(folder.join(name))?),
            None => Stdio::null(),
        });
        run_within(command, Duration::from_secs(60), Signal::SIGKILL)
    }
}

fn described(run: &Run<'_>, what: &str) -> String {
    format!("{what}\n    {}", run.described())
}

/// What differs: standard output, then the files that either has changed.
fn difference(tool: &str, before: &Files, original: (&Outcome, &Files), ours: (&Outcome, &Files)) -> Option<String> {
    let printed = without_progress(&original.0.stdout);
    if printed != ours.0.stdout {
        return Some(format!("stdout: {}", first_difference(&printed, &ours.0.stdout)));
    }
    let changed: BTreeSet<&Path> =
        [original.1, ours.1].into_iter().flat_map(|after| files::changed(before, after)).collect();
    changed.into_iter().find_map(|path| {
        let shown = path.display();
        match (original.1.get(path), ours.1.get(path)) {
            (Some(Entry::File(original)), Some(Entry::File(ours))) if original != ours => {
                let (original, ours) = (comparable(tool, original), comparable(tool, ours));
                (original != ours).then(|| format!("{shown}: {}", first_difference(&original, &ours)))
            }
            (Some(_), None) => Some(format!("{shown}: written by the original alone")),
            (None, Some(_)) => Some(format!("{shown}: written by perfdb alone")),
            _ => None,
        }
    })
}

/// What is compared of a file. Rows of equal time stand in the order of a Python set, which each run draws again: of them only that they are there.
fn comparable(tool: &str, written: &[u8]) -> Vec<u8> {
    if tool != "generate-per-shape-comparison" {
        return written.to_owned();
    }
    let mut lines: Vec<&[u8]> = written.split(|&byte| byte == b'\n').collect();
    lines.sort_unstable();
    lines.join(&b'\n')
}

/// What stays of lines that were written over: bars of progress, which perfdb has on stderr.
fn without_progress(printed: &[u8]) -> Vec<u8> {
    let last = |line: &[u8]| -> Vec<u8> {
        let at = line.iter().rposition(|&byte| byte == b'\r').map_or(0, |before| before + 1);
        if at < line.len() { line[at..].to_vec() } else { line.to_vec() }
    };
    printed.split(|&byte| byte == b'\n').map(last).collect::<Vec<_>>().join(&b'\n')
}

fn first_difference(original: &[u8], ours: &[u8]) -> String {
    let lines = |bytes: &[u8]| -> Vec<String> {
        bytes.split(|&byte| byte == b'\n').map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    };
    let (original, ours) = (lines(original), lines(ours));
    let at = original.iter().zip(&ours).take_while(|(original, ours)| original == ours).count();
    let shown = |lines: &[String]| lines.get(at).map_or_else(|| "no more".to_owned(), |line| format!("{line:?}"));
    format!("line {}: {} in the original, {} in perfdb", at + 1, shown(&original), shown(&ours))
}
