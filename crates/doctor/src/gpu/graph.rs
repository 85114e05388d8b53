//! Replays of graphs: the kernels of one graph launch, in order of start, and the layers in them.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::Prepared;

/// Replays of this many kernels are cut into layers.
pub(super) const LONG: usize = 40;
/// Equal pieces that make layers, at least.
pub(super) const PIECES: usize = 4;
/// Names that layers may begin with.
const ANCHORS: usize = 40;

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
        let launch = |at: &u32| trace.launch_index(*at);
        let time = |at: &u32| (trace.row(*at).start, *at);
        // A replay stands where its first kernel does.
        let mut first: FxHashMap<Option<u32>, u32> = FxHashMap::default();
        for at in &rows {
            let first = first.entry(launch(at)).or_insert(*at);
            *first = std::cmp::min_by_key(*first, *at, time);
        }
        let key = |at: &u32| (time(&first[&launch(at)]), time(at));
        if !rows.is_sorted_by_key(key) {
            rows.sort_unstable_by_key(key);
        }
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

/// Finds the layers of replays. Replays of one graph run the same kernels, so each row of names is cut once.
#[derive(Debug, Default)]
pub(super) struct Layers {
    cuts: FxHashMap<Box<[u32]>, Box<[Range<usize>]>>,
    names: Vec<u32>,
}

impl Layers {
    /// The equal pieces that cover most of a replay, each from one kernel of some name to the next.
    pub(super) fn of<'r>(&mut self, trace: &Prepared, replay: &'r [u32]) -> impl Iterator<Item = &'r [u32]> {
        self.names.clear();
        self.names.extend(replay.iter().map(|at| trace.row(*at).name));
        if !self.cuts.contains_key(self.names.as_slice()) {
            self.cuts.insert(self.names.as_slice().into(), cuts(&self.names));
        }
        let cuts = self.cuts.get(self.names.as_slice()).map_or(&[][..], AsRef::as_ref);
        cuts.iter().map(|piece| &replay[piece.clone()])
    }
}

fn cuts(names: &[u32]) -> Box<[Range<usize>]> {
    let mut places: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (place, name) in names.iter().enumerate() {
        places.entry(*name).or_default().push(place);
    }
    let mut anchors: Vec<Vec<usize>> = places.into_values().filter(|places| places.len() >= PIECES).collect();
    anchors.sort_unstable_by_key(|places| (std::cmp::Reverse(places.len()), places.first().copied()));
    let mut best: (usize, usize, Vec<(usize, usize)>) = (0, 0, Vec::new());
    for cuts in anchors.iter().take(ANCHORS) {
        let mut equal: FxHashMap<&[u32], Vec<(usize, usize)>> = FxHashMap::default();
        for pair in cuts.windows(2) {
            equal.entry(&names[pair[0]..pair[1]]).or_default().push((pair[0], pair[1]));
        }
        let mut equal: Vec<_> =
            equal.into_iter().filter(|(piece, places)| piece.len() >= 4 && places.len() >= PIECES).collect();
        equal.sort_unstable_by_key(|(_, places)| places.first().copied());
        for (piece, places) in equal {
            let covered = (piece.len() * places.len(), places.len());
            if covered > (best.0, best.1) {
                best = (covered.0, covered.1, places);
            }
        }
    }
    best.2.into_iter().map(|(start, end)| start..end).collect()
}
