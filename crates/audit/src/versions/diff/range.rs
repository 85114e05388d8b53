//! Sizes to which a slow-down is confined.

use super::rows::RowDiff;
use perfdb_store::registry::KernelClass;

/// Fewest rows that make a range.
const FEWEST: usize = 3;

/// A range of sizes whose rows became slower, while those beyond it did not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowerRange {
    /// What the size is: `M`, `message_bytes`, or the first dimension.
    pub axis: &'static str,
    /// Which side of the size.
    pub bound: Bound,
    /// The last size of the range.
    pub size: i64,
    /// Rows in the range.
    pub rows: usize,
    /// Geometric mean of the second durations by the first, in the range.
    pub mean_ratio: f64,
}

/// Which side of a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The size and smaller ones.
    UpTo,
    /// The size and larger ones.
    From,
}

impl Bound {
    pub fn sign(self) -> &'static str {
        match self {
            Bound::UpTo => "≤",
            Bound::From => "≥",
        }
    }
}

/// The range that most of a slow-down lies in: all rows up to a size, or from one, slower on the whole by more than the tolerance, and the
/// others not. `None` where no size divides the rows so.
pub(super) fn slower_range(class: KernelClass, rows: &[RowDiff], tolerance: f64) -> Option<SlowerRange> {
    let mut sizes: Vec<(i64, f64)> = rows
        .iter()
        .filter(|row| row.outcome.is_judged())
        .filter_map(|row| Some((row.case.size()?, row.ratio?.ln())))
        .collect();
    sizes.sort_by_key(|(size, _)| *size);
    let limit = tolerance.ln_1p();
    let total: f64 = sizes.iter().map(|(_, logarithm)| logarithm).sum();
    let mut before = 0.0;
    // By how much a range is slower than the tolerance: a row that is not makes no range better.
    let mut best: Option<(f64, f64, Bound, i64, usize)> = None;
    for at in 1..sizes.len() {
        before += sizes[at - 1].1;
        if sizes[at - 1].0 == sizes[at].0 {
            continue;
        }
        let sides = [
            (before, at, total - before, sizes.len() - at, Bound::UpTo, sizes[at - 1].0),
            (total - before, sizes.len() - at, before, at, Bound::From, sizes[at].0),
        ];
        for (slow, count, rest, others, bound, size) in sides {
            let is_range = count >= FEWEST && slow / count as f64 > limit && rest / others as f64 <= limit;
            let excess = slow - limit * count as f64;
            if is_range && best.is_none_or(|(known, ..)| excess > known) {
                best = Some((excess, slow, bound, size, count));
            }
        }
    }
    let axis = class.size_name();
    best.map(|(_, slow, bound, size, rows)| SlowerRange {
        axis,
        bound,
        size,
        rows,
        mean_ratio: (slow / rows as f64).exp(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versions::Case;
    use crate::versions::diff::Outcome;

    fn row(size: i64, ratio: f64) -> RowDiff {
        let case = Case { parts: format!("{size},8\u{1f}A").into(), runtime: Box::default() };
        RowDiff { case, a: None, b: None, ratio: Some(ratio), outcome: Outcome::Slower, metadata: Vec::new() }
    }

    fn range(ratios: &[(i64, f64)]) -> Option<(Bound, i64, usize)> {
        let rows: Vec<RowDiff> = ratios.iter().map(|(size, ratio)| row(*size, *ratio)).collect();
        slower_range(KernelClass::MatMul, &rows, 0.03).map(|range| (range.bound, range.size, range.rows))
    }

    #[test]
    fn a_slow_down_is_confined_where_the_others_are_not_slower() {
        let small = [(1, 1.1), (8, 1.1), (16, 1.1), (32, 1.0), (64, 0.99), (128, 1.0)];
        assert_eq!(range(&small), Some((Bound::UpTo, 16, 3)));
        let large: Vec<_> = small.iter().map(|(size, ratio)| (1000 - size, *ratio)).collect();
        assert_eq!(range(&large), Some((Bound::From, 984, 3)));
        assert_eq!(range(&small.map(|(size, _)| (size, 1.1))), None);
        assert_eq!(range(&[(1, 1.1), (2, 1.1), (3, 1.0)]), None);
        assert_eq!(range(&[]), None);
    }
}
