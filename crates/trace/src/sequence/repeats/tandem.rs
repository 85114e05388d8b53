//! Runs of exact copies, one behind the other.

use std::ops::Range;

use super::Entry;

/// Entries of a layer at least and at most.
const SHORTEST: usize = 3;
const LONGEST: usize = 256;
/// Large pieces of work in a layer at least.
const HEAVY: usize = 3;

/// Copies of one unit behind each other; the last may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) start: usize,
    /// One past the last entry that repeats.
    pub(super) end: usize,
    pub(super) period: usize,
    /// Time of the whole copies.
    pub(super) weight: u64,
    /// Whether the period in front of the run is a copy that begins differently.
    pub(super) odd_first: bool,
}

/// The run with most time within some stretches. Short periods come first, and a longer one must weigh a tenth more.
pub(super) fn heaviest(entries: &[Entry], symbols: &[u8], stretches: &[Range<usize>]) -> Option<Run> {
    let mut sums = Vec::with_capacity(entries.len() + 1);
    sums.push(0_u64);
    for entry in entries {
        sums.push(sums.last().copied().unwrap_or(0) + entry.time);
    }
    let mut best: Option<(Run, Range<usize>)> = None;
    let longest = stretches.iter().map(|stretch| stretch.len() / 2).max().unwrap_or(0).min(LONGEST);
    for period in SHORTEST..=longest {
        for stretch in stretches.iter().filter(|stretch| stretch.len() >= 2 * period) {
            runs(&symbols[stretch.clone()], period, |start, end| {
                let (start, end) = (start + stretch.start, end + stretch.start);
                let copies = (end - start) / period;
                let weight = sums[start + copies * period] - sums[start];
                let beats = best.as_ref().is_none_or(|(best, _)| 10 * weight > 11 * best.weight);
                if beats && copies >= least_copies(period) && is_layer(&entries[start..start + period]) {
                    best = Some((Run { start, end, period, weight, odd_first: false }, stretch.clone()));
                }
            });
        }
    }
    let (run, stretch) = best?;
    Some(with_odd_first(run, &stretch, symbols))
}

fn least_copies(period: usize) -> usize {
    if period >= 6 { 2 } else { 3 }
}

/// At least two different entries, and three large pieces of work.
fn is_layer(unit: &[Entry]) -> bool {
    let heavy = unit.iter().filter(|entry| entry.heavy).count();
    heavy >= HEAVY && unit.iter().any(|entry| entry.symbol != unit[0].symbol)
}

/// Every maximal stretch in which each entry equals the one a period later, at least a period long: first entry, and one past
/// the last that repeats.
fn runs(symbols: &[u8], period: usize, mut found: impl FnMut(usize, usize)) {
    let later = symbols.get(period..).unwrap_or_default();
    let differs = |at: &usize| symbols[*at] != later[*at];
    // A stretch that is a period long holds a multiple of it: all others are passed over.
    let mut at = 0;
    while at < later.len() {
        if differs(&at) {
            at += period;
            continue;
        }
        let start = (0..at).rev().find(differs).map_or(0, |before| before + 1);
        let end = (at..later.len()).find(differs).unwrap_or(later.len());
        if end - start >= period {
            found(start, end + period);
        }
        at = (end / period + 1) * period;
    }
}

/// A first layer that begins differently: what is left over behind the last whole copy is the end of one more at the front.
fn with_odd_first(run: Run, stretch: &Range<usize>, symbols: &[u8]) -> Run {
    let rest = (run.end - run.start) % run.period;
    let missing = run.period - rest;
    if 4 * rest < run.period || run.start < stretch.start + missing {
        return run;
    }
    let before = &symbols[(run.start - missing).saturating_sub(2).max(stretch.start)..run.start];
    let expected = &symbols[run.start + rest..run.start + run.period];
    if 10 * common_subsequence(before, expected) < 6 * missing {
        return run;
    }
    Run { start: run.start + rest, odd_first: true, ..run }
}

/// Where the second of two layers begins that differ in an entry or two, and therefore repeat as a pair only.
pub(super) fn seam(unit: &[Entry]) -> Option<usize> {
    let symbols: Vec<u8> = unit.iter().map(|entry| entry.symbol).collect();
    let middle = unit.len() / 2;
    let seams = middle.saturating_sub(unit.len() / 8)..=middle + unit.len() / 8;
    let common = |seam: usize| {
        let (first, second) = symbols.split_at(seam);
        let common = common_subsequence(first, second);
        (10 * common >= 9 * first.len().max(second.len())).then_some((common, std::cmp::Reverse(seam.abs_diff(middle))))
    };
    let are_layers = |seam: &usize| is_layer(&unit[..*seam]) && is_layer(&unit[*seam..]);
    seams.filter(are_layers).filter_map(|seam| Some((common(seam)?, seam))).max().map(|(_, seam)| seam)
}

/// Length of the longest common subsequence.
fn common_subsequence(first: &[u8], second: &[u8]) -> usize {
    let mut row = vec![0_usize; second.len() + 1];
    for one in first {
        let mut diagonal = 0;
        for (at, other) in second.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if one == other { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row[second.len()]
}
