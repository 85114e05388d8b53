//! The analytic model: latency plus data over bandwidth, the better of two algorithms.

use crate::collective::Collective;

/// How much of a link's bandwidth a collective gets.
const EFFICIENCY: f64 = 0.7;

/// Which bytes the model takes a row's size for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelKind {
    /// That of the original scripts: `reduce_scatter`'s size is that of the whole tensor, and an `all_to_all` rank sends
    /// itself its own piece over the wire.
    #[default]
    Reference,
    /// The database's convention: `reduce_scatter`'s size is the piece of one rank, and a rank keeps its own piece.
    PerRank,
}

impl ModelKind {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::PerRank => "per-rank",
        }
    }
}

/// Link bandwidth (bytes per second) and latency (seconds) of a tier of `ATLAS_800_A3`; `None` for a tier that it lacks.
fn link(tier: i64) -> Option<(f64, f64)> {
    match tier {
        0 => Some((196e9, 5.5e-6)),
        1 => Some((196e9, 0.5e-6)),
        2 => Some((224e9, 0.2e-6)),
        _ => None,
    }
}

/// Predicted latency in microseconds of a row of `message_bytes` over `devices` ranks at `tier`; `None` for a tier that
/// the model does not know. Groups of one rank take no time.
///
/// ```
/// use perfdb_comm::alignment::{ModelKind, predict_us};
/// use perfdb_comm::collective::Collective;
///
/// let us = predict_us(ModelKind::Reference, Collective::AllReduce, 1_048_576, 16, 1).unwrap();
/// assert_eq!(format!("{us:.2}"), "19.29");
/// assert_eq!(predict_us(ModelKind::Reference, Collective::AllReduce, 1, 16, 3), None);
/// ```
pub fn predict_us(model: ModelKind, op: Collective, message_bytes: i64, devices: i64, tier: i64) -> Option<f64> {
    let (link_bandwidth, latency) = link(tier)?;
    if devices <= 1 {
        return Some(0.0);
    }
    let bandwidth = link_bandwidth * EFFICIENCY;
    let (m, n) = (i128::from(message_bytes), i128::from(devices));
    let steps = devices as f64 - 1.0;
    let log = (devices as f64).log2();
    // Exact integers, then one correctly rounded division by n where it occurs, then one by the bandwidth.
    let whole = |product: i128| product as f64 / bandwidth;
    let shared = |product: i128| divide(product, n) / bandwidth;
    let seconds = match op {
        Collective::AllReduce => {
            let ring = 2.0 * steps * latency + shared(m.saturating_mul(2 * (n - 1)));
            let tree = 2.0 * log * latency + whole(2 * m);
            ring.min(tree)
        }
        Collective::AllGather => {
            let data = whole(m.saturating_mul(n - 1));
            (steps * latency + data).min(log * latency + data)
        }
        Collective::ReduceScatter => {
            let sent = m.saturating_mul(n - 1);
            let data = match model {
                ModelKind::Reference => shared(sent),
                ModelKind::PerRank => whole(sent),
            };
            (steps * latency + data).min(log * latency + data)
        }
        Collective::AllToAll => {
            let data = match model {
                ModelKind::Reference => whole(m),
                ModelKind::PerRank => shared(m.saturating_mul(n - 1)),
            };
            (steps * latency + data).min(log * latency + data)
        }
    };
    Some(seconds * 1e6)
}

/// The double nearest to the quotient of two integers; the divisor is above zero.
fn divide(dividend: i128, divisor: i128) -> f64 {
    const EXACT: u128 = 1 << 53;
    let (numerator, denominator) = (dividend.unsigned_abs(), divisor.unsigned_abs());
    if numerator < EXACT && denominator < EXACT {
        return dividend as f64 / divisor as f64;
    }
    // Scale so that the integer quotient has at least 55 significant bits, keep whether anything was left over in the last
    // bit, and let the conversion to a double round once.
    let bits = |x: u128| 128 - x.leading_zeros();
    let shift = (56 + bits(denominator)).saturating_sub(bits(numerator)).min(numerator.leading_zeros());
    let scaled = numerator << shift;
    let quotient = (scaled / denominator) | u128::from(!scaled.is_multiple_of(denominator));
    let magnitude = quotient as f64 / 2f64.powi(shift as i32);
    if dividend < 0 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(model: ModelKind, op: Collective, m: i64, n: i64, tier: i64) -> f64 {
        predict_us(model, op, m, n, tier).unwrap()
    }

    /// Worked out by hand: tier 1, 137.2e9 bytes per second, 0.5 us; 8 ranks, 1 MiB.
    #[test]
    fn formulas() {
        let bandwidth = 196e9 * 0.7;
        let m = 1_048_576.0;
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b, "{a} {b}");
        let reference = |op| us(ModelKind::Reference, op, 1_048_576, 8, 1);
        close(
            reference(Collective::AllReduce),
            ((14.0 * 0.5e-6 + 14.0 * m / 8.0 / bandwidth) * 1e6_f64).min((6.0 * 0.5e-6 + 2.0 * m / bandwidth) * 1e6),
        );
        close(reference(Collective::AllGather), 3.0 * 0.5 + 7.0 * m / bandwidth * 1e6);
        close(reference(Collective::ReduceScatter), 3.0 * 0.5 + 7.0 * m / 8.0 / bandwidth * 1e6);
        close(reference(Collective::AllToAll), 3.0 * 0.5 + m / bandwidth * 1e6);
        let per_rank = |op| us(ModelKind::PerRank, op, 1_048_576, 8, 1);
        close(per_rank(Collective::ReduceScatter), 3.0 * 0.5 + 7.0 * m / bandwidth * 1e6);
        close(per_rank(Collective::AllToAll), 3.0 * 0.5 + 7.0 * m / 8.0 / bandwidth * 1e6);
        assert_eq!(per_rank(Collective::AllGather), reference(Collective::AllGather));
    }

    #[test]
    fn one_rank_takes_no_time_and_unknown_tiers_come_first() {
        assert_eq!(us(ModelKind::Reference, Collective::AllReduce, 1024, 1, 0), 0.0);
        assert_eq!(us(ModelKind::Reference, Collective::AllReduce, 1024, -4, 0), 0.0);
        assert_eq!(predict_us(ModelKind::Reference, Collective::AllReduce, 1024, 1, 7), None);
    }

    #[test]
    fn large_quotients_are_rounded_once() {
        assert_eq!(divide(10, 4), 2.5);
        // (2^64 + 1) / 3 = 6148914691236517205.67; the nearest double ends in …7632 or …6608.
        assert_eq!(divide((1 << 64) + 1, 3), 6_148_914_691_236_517_205.666_666_f64);
        // 2^53 + 1 over 1 is a tie, to even; with a little more it is above the tie.
        assert_eq!(divide((1 << 53) + 1, 1), 9_007_199_254_740_992.0);
        assert_eq!(divide(((1 << 53) + 1) * 7 + 1, 7), 9_007_199_254_740_994.0);
        assert_eq!(divide(-(1 << 70), 2), -(2f64.powi(69)));
        assert!(us(ModelKind::Reference, Collective::AllReduce, i64::MAX, i64::MAX, 1).is_finite());
    }
}
