//! Follows the file of one rank while the rank writes it.

use super::progress::Phase;
use serde::Deserialize;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// What supervision needs of a line of a rank file.
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
    pub(super) wrote_other_lines: bool,
    pub(super) done: bool,
}

/// Longest line of a rank: some million samples.
const LONGEST_LINE_BYTES: usize = 64 << 20;

const CHUNK_BYTES: usize = 1 << 18;
const CHUNKS_PER_LOOK: usize = 256;

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
            wrote_other_lines: false,
            done: false,
        }
    }

    /// Reads what is new; whether there was something.
    pub(super) fn follow(&mut self) -> bool {
        let Ok(mut file) = File::open(&self.path) else {
            return false;
        };
        self.opened = true;
        if file.seek(SeekFrom::Start(self.read_bytes)).is_err() {
            return false;
        }
        let before = self.read_bytes;
        let mut chunk = vec![0; CHUNK_BYTES];
        // Not without end, should the rank write faster than this reads.
        for _ in 0..CHUNKS_PER_LOOK {
            let length = match file.read(&mut chunk) {
                Ok(0) | Err(_) => break,
                Ok(length) => length,
            };
            self.read_bytes += length as u64;
            self.take_bytes(&chunk[..length]);
        }
        self.read_bytes > before
    }

    fn take_bytes(&mut self, new: &[u8]) {
        for piece in new.split_inclusive(|byte| *byte == b'\n') {
            if self.partial.len() + piece.len() > LONGEST_LINE_BYTES {
                // The rank is ended for it; what follows is of no interest.
                self.wrote_other_lines = true;
                self.partial.clear();
                continue;
            }
            self.partial.extend_from_slice(piece);
            if self.partial.ends_with(b"\n") {
                match serde_json::from_slice(&self.partial) {
                    Ok(line) => self.take(line),
                    Err(_) => self.wrote_other_lines = true,
                }
                self.partial.clear();
            }
        }
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
    fn a_line_without_end_takes_no_memory_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut watch = RankWatch::new(0, folder.path());
        let file = File::create(folder.path().join("rank0.jsonl")).unwrap();
        // A hole: it reads as zeros and takes no space.
        file.set_len(3 * LONGEST_LINE_BYTES as u64).unwrap();
        while watch.follow() {
            assert!(watch.partial.capacity() <= 2 * LONGEST_LINE_BYTES);
        }
        assert!(watch.wrote_other_lines);
        assert_eq!(watch.read_bytes, 3 * LONGEST_LINE_BYTES as u64);
    }

    #[test]
    fn lines_are_taken_when_they_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut watch = RankWatch::new(3, folder.path());
        assert!(!watch.follow() && !watch.opened);
        let mut file = File::create(folder.path().join("rank3.jsonl")).unwrap();
        file.write_all(b"{\"rank\": 3, \"pid\": 77}\n{\"begin\": 4, \"pha").unwrap();
        assert!(watch.follow() && watch.opened);
        assert_eq!((watch.pid, watch.at), (Some(77), None));
        file.write_all(b"se\": \"warm-up\"}\nnoise\n[]\n{\"fatal\": \"x\", \"time\": 5.5}\n").unwrap();
        assert!(!watch.wrote_other_lines);
        assert!(watch.follow() && !watch.follow());
        assert!(watch.wrote_other_lines);
        assert_eq!((watch.at, watch.begun), (Some((4, Phase::WarmUp)), 1));
        assert_eq!(watch.fatal, Some(Fatal { reason: "x".into(), time: 5.5 }));
    }
}
