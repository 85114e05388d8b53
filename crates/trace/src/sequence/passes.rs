//! Where the forward passes of a profile begin.

use crate::sequence::anchor::{Anchor, anchors};
use crate::sequence::gaps::{Idle, cut_at_idle_gaps};
use crate::sequence::kernel::Sequence;
use crate::sequence::rank::nearest_rank;
use crate::sequence::segments::Segments;
use rustc_hash::{FxHashMap, FxHashSet};

/// How many kernels in the middle of a sequence the anchor is looked for in.
const WINDOW: usize = 4096;

/// A gap between two passes that follow each other without a mark in the sequence is at least this, in picoseconds.
const LONG_GAP_PS: i64 = 50_000_000;

/// Segments apart within which a kind that comes back is ordinary.
const NEAR: usize = 6;

/// How passes were told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// By what repeats in the sequence.
    Sequence,
    /// By idle gaps that stand apart from all others.
    IdleGaps,
    /// Nothing separates anything: it is one pass.
    OnePass,
}

/// The passes of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passes {
    /// How they were told apart.
    pub method: Method,
    /// Position of the first kernel of every pass but the first.
    pub starts: Vec<usize>,
    /// The symbol that each layer has once.
    pub anchor: Option<u32>,
}

/// Cuts a profile into forward passes.
///
/// The sequence is cut at its best [anchor](anchors) into segments, which are layers, or whole passes where the anchor
/// occurs once in each. Between two passes stands a segment that is unlike the ordinary ones, or one with a long gap. Where
/// nothing repeats, idle gaps decide; where none stands apart either, all of it is one pass.
pub fn find_passes<S: Sequence + ?Sized>(kernels: &S) -> Passes {
    let anchor = anchor_in_the_middle(kernels.len(), |at| kernels.kernel(at).symbol);
    if let Some(anchor) = anchor {
        let starts = cut_by_sequence(kernels, anchor);
        if !starts.is_empty() {
            return Passes { method: Method::Sequence, starts, anchor: Some(anchor) };
        }
    }
    let starts = cut_at_idle_gaps(kernels);
    let method = if starts.is_empty() { Method::OnePass } else { Method::IdleGaps };
    Passes { method, starts, anchor }
}

/// The symbol that cuts the middle of a sequence best, if some segment occurs twice.
fn anchor_in_the_middle(len: usize, symbol: impl Fn(usize) -> u32) -> Option<u32> {
    let first = len.saturating_sub(WINDOW) / 2;
    let kinds: Vec<u32> = (first..len.min(first + WINDOW)).map(symbol).collect();
    let tokens: Vec<Option<u32>> = kinds.iter().map(|&kind| Some(kind)).collect();
    let found = anchors(&tokens, &kinds);
    let by_cost = |anchor: &&Anchor| (anchor.cost, anchor.count, anchor.first);
    found.iter().filter(|anchor| anchor.repeats).min_by_key(by_cost).map(|anchor| anchor.token)
}

/// What is known of the segments of a profile.
struct Layers<'s, S: ?Sized> {
    kernels: &'s S,
    segments: Segments,
    /// Which kinds are ordinary.
    ordinary: Vec<bool>,
    /// The symbols of the ordinary kinds.
    symbols: FxHashSet<u32>,
    /// Per segment the largest gap behind its anchor, up to the next anchor, and the latest end before its anchor.
    gaps_ps: Vec<(i64, i64)>,
    /// Gap that 90 % of ordinary segments stay below.
    typical_ps: i64,
}

