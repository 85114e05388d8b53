//! The journal of a run: JSON lines, appended and flushed as cases end, so that an interrupted run can continue.

mod measured_rows;

pub(crate) use measured_rows::{Ended, MeasuredRows};

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use perfdb_files::input::{self, Kind, LARGEST_DOCUMENT_BYTES};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::backend::Backend;
use crate::case::Case;
use crate::error::Error;
use crate::executor::Sample;
use crate::refusal::ErrorKind;
use crate::results::{RowOutcome, RowResult, RowRun, Times};

/// What a run is measured with; the first line of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    pub backend: String,
    /// Device, of the executor's greeting.
    pub device: String,
    /// Versions, of the executor's greeting.
    pub versions: IndexMap<String, Option<String>>,
    /// Timed runs per row.
    pub repeats: u32,
    /// Untimed runs per row.
    pub warmup: u32,
    /// Seed of random inputs.
    pub seed: u64,
    /// New inputs are built before every run.
    pub fresh_inputs: bool,
}

/// Everything that must agree for a case to count as done.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CaseKey {
    /// Operator.
    pub op: String,
    /// Path of the table.
    pub csv: String,
    /// Hash of the row's record as it stands in the file.
    pub sha256: String,
    pub backend: String,
    /// Timed runs.
    pub repeat: u32,
    /// Untimed runs.
    pub warmup: u32,
    /// New inputs are built before every run.
    pub fresh_inputs: bool,
    /// Seed of random inputs.
    pub seed: u64,
}

impl CaseKey {
    /// The key of a case whose row has these bytes.
    pub fn new(case: &Case, record: &[u8], backend: Backend, seed: u64) -> CaseKey {
        CaseKey {
            op: case.op.to_string(),
            csv: case.csv.to_string(),
            sha256: hash_of(record),
            backend: backend.name().to_owned(),
            repeat: case.repeat,
            warmup: case.warmup,
            fresh_inputs: case.fresh_inputs,
            seed,
        }
    }
}

/// The hash of a record as it stands in its file; the line end does not count.
pub(crate) fn hash_of(record: &[u8]) -> String {
    Sha256::digest(record.trim_ascii_end()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A case that an earlier run finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Its result.
    pub run: RowRun,
    pub samples: Vec<Sample>,
}

#[derive(Serialize)]
struct CaseLine<'a> {
    r#type: &'static str,
    op: &'a str,
    csv: &'a str,
    row: u64,
    sha256: &'a str,
    backend: &'a str,
    repeat: u32,
    warmup: u32,
    fresh_inputs: bool,
    seed: u64,
    result: &'a RowResult,
    samples: &'a [Sample],
}

/// A line of a journal.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Line {
    /// A run began.
    Run(RunFacts),
    /// A case ended.
    Case(EndedCase),
}

/// A case that ended, as a journal has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct EndedCase {
    /// What must agree for it to count as done.
    #[serde(flatten)]
    pub key: CaseKey,
    /// Number of the record.
    pub row: u64,
    result: ResultLine,
    samples: Vec<Sample>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
enum ResultLine {
    Ok(RowRun),
    Failed {
        error: Option<ErrorKind>,
        #[serde(default)]
        detail: String,
    },
}

impl EndedCase {
    /// True if it ran.
    pub fn is_ok(&self) -> bool {
        matches!(self.result, ResultLine::Ok(_))
    }
}

/// A journal that is open for writing, with what earlier runs have finished.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    finished: FxHashMap<CaseKey, VecDeque<Finished>>,
}

