//! A constant difference of layers: call counts such as 64 : 63 and 58 : 57 whose reduced ratios differ by the same number.

use super::leaf::{Cause, Detail, Leaf};
use super::quotient::greatest_common_divisor;
use bitcode::{Decode, Encode};
use perfdb_pycompat::float::round;
use serde::Serialize;
use std::collections::BTreeSet;

/// Layers that one side has more.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct LayersNote {
    /// Layers on the predicted side beyond those of the measured one.
    pub layers: i64,
    /// What they make, in picoseconds.
    pub difference_ps: i128,
    /// Calls of the kernels that say so, predicted : measured.
    pub ratios: Vec<String>,
    /// Their share of all that more or fewer calls make, up to 1.
    pub share_of_count: f64,
}

/// Fewest layers that a ratio is believed from.
const FEWEST_LAYERS: i128 = 8;

/// Turns `count` leaves into `layers` where most of their time votes for one difference.
pub(super) fn find_layers(leaves: &mut [Leaf]) -> Option<LayersNote> {
    let is_count = |leaf: &&Leaf| leaf.cause == Cause::Count;
    let total_ps: i128 = leaves.iter().filter(is_count).map(|leaf| leaf.difference_ps.abs()).sum();
    let vote = |leaf: &Leaf| {
        let Detail::Calls(calls) = &leaf.detail else { return None };
        let (predicted, measured) = calls.exact;
        let common = greatest_common_divisor(predicted, measured).max(1);
        let (p, q) = (predicted / common, measured / common);
        (p.min(q) >= FEWEST_LAYERS && (p - q).abs() * FEWEST_LAYERS <= p.min(q)).then_some(p - q)
    };
    let mut votes: Vec<(i128, i128)> = Vec::new();
    for leaf in leaves.iter().filter(is_count) {
        let Some(layers) = vote(leaf) else { continue };
        match votes.iter_mut().find(|(known, _)| *known == layers) {
            Some((_, ps)) => *ps += leaf.difference_ps.abs(),
            None => votes.push((layers, leaf.difference_ps.abs())),
        }
    }
    // Of equal ones the first of the smallest.
    votes.sort_by_key(|&(layers, ps)| (-ps, layers.abs()));
    let &(layers, voted_ps) = votes.first()?;
    let voters: Vec<usize> =
        (0..leaves.len()).filter(|&at| leaves[at].cause == Cause::Count && vote(&leaves[at]) == Some(layers)).collect();
    if voters.len() < 2 || 2 * voted_ps < total_ps {
        return None;
    }
    let mut ratios = BTreeSet::new();
    let mut difference_ps = 0;
    for at in voters {
        let leaf = &mut leaves[at];
        leaf.cause = Cause::Layers;
        difference_ps += leaf.difference_ps;
        if let Detail::Calls(calls) = &leaf.detail {
            ratios.insert(format!("{}:{}", short(calls.predicted_calls), short(calls.measured_calls)));
        }
    }
    Some(LayersNote {
        layers: layers as i64,
        difference_ps,
        ratios: ratios.into_iter().collect(),
        share_of_count: round(voted_ps as f64 / total_ps as f64, 4),
    })
}

/// A count with three decimals at most.
fn short(calls: f64) -> String {
    round(calls, 3).to_string()
}
