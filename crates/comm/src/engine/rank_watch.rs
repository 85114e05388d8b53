//! Follows the file of one rank while the rank writes it.

use super::progress::Phase;
use serde::Deserialize;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// A line of a rank file, as far as supervision is concerned.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Line {
    pid: Option<i32>,
    begin: Option<usize>,
    phase: Option<String>,
    fatal: Option<String>,
    time: Option<f64>,
    done: Option<bool>,
}

/// What a rank failed of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fatal {
    pub(super) reason: String,
    /// Seconds since 1970.
    pub(super) time: f64,
}

/// What is known of one rank.
#[derive(Debug)]
pub(super) struct RankWatch {
    pub(super) rank: u64,
    path: PathBuf,
    read_bytes: u64,
    partial: Vec<u8>,
    pub(super) opened: bool,
    pub(super) pid: Option<i32>,
    pub(super) at: Option<(usize, Phase)>,
    pub(super) begun: u64,
    pub(super) fatal: Option<Fatal>,
    /// Wrote a line that is none of the worker's.
    pub(super) rubbish: bool,
    pub(super) done: bool,
}

impl RankWatch {
    pub(super) fn new(rank: u64, folder: &std::path::Path) -> Self {
        Self {
            rank,
            path: folder.join(format!("rank{rank}.jsonl")),
            read_bytes: 0,
            partial: Vec::new(),
            opened: false,
            pid: None,
            at: None,
            begun: 0,
            fatal: None,
            rubbish: false,
            done: false,
        }
    }

    /// Reads what is new; whether there was something.
    pub(super) fn follow(&mut self) -> bool {
        let mut new = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            self.opened = true;
            file.seek(SeekFrom::Start(self.read_bytes))?;
            file.read_to_end(&mut new)
        });
        if read.is_err() || new.is_empty() {
            return false;
        }
        self.read_bytes += new.len() as u64;
        self.partial.append(&mut new);
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(line) => self.take(line),
                Err(_) => self.rubbish = true,
            }
        }
        true
    }

    fn take(&mut self, line: Line) {
        self.pid = line.pid.or(self.pid);
        self.done |= line.done == Some(true);
        if let (Some(config), Some(phase)) = (line.begin, line.phase.as_deref().and_then(Phase::from_name)) {
            self.at = Some((config, phase));
            self.begun += 1;
        }
        if let Some(reason) = line.fatal {
            self.fatal = Some(Fatal { reason, time: line.time.unwrap_or(f64::MAX) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_are_taken_when_they_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut watch = RankWatch::new(3, folder.path());
        assert!(!watch.follow() && !watch.opened);
        let mut file = File::create(folder.path().join("rank3.jsonl")).unwrap();
        file.write_all(b"{\"rank\": 3, \"pid\": 77}\n{\"begin\": 4, \"pha").unwrap();
        assert!(watch.follow() && watch.opened);
        assert_eq!((watch.pid, watch.at), (Some(77), None));
        file.write_all(b"se\": \"warm-up\"}\nrubbish\n[]\n{\"fatal\": \"x\", \"time\": 5.5}\n").unwrap();
        assert!(!watch.rubbish);
        assert!(watch.follow() && !watch.follow());
        assert!(watch.rubbish);
        assert_eq!((watch.at, watch.begun), (Some((4, Phase::WarmUp)), 1));
        assert_eq!(watch.fatal, Some(Fatal { reason: "x".into(), time: 5.5 }));
    }
}
