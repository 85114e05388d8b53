//! The difference of two traces, split into parts that sum to it exactly.
//!
//! Per operation of both traces, with n calls of a mean time t: `n1·t1 − n2·t2 = (n1 − n2)·(t1 + t2)/2 + (t1 − t2)·(n1 + n2)/2`,
//! more or fewer calls and slower or faster calls. The first term is rounded to whole picoseconds, half to even, and the
//! second is what is left, so the two sum to the difference exactly, and exchanging the traces changes signs alone.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::occupancy::{Occupancy, occupancy};
use crate::pairing::{Pair, Pairing};
use crate::time::{Picoseconds, milliseconds};
use crate::totals::Sum;

/// What the difference of two traces consists of. Times are of trace 1 less those of trace 2.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Time from the first to the last kernel of trace 1, per device, summed, ms.
    pub trace1_elapsed_ms: f64,
    /// Time from the first to the last kernel of trace 2, per device, summed, ms.
    pub trace2_elapsed_ms: f64,
    /// Their difference, ms: the sum of all parts.
    pub elapsed_ms: f64,
    /// Difference of the kernel times, ms: the sum of calls, speed, one-sided operations and fusion.
    pub kernel_ms: f64,
    /// The parts over all operations.
    pub parts: Parts,
    /// The parts as percentages of `elapsed_ms`, adding up to 100; `None` if that is 0.
    pub shares_percent: Option<Parts>,
    /// Per operation, by |difference| descending, then name, then trace.
    pub operations: Vec<OperationDifference>,
}

/// Parts of a difference, in ms (or as percentages).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Parts {
    /// More or fewer calls.
    pub calls: f64,
    /// Slower or faster calls.
    pub speed: f64,
    /// Operations that one trace alone has.
    pub one_sided: f64,
    /// Operations that one trace runs fused and the other in pieces.
    pub fusion: f64,
    /// Kernels that run at the same time, which shortens the elapsed time.
    pub overlap: f64,
    /// Gaps between kernels.
    pub idle: f64,
}

impl Parts {
    /// Names and values, in order.
    pub fn named(&self) -> [(&'static str, f64); 6] {
        [
            ("calls", self.calls),
            ("speed", self.speed),
            ("one_sided", self.one_sided),
            ("fusion", self.fusion),
            ("overlap", self.overlap),
            ("idle", self.idle),
        ]
    }

    fn from_array(parts: [f64; 6]) -> Parts {
        let [calls, speed, one_sided, fusion, overlap, idle] = parts;
        Parts { calls, speed, one_sided, fusion, overlap, idle }
    }
}

/// What the difference of one operation consists of, ms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperationDifference {
    /// Operation.
    pub operation: String,
    /// Time in trace 1.
    pub trace1_ms: f64,
    /// Time in trace 2.
    pub trace2_ms: f64,
    /// Their difference: the sum of the parts.
    pub difference_ms: f64,
    /// More or fewer calls.
    pub calls_ms: f64,
    /// Slower or faster calls.
    pub speed_ms: f64,
    /// Only one trace has it.
    pub one_sided_ms: f64,
    /// One trace runs it fused.
    pub fusion_ms: f64,
}

/// Where the difference of an operation belongs, in picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) calls: Picoseconds,
    pub(crate) speed: Picoseconds,
    pub(crate) one_sided: Picoseconds,
    pub(crate) fusion: Picoseconds,
}