fn cut_by_sequence<S: Sequence + ?Sized>(kernels: &S, anchor: u32) -> Vec<usize> {
    let symbols = (0..kernels.len()).map(|at| kernels.kernel(at).symbol);
    let segments = Segments::cut(symbols, |&symbol| symbol == anchor, |&symbol| symbol);
    if segments.len() < 4 {
        return Vec::new();
    }
    let ordinary = ordinary_kinds(&segments);
    if 2 * segments.iter().filter(|segment| ordinary[segment.kind]).count() < segments.len() {
        return Vec::new();
    }
    let layers = Layers::new(kernels, segments, ordinary);
    let mut starts: Vec<usize> = layers.marks().into_iter().filter_map(|mark| layers.boundary(mark)).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Kinds that are next to themselves somewhere, or come back soon at least twice.
fn ordinary_kinds(segments: &Segments) -> Vec<bool> {
    let mut ordinary = vec![false; segments.kinds()];
    let mut last: Vec<Option<usize>> = vec![None; segments.kinds()];
    let mut near = vec![0; segments.kinds()];
    for (at, segment) in segments.iter().enumerate() {
        if let Some(before) = last[segment.kind].replace(at) {
            near[segment.kind] += usize::from(at - before <= NEAR);
            ordinary[segment.kind] |= at - before == 1 || near[segment.kind] >= 2;
        }
    }
    ordinary
}

impl<'s, S: Sequence + ?Sized> Layers<'s, S> {
    fn new(kernels: &'s S, segments: Segments, ordinary: Vec<bool>) -> Self {
        let mut layers =
            Layers { kernels, segments, ordinary, symbols: FxHashSet::default(), gaps_ps: Vec::new(), typical_ps: 0 };
        let mut seen = vec![false; layers.segments.kinds()];
        for at in 0..layers.segments.len() {
            let kind = layers.segments.kind(at);
            if layers.ordinary[kind] && !std::mem::replace(&mut seen[kind], true) {
                layers.symbols.extend(layers.segments.range(at).map(|at| kernels.kernel(at).symbol));
            }
        }
        layers.measure_gaps();
        let ordinary = layers.segments.iter().zip(&layers.gaps_ps).filter(|(segment, _)| layers.ordinary[segment.kind]);
        let mut gaps_ps: Vec<i64> = ordinary.map(|(_, &(gap_ps, _))| gap_ps).collect();
        gaps_ps.sort_unstable();
        layers.typical_ps = nearest_rank(&gaps_ps, 90).unwrap_or(0);
        layers
    }

    fn measure_gaps(&mut self) {
        let first = self.kernels.kernel(0).start_ps;
        let mut idle = Idle::from(first);
        let mut anchors = self.segments.iter().map(|segment| segment.first).peekable();
        for at in 0..self.kernels.len() {
            let kernel = self.kernels.kernel(at);
            let before_ps = idle.end_ps;
            let gap_ps = idle.before(kernel.start_ps, kernel.duration_ps);
            // The gap in front of an anchor belongs to the segment before it.
            if let Some((largest_ps, _)) = self.gaps_ps.last_mut() {
                *largest_ps = gap_ps.max(*largest_ps);
            }
            if anchors.next_if_eq(&at).is_some() {
                self.gaps_ps.push((0, before_ps));
            }
        }
    }

    fn is_ordinary(&self, at: usize) -> bool {
        self.ordinary[self.segments.kind(at)]
    }

    /// The segments behind whose anchor a pass ends, in order.
    fn marks(&self) -> Vec<usize> {
        let count = self.segments.len();
        let whole_passes = self.segments_are_passes();
        let (mut strong, mut weak) = (Vec::new(), Vec::new());
        for at in 0..count {
            let is_last = at + 1 == count;
            let (gap_ps, typical_ps) = (self.gaps_ps[at].0, self.typical_ps);
            if self.is_ordinary(at) {
                let long = gap_ps > typical_ps.saturating_mul(20).max(LONG_GAP_PS);
                if !is_last && (whole_passes || long) {
                    strong.push(at);
                }
                continue;
            }
            let late = typical_ps > 0 && gap_ps > typical_ps.saturating_mul(4);
            // The end of the file is no boundary.
            if whole_passes || is_last && !late {
                continue;
            }
            if late || self.is_short(at) {
                strong.push(at);
            } else if self.segments.range(at).any(|at| !self.symbols.contains(&self.kernels.kernel(at).symbol)) {
                weak.push(at);
            }
        }
        agreed(strong, weak)
    }

    /// Whether it has at most half the kernels of the smaller ordinary segment beside it.
    fn is_short(&self, at: usize) -> bool {
        let beside = [at.checked_sub(1), Some(at + 1).filter(|&next| next < self.segments.len())];
        let ordinary = beside.into_iter().flatten().filter(|&at| self.is_ordinary(at));
        let smallest = ordinary.map(|at| self.segments.kernels(self.segments.kind(at))).min();
        smallest.is_some_and(|kernels| 2 * self.segments.kernels(self.segments.kind(at)) <= kernels)
    }

    /// Whether something repeats inside a segment: then it is a pass, not a layer.
    fn segments_are_passes(&self) -> bool {
        let range = self.segments.range(self.segments.len() / 2);
        let symbol = |at: usize| self.kernels.kernel(range.start + at).symbol;
        let Some(anchor) = anchor_in_the_middle(range.len(), symbol) else { return false };
        let inner = Segments::cut((0..range.len()).map(symbol), |&symbol| symbol == anchor, |&symbol| symbol);
        // What stands behind the last anchor is no whole segment.
        let whole = inner.len().saturating_sub(1);
        let equal = (1..whole).filter(|&at| inner.kind(at - 1) == inner.kind(at)).count();
        equal >= 2 && inner.range(0).len() >= 4
    }

    /// The first kernel of the pass that begins behind the anchor of a segment.
    fn boundary(&self, mark: usize) -> Option<usize> {
        let range = self.segments.range(mark);
        let candidates = range.start + 1..=range.end.min(self.kernels.len() - 1);
        let mut idle = Idle { end_ps: self.gaps_ps[mark].1 };
        let anchor = self.kernels.kernel(range.start);
        idle.before(anchor.start_ps, anchor.duration_ps);
        let largest = candidates.clone().map(|at| {
            let kernel = self.kernels.kernel(at);
            (idle.before(kernel.start_ps, kernel.duration_ps), at)
        });
        let (gap_ps, at) = largest.max()?;
        if gap_ps > 0 {
            return Some(at);
        }
        let last = *candidates.end();
        let foreign = |at: &usize| !self.symbols.contains(&self.kernels.kernel(*at).symbol);
        Some(candidates.clone().find(foreign).unwrap_or(last))
    }
}

/// Lets the usual distance between marks decide about doubtful ones.
fn agreed(strong: Vec<usize>, weak: Vec<usize>) -> Vec<usize> {
    let Some((usual, seen)) = most_common_distance(&strong) else {
        if !strong.is_empty() || weak.is_empty() {
            return strong;
        }
        let agree = most_common_distance(&weak).is_some_and(|(_, seen)| 2 * seen >= weak.len() - 1);
        return if agree { weak } else { strong };
    };
    let mut marks = strong;
    if seen >= 2 {
        // A mark that splits a pass of the usual length in two.
        let mut kept: Vec<usize> = Vec::with_capacity(marks.len());
        for (at, &mark) in marks.iter().enumerate() {
            let splits = match (kept.last(), marks.get(at + 1)) {
                (Some(before), Some(behind)) => behind - before == usual && mark - before != usual,
                _ => false,
            };
            if !splits {
                kept.push(mark);
            }
        }
        marks = kept;
    }
    let phases: FxHashSet<usize> = marks.iter().map(|mark| mark % usual).collect();
    marks.extend(weak.into_iter().filter(|mark| phases.contains(&(mark % usual))));
    marks.sort_unstable();
    marks.dedup();
    marks
}

/// The distance that occurs most often between neighbours, the earliest of equal ones, and how often.
fn most_common_distance(marks: &[usize]) -> Option<(usize, usize)> {
    let mut counts: FxHashMap<usize, (usize, usize)> = FxHashMap::default();
    let mut best: Option<(usize, usize, usize)> = None;
    for (at, pair) in marks.windows(2).enumerate() {
        let count = counts.entry(pair[1] - pair[0]).or_insert((0, at));
        count.0 += 1;
        let candidate = (pair[1] - pair[0], count.0, count.1);
        if best.is_none_or(|(_, seen, first)| candidate.1 > seen || candidate.1 == seen && candidate.2 < first) {
            best = Some(candidate);
        }
    }
    best.map(|(distance, seen, _)| (distance, seen))
}

#[cfg(test)]
mod tests;
