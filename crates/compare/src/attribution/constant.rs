//! A constant difference of layers: call counts such as 64 : 63 and 58 : 57 whose reduced ratios differ by the same number.

use super::contribution::{Cause, Contribution, Detail};
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

/// Calls of a contribution in one pass, predicted and measured; in the smallest whole numbers of their ratio where passes are not whole ones.
fn counts(contribution: &Contribution) -> Option<(i128, i128)> {
    let Detail::Calls(calls) = &contribution.detail else { return None };
    let whole = |calls: f64| (calls.fract() == 0.0).then_some(calls as i128);
    let of_a_pass = whole(calls.predicted_calls).zip(whole(calls.measured_calls));
    of_a_pass.or_else(|| reduced(calls.exact))
}

fn reduced((predicted, measured): (i128, i128)) -> Option<(i128, i128)> {
    let common = greatest_common_divisor(predicted, measured).max(1);
    Some((predicted / common, measured / common))
}

/// Layers that one side may have more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Candidate {
    /// Of the predicted side.
    predicted: i128,
    /// Beyond those of the measured side.
    more: i128,
}

impl Candidate {
    fn of((predicted, measured): (i128, i128)) -> Option<Candidate> {
        let (least, more) = (predicted.min(measured), predicted - measured);
        (least >= FEWEST_LAYERS && more != 0 && more.abs() * FEWEST_LAYERS <= least)
            .then_some(Candidate { predicted, more })
    }

    /// Whether this many more layers explain calls: as many in each, and up to one more or fewer per call at the ends of the model.
    fn explains(self, (predicted, measured): (i128, i128)) -> bool {
        let more = predicted - measured;
        if more % self.more != 0 {
            return false;
        }
        let per_layer = more / self.more;
        per_layer >= 1 && (predicted - per_layer * self.predicted).abs() <= per_layer
    }

    /// Whether it explains calls of a measured pass that begins and ends inside a layer: the two parts lack up to one layer between them.
    fn explains_cut(self, (predicted, measured): (i128, i128)) -> bool {
        let per_layer = (2 * predicted + self.predicted) / (2 * self.predicted);
        let lacking = predicted - measured - per_layer * self.more;
        per_layer >= 1
            && (predicted - per_layer * self.predicted).abs() <= per_layer
            && (0..=per_layer).contains(&lacking)
    }
}

/// Types and shapes of the first and the last kernel of the measured side.
pub(super) type Ends<'a> = [(&'a str, &'a str); 2];

/// Turns `count` contributions into `layers` where most of their time votes for one difference. `predicted_layers` are those that the predicted
/// side was cut into, if it was: 64 : 62 calls are one pair of layers or two layers. Where kernels at both `ends` of the measured side lack
/// fewer calls than others, the pass begins and ends inside a layer, and they say how many layers it lacks.
pub(super) fn find_layers(
    contributions: &mut [Contribution],
    predicted_layers: Option<usize>,
    ends: Option<Ends<'_>>,
) -> Option<LayersNote> {
    let is_count = |contribution: &&Contribution| contribution.cause == Cause::Count;
    let total_ps: i128 =
        contributions.iter().filter(is_count).map(|contribution| contribution.difference_ps.abs()).sum();
    let counted: Vec<(usize, (i128, i128))> = (0..contributions.len())
        .filter(|&at| is_count(&&contributions[at]))
        .filter_map(|at| Some((at, counts(&contributions[at])?)))
        .collect();
    let mut candidates: Vec<Candidate> = Vec::new();
    for (_, counts) in &counted {
        for candidate in [reduced(*counts).and_then(Candidate::of), Candidate::of(*counts)].into_iter().flatten() {
            if !candidates.contains(&candidate) {
                candidates.push(candidate);
            }
        }
    }
    let at_end = |(kernel_type, shape): (&str, &str)| {
        let is_it =
            |contribution: &Contribution| &*contribution.kernel_type == kernel_type && contribution.shape == shape;
        counted.iter().find(|(at, _)| is_it(&contributions[*at])).map(|(_, counts)| *counts)
    };
    let ends = ends.and_then(|[first, last]| Some([at_end(first)?, at_end(last)?]));
    let is_cut = |candidate: &Candidate| ends.is_some_and(|ends| ends.iter().all(|counts| candidate.explains(*counts)));
    let voters = |candidate: &Candidate| -> Vec<usize> {
        let is_cut = is_cut(candidate);
        let explains = |counts| candidate.explains(counts) || is_cut && candidate.explains_cut(counts);
        counted.iter().filter(|(_, counts)| explains(*counts)).map(|(at, _)| *at).collect()
    };
    let time = |voters: &[usize]| voters.iter().map(|&at| contributions[at].difference_ps.abs()).sum::<i128>();
    let off = |candidate: &Candidate| predicted_layers.map_or(0, |layers| (candidate.predicted - layers as i128).abs());
    // Of equal ones that with as many layers as were cut, then the smallest.
    let best = candidates.into_iter().min_by_key(|candidate| {
        (-time(&voters(candidate)), off(candidate), candidate.more.abs(), candidate.predicted)
    })?;
    let voters = voters(&best);
    let voted_ps = time(&voters);
    if voters.len() < 2 || 2 * voted_ps < total_ps {
        return None;
    }
    let mut ratios = BTreeSet::new();
    let mut difference_ps = 0;
    for at in voters {
        let contribution = &mut contributions[at];
        contribution.cause = Cause::Layers;
        difference_ps += contribution.difference_ps;
        if let Detail::Calls(calls) = &contribution.detail {
            ratios.insert(format!("{}:{}", short(calls.predicted_calls), short(calls.measured_calls)));
        }
    }
    Some(LayersNote {
        layers: best.more as i64,
        difference_ps,
        ratios: ratios.into_iter().collect(),
        share_of_count: round(voted_ps as f64 / total_ps as f64, 4),
    })
}

/// A count with three decimals at most.
fn short(calls: f64) -> String {
    round(calls, 3).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_explains_calls_of_every_number_in_it() {
        let candidate = Candidate::of((64, 63)).expect("a candidate");
        for counts in [(64, 63), (128, 126), (129, 127), (127, 125), (193, 190)] {
            assert!(candidate.explains(counts), "{counts:?}");
        }
        for counts in [(64, 62), (64, 65), (128, 127), (200, 198)] {
            assert!(!candidate.explains(counts), "{counts:?}");
        }
        assert_eq!(Candidate::of((7, 6)), None);
        assert_eq!(Candidate::of((64, 64)), None);
        assert_eq!(Candidate::of((64, 32)), None);
    }

    #[test]
    fn a_pass_cut_inside_a_layer_lacks_up_to_one_more() {
        let candidate = Candidate::of((64, 63)).expect("a candidate");
        for counts in [(64, 63), (64, 62), (128, 126), (128, 125), (128, 124), (129, 126)] {
            assert!(candidate.explains_cut(counts), "{counts:?}");
        }
        for counts in [(64, 61), (64, 64), (128, 123), (1, 0), (200, 198)] {
            assert!(!candidate.explains_cut(counts), "{counts:?}");
        }
    }
}
