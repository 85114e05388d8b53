//! Replays of a graph that lack kernels other replays have.

use rustc_hash::FxHashMap;

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;
use crate::gpu::graph::Replays;
use crate::report::Marks;

/// Kernels that a full replay has, at least.
const FULL: usize = 5;

pub(super) fn check(trace: &Prepared, replays: &Replays, found: &mut Findings, marks: &mut Marks) {
    let names = |rows: &[u32]| -> Vec<u32> { rows.iter().map(|at| trace.row(*at).name).collect() };
    let mut seen: FxHashMap<Vec<u32>, usize> = FxHashMap::default();
    for replay in replays.iter() {
        *seen.entry(names(replay)).or_default() += 1;
    }
    let mut full: Vec<&Vec<u32>> =
        seen.iter().filter(|(names, count)| names.len() >= FULL && **count >= 2).map(|(names, _)| names).collect();
    // The shortest that fits shows how much is missing.
    full.sort_unstable_by_key(|names| (names.len(), *names));
    let (mut lacking, mut missing) = (0_u64, 0);
    for (at, replay) in replays.iter().enumerate() {
        let names = names(replay);
        if seen.get(&names) != Some(&1) {
            continue;
        }
        let at_edge = at == 0 || at + 1 == replays.len();
        let whole = full.iter().find(|full| lacks_some(&names, full));
        if let Some(whole) = whole
            && !(at_edge && (whole.starts_with(&names) || whole.ends_with(&names)))
        {
            lacking += 1;
            missing += whole.len() - names.len();
            marks.recorded_less.extend(replay.iter().map(|at| trace.kernel_number(*at)));
        }
    }
    if lacking > 0 {
        marks.recorded_less.sort_unstable();
        let evidence =
            Evidence::new().with("replays", lacking).with("kernels", missing).with("of_replays", replays.len());
        found.error(Code::RecordedLess, trace.share_of_kernels(missing), evidence);
    }
}

/// Whether `names` are `full` without some, but at least half of it.
fn lacks_some(names: &[u32], full: &[u32]) -> bool {
    if names.len() >= full.len() || 2 * names.len() < full.len() {
        return false;
    }
    let mut rest = full.iter();
    names.iter().all(|name| rest.any(|other| other == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsequences() {
        let full = [1, 2, 3, 4, 5, 6];
        assert!(lacks_some(&[1, 2, 4, 5, 6], &full));
        assert!(lacks_some(&[4, 5, 6], &full));
        assert!(!lacks_some(&[5, 6], &full));
        assert!(!lacks_some(&full, &full));
        assert!(!lacks_some(&[1, 3, 2], &full));
    }
}
