//! Replays of graphs: the kernels of one graph launch, in order of start.

use rustc_hash::FxHashMap;

use super::Prepared;

/// The replays of a trace, by the start of their first kernel.
#[derive(Debug)]
pub(super) struct Replays {
    /// Kernels of all replays, replay by replay.
    rows: Vec<u32>,
    /// Where each replay ends in `rows`.
    ends: Vec<usize>,
}

impl Replays {
    pub(super) fn new(trace: &Prepared) -> Replays {
        let mut rows: Vec<u32> = trace.kernels.iter().copied().filter(|at| trace.of_graph(*at)).collect();
        let mut first: FxHashMap<u32, (i128, u32)> = FxHashMap::default();
        for at in &rows {
            let key = (trace.row(*at).start, *at);
            let launch = trace.launch_index(*at).unwrap_or_default();
            first.entry(launch).and_modify(|first| *first = key.min(*first)).or_insert(key);
        }
        rows.sort_by_cached_key(|at| {
            let launch = trace.launch_index(*at).unwrap_or_default();
            (first[&launch], trace.row(*at).start, *at)
        });
        let launch = |at: &u32| trace.launch_index(*at);
        let mut ends: Vec<usize> = (1..rows.len()).filter(|at| launch(&rows[*at]) != launch(&rows[*at - 1])).collect();
        if !rows.is_empty() {
            ends.push(rows.len());
        }
        Replays { rows, ends }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The rows of each replay.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.rows[start..*end])
    }
}