/// Reads all lines that can be read; a last line that was cut off is passed over.
pub fn read(path: &Path) -> Result<Vec<Line>, Error> {
    let read = input::read(path, Kind::RegularFile, LARGEST_DOCUMENT_BYTES);
    let text = read.map_err(|source| Error::io(path, source))?;
    Ok(text.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

impl Journal {
    /// Opens a journal, a new one where there is none.
    pub fn open(path: &Path) -> Result<Journal, Error> {
        let failed = |source| Error::io(path, source);
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        if file.seek(SeekFrom::End(0)).map_err(failed)? > 0 {
            // A line that was cut off is ended, so that the next one is whole.
            let mut last = [0];
            file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(failed)?;
            if last != *b"\n" {
                file.write_all(b"\n").map_err(failed)?;
            }
        }
        let mut finished: FxHashMap<CaseKey, VecDeque<Finished>> = FxHashMap::default();
        for line in read(path)? {
            if let Line::Case(EndedCase { key, result: ResultLine::Ok(mut run), samples, .. }) = line {
                run.times = Times::of_samples(&samples);
                finished.entry(key).or_default().push_back(Finished { run, samples });
            }
        }
        Ok(Journal { path: path.to_owned(), file, finished })
    }

    /// Takes over a case that an earlier run finished; each line serves one row.
    pub fn take(&mut self, key: &CaseKey) -> Option<Finished> {
        self.finished.get_mut(key)?.pop_front()
    }

    /// Notes what a run is measured with.
    pub fn begin(&mut self, facts: &RunFacts) -> Result<(), Error> {
        #[derive(Serialize)]
        struct RunLine<'a> {
            r#type: &'static str,
            #[serde(flatten)]
            facts: &'a RunFacts,
        }
        self.append(&RunLine { r#type: "run", facts })
    }

    /// Notes a case that was sent and ended.
    pub fn note(&mut self, key: &CaseKey, result: &RowResult, samples: &[Sample]) -> Result<(), Error> {
        let samples = if matches!(result.outcome, RowOutcome::Ok(_)) { samples } else { &[] };
        self.append(&CaseLine {
            r#type: "case",
            op: &key.op,
            csv: &key.csv,
            row: result.row,
            sha256: &key.sha256,
            backend: &key.backend,
            repeat: key.repeat,
            warmup: key.warmup,
            fresh_inputs: key.fresh_inputs,
            seed: key.seed,
            result,
            samples,
        })
    }

    fn append(&mut self, line: &impl Serialize) -> Result<(), Error> {
        let mut bytes = serde_json::to_vec(line).map_err(|error| Error::io(&self.path, error.into()))?;
        bytes.push(b'\n');
        self.file.write_all(&bytes).map_err(|source| Error::io(&self.path, source))
    }
}

/// Rewrites a journal without the finished cases for which `keep` is false; everything else stays.
pub(crate) fn strike(path: &Path, mut keep: impl FnMut(&EndedCase) -> bool) -> Result<(), Error> {
    let text = std::fs::read(path).map_err(|source| Error::io(path, source))?;
    let mut kept = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        match serde_json::from_slice::<Line>(line) {
            Ok(Line::Case(case)) if case.is_ok() && !keep(&case) => {}
            _ => kept.extend_from_slice(line),
        }
    }
    Ok(perfdb_files::replace::replace(path, &kept, perfdb_files::replace::Parents::MustExist)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::{CaseError, ErrorKind};

    fn key(record: &[u8]) -> CaseKey {
        let case: Case = serde_json::from_str(
            r#"{"op":"Add","csv":"Add.csv","row":2,"api":"torch.add","inputs":[],"check":"warn","repeat":2}"#,
        )
        .expect("a case");
        CaseKey::new(&case, record, Backend::Native, 0)
    }

    fn result(outcome: RowOutcome) -> RowResult {
        RowResult { op: "Add".into(), csv: "Add.csv".into(), row: 2, outcome }
    }

    fn ok() -> RowOutcome {
        RowOutcome::Ok(RowRun { api: "torch.add".into(), repeat: 2, times: None, outputs: Vec::new(), matches: true })
    }

    #[test]
    fn finished_cases_are_taken_over_once_each() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("journal.jsonl");
        let samples = [Sample { start_us: 1.0, duration_us: 3.5 }, Sample { start_us: 9.0, duration_us: 4.5 }];
        let mut journal = Journal::open(&path)?;
        journal.note(&key(b"a,b\r\n"), &result(ok()), &samples)?;
        let crash = RowOutcome::Failed(CaseError::new(ErrorKind::Crash, "signal 9"));
        journal.note(&key(b"c,d\n"), &result(crash), &samples)?;
        OpenOptions::new().append(true).open(&path)?.write_all(b"{\"type\":\"case\",\"op\":\"A")?;

        let mut journal = Journal::open(&path)?;
        let finished = journal.take(&key(b"a,b")).ok_or("the same record, with any line end")?;
        assert_eq!(finished.run.times.map(|times| times.median_us), Some(4.0));
        assert_eq!(finished.samples, samples);
        assert_eq!(journal.take(&key(b"a,b")), None);
        assert_eq!(journal.take(&key(b"c,d")), None);
        journal.note(&key(b"e"), &result(ok()), &samples)?;
        assert_eq!(read(&path)?.len(), 3);
        strike(&path, |case| case.key == key(b"a,b"))?;
        assert_eq!(read(&path)?.len(), 2);
        Ok(())
    }

    #[test]
    fn a_journal_that_cannot_be_written_is_an_error() {
        assert!(Journal::open(Path::new("/nowhere/journal")).is_err());
    }
}
