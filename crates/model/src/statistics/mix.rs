//! Measurements that hold another mix of calls: of each kind, both count alike.

use crate::statistics::series::{Series, beyond};

/// The calls of two measurements that have their like in the other one, weighted so that both hold equally many of each kind.
#[derive(Debug, Clone, PartialEq)]
pub struct LikeCalls {
    /// Weighted times.
    pub sides: [Series; 2],
    /// Sum of the weights, the same of both.
    pub calls: f64,
    /// Which part of the time of each measurement is in these calls.
    pub shares: [f64; 2],
}

/// The calls of both sides that are of the same kinds, where the kinds do not make up the same part of either side anyway.
/// `kinds` has the kind of each stratum; equal numbers are equal kinds.
///
/// A kind counts as much as it tells, `n m / (n + m)` of *n* and *m* calls (Mantel and Haenszel), so that kinds of one side alone do
/// not count at all, and all of them count as they are where the mix is the same.
pub fn like_calls(sides: [&Series; 2], kinds: [&[u32]; 2]) -> Option<LikeCalls> {
    let of_calls = |side: usize| sides[side].strata.iter().map(move |stratum| kinds[side][*stratum as usize] as usize);
    let mut counts = vec![[0.0_f64; 2]; kinds.iter().map(|kinds| beyond(kinds)).max()?];
    of_calls(0).for_each(|kind| counts[kind][0] += 1.0);
    of_calls(1).for_each(|kind| counts[kind][1] += 1.0);
    let [first, second] = sides.map(|side| side.len() as f64);
    if counts.iter().all(|[one, other]| one * second == other * first) {
        return None;
    }
    let weighted = |side: usize| {
        let series = sides[side];
        let mut found = Series { has_uneven_clusters: series.has_uneven_clusters, ..Series::default() };
        let mut time = 0.0;
        for (at, kind) in of_calls(side).enumerate() {
            let [own, others] = [counts[kind][side], counts[kind][1 - side]];
            if others > 0.0 {
                found.push(series.values[at] * others / (own + others), series.strata[at], series.clusters[at]);
                time += series.values[at];
            }
        }
        (found, time / series.total())
    };
    let [(one, of_one), (other, of_other)] = [weighted(0), weighted(1)];
    let calls =
        counts.iter().filter(|[one, other]| one + other > 0.0).map(|[one, other]| one * other / (one + other)).sum();
    Some(LikeCalls { sides: [one, other], calls, shares: [of_one, of_other] })
}

#[cfg(test)]
mod tests {
    use super::like_calls;
    use crate::statistics::{Series, estimate};

    /// This many calls of each of these lengths, a stratum each.
    fn series(calls: &[(u32, f64)]) -> Series {
        let mut series = Series::default();
        for (stratum, (count, time)) in (0..).zip(calls) {
            (0..*count).for_each(|call| series.push(time * (1.0 + f64::from(call % 3) / 1000.0), stratum, 0));
        }
        series
    }

    #[test]
    fn the_same_mix_needs_no_weights() {
        let (one, other) = (series(&[(10, 4.0), (20, 9.0)]), series(&[(40, 9.0), (20, 4.0)]));
        assert_eq!(like_calls([&one, &other], [&[0, 1], &[1, 0]]), None);
        assert_eq!(like_calls([&Series::default(), &one], [&[], &[0, 1]]), None);
    }

    #[test]
    fn more_of_the_long_calls_is_no_longer_call() {
        let (one, other) = (series(&[(12, 40.0), (27, 5.0)]), series(&[(6, 40.0), (18, 5.0)]));
        let plain = estimate([&one, &other], [39.0, 24.0], false).expect("enough calls");
        assert!(plain.log_ratio < -0.1, "{plain:?}");
        let like = like_calls([&one, &other], [&[0, 1], &[0, 1]]).expect("another mix");
        assert_eq!((like.calls, like.shares), (12.0 * 6.0 / 18.0 + 27.0 * 18.0 / 45.0, [1.0, 1.0]));
        let found = estimate([&like.sides[0], &like.sides[1]], [like.calls; 2], false).expect("enough calls");
        assert!(found.log_ratio.abs() < 0.001, "{found:?}");
    }

    #[test]
    fn calls_of_one_side_alone_do_not_count() {
        let (one, other) = (series(&[(12, 40.0), (30, 5.0)]), series(&[(30, 6.0)]));
        let like = like_calls([&one, &other], [&[0, 1], &[1]]).expect("another mix");
        assert_eq!(like.sides.each_ref().map(Series::len), [30, 30]);
        assert!((like.shares[0] - 150.0 / 630.0).abs() < 0.01 && like.shares[1] == 1.0, "{like:?}");
        let found = estimate([&like.sides[0], &like.sides[1]], [like.calls; 2], false).expect("enough calls");
        assert!((found.log_ratio - 1.2_f64.ln()).abs() < 1e-9, "{found:?}");
    }
}