pub(crate) fn difference(pairing: &Pairing<'_>) -> Difference {
    let mut operations = operations(pairing);
    let mut all = Split::default();
    for (_, split) in &operations {
        all.calls += split.calls;
        all.speed += split.speed;
        all.one_sided += split.one_sided;
        all.fusion += split.fusion;
    }
    operations.sort_by(|(a, _), (b, _)| {
        let size = |row: &Row<'_>| (row.times[0] - row.times[1]).abs();
        size(b).cmp(&size(a)).then_with(|| a.operation.cmp(b.operation))
    });
    let occupancies = pairing.traces.map(|trace| occupancy(trace, pairing.filter));
    let elapsed = occupancies.map(|Occupancy { busy, idle }| busy + idle);
    let totals = [0, 1].map(|side| pairing.totals[side].sum.time);
    let kernel = totals[0] - totals[1];
    let idle = occupancies[0].idle - occupancies[1].idle;
    // Kernel time less busy time is what ran at the same time; more of it makes the trace shorter.
    let overlap = (occupancies[0].busy - totals[0]) - (occupancies[1].busy - totals[1]);
    let parts = [all.calls, all.speed, all.one_sided, all.fusion, overlap, idle];
    Difference {
        trace1_elapsed_ms: milliseconds(elapsed[0]),
        trace2_elapsed_ms: milliseconds(elapsed[1]),
        elapsed_ms: milliseconds(elapsed[0] - elapsed[1]),
        kernel_ms: milliseconds(kernel),
        parts: Parts::from_array(parts.map(milliseconds)),
        shares_percent: shares(parts, elapsed[0] - elapsed[1]).map(Parts::from_array),
        operations: operations.iter().map(|(row, split)| operation_difference(row, *split)).collect(),
    }
}

struct Row<'a> {
    operation: &'a str,
    times: [Picoseconds; 2],
}

fn operations<'a>(pairing: &'a Pairing<'_>) -> Vec<(Row<'a>, Split)> {
    let pairs = pairing.pairs.iter().map(|pair| {
        let times = [0, 1].map(|side| pair.sides[side].sum.time);
        (Row { operation: &pair.operation, times }, split(pair))
    });
    let fused = fused_singles(pairing);
    let singles = pairing.singles.iter().map(|single| {
        let mut times = [0, 0];
        times[single.side] = single.totals.sum.time;
        let difference = times[0] - times[1];
        let split = if fused.contains(&(single.side, single.operation.as_str())) {
            Split { fusion: difference, ..Split::default() }
        } else {
            Split { one_sided: difference, ..Split::default() }
        };
        (Row { operation: &single.operation, times }, split)
    });
    pairs.chain(singles).collect()
}

/// One-sided operations that belong together: a fused one whose pieces run in the other trace, and pieces that only the
/// other trace runs on their own.
fn fused_singles<'a>(pairing: &'a Pairing<'_>) -> BTreeSet<(usize, &'a str)> {
    let mut fused = BTreeSet::new();
    for single in pairing.singles.iter().filter(|single| single.operation.contains('+')) {
        let other = 1 - single.side;
        let pieces: Vec<&str> = single.operation.split('+').map(|piece| piece_class(piece.trim())).collect();
        let paired = pairing.pairs.iter().any(|pair| pieces.contains(&pair.operation.as_str()));
        let alone: Vec<&str> = pairing
            .singles
            .iter()
            .filter(|piece| piece.side == other && pieces.contains(&piece.operation.as_str()))
            .map(|piece| piece.operation.as_str())
            .collect();
        if paired || !alone.is_empty() {
            fused.insert((single.side, single.operation.as_str()));
            fused.extend(alone.into_iter().map(|piece| (other, piece)));
        }
    }
    fused
}

/// The class that a piece of a fused operation has on its own.
fn piece_class(piece: &str) -> &str {
    if piece == "GEMM" { "Dense GEMM" } else { piece }
}

fn split(pair: &Pair) -> Split {
    let calls = calls_part(pair.sides[0].sum, pair.sides[1].sum);
    Split { calls, speed: pair.gap() - calls, ..Split::default() }
}

/// `(n1 − n2)·(t1 + t2)/2` in whole picoseconds, half to even. With `t = s/n` that is
/// `(n1 − n2)·(s1·n2 + s2·n1) / (2·n1·n2)`.
fn calls_part(first: Sum, second: Sum) -> Picoseconds {
    let (n1, n2) = (i128::from(first.count), i128::from(second.count));
    if n1 == n2 || n1 == 0 || n2 == 0 {
        return 0;
    }
    let exact = || {
        let weighted = first.time.checked_mul(n2)?.checked_add(second.time.checked_mul(n1)?)?;
        let numerator = weighted.checked_mul(n1 - n2)?;
        Some(divided(numerator, n1.checked_mul(n2)?.checked_mul(2)?))
    };
    exact().unwrap_or_else(|| {
        // Beyond 10^38 a double is as good: the other part still takes what is left.
        let mean = |sum: Sum| sum.time as f64 / sum.count as f64;
        ((n1 - n2) as f64 * (mean(first) + mean(second)) / 2.0) as i128
    })
}

