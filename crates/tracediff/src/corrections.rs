//! What the trace doctor's findings change about a trace before anything is summed: kernels that wait begin where the one
//! before them ends, kernels that stand there twice are left out, and passes that lack kernels are known as such.

use perfdb_doctor::{Code, Entry, Report};

use crate::columns::Kernel;
use crate::rows::KernelRows;
use crate::time::Picoseconds;

/// What was changed, and what is known of the kernels that are left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Corrections {
    /// Time that kernels spent waiting for the one before them.
    pub(crate) clipped: Picoseconds,
    /// Kernels that wait with their start still where it was, ascending, and how long.
    pub(crate) waiting: Vec<(u32, Picoseconds)>,
    /// Kernels that stood there more than once.
    pub(crate) left_out: u64,
    /// Kernels whose pass lacks some, by number.
    pub(crate) incomplete: Vec<u32>,
    /// Stretches of the host's time whose launches have no kernels.
    pub(crate) lost: Vec<(Picoseconds, Picoseconds)>,
}

/// Applies a report to the kernels that it is about. Kernels that wait are cut at the front only where overlaps
/// are to be cut; otherwise it is noted how long they wait.
pub(crate) fn apply(kernels: &mut KernelRows, report: &Report, clip_overlaps: bool) -> Corrections {
    let marks = &report.marks;
    let mut corrections = Corrections { lost: marks.lost.clone(), ..Corrections::default() };
    let counted = report.certificate.entries().iter().find(|(key, _)| *key == "kernels");
    if counted.is_some_and(|(_, count)| *count != Entry::Count(kernels.len() as u64)) {
        // The marks number other kernels.
        return corrections;
    }
    let mut waiting = marks.waiting.clone();
    waiting.sort_unstable();
    for (at, wait) in &mut waiting {
        let Some(kernel) = kernels.get(*at as usize) else { continue };
        *wait = (*wait).clamp(0, kernel.duration);
        if clip_overlaps {
            let (start, duration) = (kernel.start + *wait, kernel.duration - *wait);
            kernels.set_times(*at as usize, &Kernel { start, duration, ..kernel });
        }
        corrections.clipped += *wait;
    }
    let mut doubled: Vec<u32> = marks.duplicates.iter().chain(&marks.doubled_collectives).copied().collect();
    doubled.sort_unstable();
    doubled.dedup();
    let left = |at: &u32| match doubled.binary_search(at) {
        Ok(_) => None,
        Err(before) => Some(at - before as u32),
    };
    corrections.incomplete = marks.recorded_less.iter().filter_map(left).collect();
    if !clip_overlaps {
        corrections.waiting = waiting.iter().filter_map(|(at, wait)| Some((left(at)?, *wait))).collect();
    }
    if !doubled.is_empty() {
        let before = kernels.len();
        kernels.retain(|at| doubled.binary_search(&(at as u32)).is_err());
        corrections.left_out = (before - kernels.len()) as u64;
    }
    corrections
}

impl Corrections {
    /// How long a kernel waits for the one before it within its duration.
    pub(crate) fn wait_of(&self, kernel: u32) -> Picoseconds {
        if self.waiting.is_empty() {
            return 0;
        }
        let found = self.waiting.binary_search_by_key(&kernel, |(at, _)| *at);
        found.map_or(0, |at| self.waiting[at].1)
    }
}

/// Whether a finding is about the text of a file, which a repair fixes.
pub(crate) fn is_about_text(code: Code) -> bool {
    matches!(
        code,
        Code::GzipTruncated
            | Code::GzipCorrupt
            | Code::GzipTrailing
            | Code::Utf16
            | Code::ByteOrderMark
            | Code::InvalidUtf8
            | Code::ControlCharacters
            | Code::BareNonfinite
            | Code::TruncatedJson
            | Code::MalformedJson
            | Code::TrailingData
            | Code::BadEvents
    )
}