/// Quotient rounded half to even; the divisor is positive.
fn divided(numerator: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (numerator.div_euclid(divisor), numerator.rem_euclid(divisor));
    match (rest.cmp(&(divisor - rest)), quotient % 2 == 0) {
        (std::cmp::Ordering::Less, _) | (std::cmp::Ordering::Equal, true) => quotient,
        _ => quotient + 1,
    }
}

/// Percentages with one decimal that add up to 100 exactly: rounded down, and the tenths that are missing given to the
/// parts that lost most.
fn shares(parts: [Picoseconds; 6], whole: Picoseconds) -> Option<[f64; 6]> {
    if whole == 0 {
        return None;
    }
    let exact = parts.map(|part| 1000.0 * part as f64 / whole as f64);
    let mut tenths = exact.map(f64::floor);
    let missing = 1000.0 - tenths.iter().sum::<f64>();
    let mut order: Vec<usize> = (0..parts.len()).filter(|at| parts[*at] != 0).collect();
    order.sort_by(|a, b| (exact[*b] - tenths[*b]).total_cmp(&(exact[*a] - tenths[*a])).then(a.cmp(b)));
    for at in order.into_iter().take(missing.max(0.0) as usize) {
        tenths[at] += 1.0;
    }
    // No negative zeros.
    Some(tenths.map(|tenths| tenths / 10.0 + 0.0))
}

fn operation_difference(row: &Row<'_>, split: Split) -> OperationDifference {
    OperationDifference {
        operation: row.operation.to_owned(),
        trace1_ms: milliseconds(row.times[0]),
        trace2_ms: milliseconds(row.times[1]),
        difference_ms: milliseconds(row.times[0] - row.times[1]),
        calls_ms: milliseconds(split.calls),
        speed_ms: milliseconds(split.speed),
        one_sided_ms: milliseconds(split.one_sided),
        fusion_ms: milliseconds(split.fusion),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn calls_and_speed_are_told_apart() {
        let sum = |count, time| Sum { count, time };
        // Twice the calls of the same length: all of the difference is calls.
        assert_eq!(calls_part(sum(20, 200), sum(10, 100)), 100);
        // The same calls, twice as long: none of it.
        assert_eq!(calls_part(sum(10, 200), sum(10, 100)), 0);
        // 3 calls of 10 against 2 of 20: one call more of 15 on average.
        assert_eq!(calls_part(sum(3, 30), sum(2, 40)), 15);
    }

    #[test]
    fn halves_go_to_even() {
        assert_eq!([5, 15, -5, -15, 7, -7].map(|numerator| divided(numerator, 10)), [0, 2, 0, -2, 1, -1]);
    }

    #[test]
    fn shares_add_up() {
        let shares = shares([1, 1, 1, 0, 0, 0], 3).expect("a difference");
        assert_eq!(shares, [33.4, 33.3, 33.3, 0.0, 0.0, 0.0]);
        assert_eq!(super::shares([5, -5, 0, 0, 0, 0], 0), None);
    }

    proptest! {
        #[test]
        fn exchanging_the_traces_changes_signs(n1 in 1_u64..1_000_000, n2 in 1_u64..1_000_000, s1 in 0_i128..1i128 << 70, s2 in 0_i128..1i128 << 70) {
            let (first, second) = (Sum { count: n1, time: s1 }, Sum { count: n2, time: s2 });
            prop_assert_eq!(calls_part(first, second), -calls_part(second, first));
        }

        #[test]
        fn shares_always_add_up(parts in prop::array::uniform6(-1_000_000_000_i128..1_000_000_000)) {
            let whole = parts.iter().sum::<i128>();
            if let Some(shares) = shares(parts, whole) {
                let tenths: f64 = shares.iter().map(|share| (share * 10.0).round()).sum();
                prop_assert_eq!(tenths, 1000.0);
            }
        }
    }
}
