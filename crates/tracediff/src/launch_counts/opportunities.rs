//! Types that one trace launches far more often than the other.

use serde::Serialize;

use super::Side;
use super::groups::Group;
use super::types::{TYPES, Tally};
use crate::time::milliseconds;

/// A type that one trace launches far more often.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LaunchCountOpportunity {
    /// Type.
    pub kernel_type: &'static str,
    /// Kernels in trace 1.
    pub trace1_total: u64,
    /// Kernels in trace 2.
    pub trace2_total: u64,
    /// Kernels per group in trace 1; 0 where no groups match.
    pub trace1_avg_per_group: f64,
    /// Kernels per group in trace 2; 0 where no groups match.
    pub trace2_avg_per_group: f64,
    /// Time in trace 1, ms.
    pub trace1_time_ms: f64,
    /// Time in trace 2, ms.
    pub trace2_time_ms: f64,
    /// Of the times; `None` is infinite.
    pub time_ratio: Option<f64>,
    /// Of the averages (of the totals where whole traces were counted), the larger by the smaller as a rule; `None` is
    /// infinite.
    pub ratio: Option<f64>,
    /// The trace that launches the type less often.
    pub fused_by: &'static str,
    /// Groups in which the counts differ; 0 where whole traces were counted.
    pub groups_affected: usize,
    /// Groups with the type, or matched groups.
    pub total_groups: usize,
}

pub(crate) fn opportunities(sides: &[Side<'_>; 2], matches: &[[&Group; 2]]) -> Vec<LaunchCountOpportunity> {
    let mut found: Vec<LaunchCountOpportunity> = Vec::new();
    for kind in types_in_match_order(matches) {
        let with: Vec<&[&Group; 2]> =
            matches.iter().filter(|groups| groups.iter().any(|group| group.counts[kind].count > 0)).collect();
        let pooled = [0, 1].map(|side| pool(with.iter().map(|groups| groups[side].counts[kind])));
        let averages = pooled.map(|tally| tally.count as f64 / with.len() as f64);
        let all = pooled[0].count + pooled[1].count;
        if exceeds(averages, 10.0) || (exceeds(averages, 2.0) && all > 20) {
            let affected =
                with.iter().filter(|groups| groups[0].counts[kind].count != groups[1].counts[kind].count).count();
            found.push(opportunity(kind, pooled, averages, affected, with.len()));
        }
    }
    for (kind, name) in TYPES.iter().enumerate() {
        let counts = [0, 1].map(|side| sides[side].counts[kind]);
        let all = counts[0].count + counts[1].count;
        let reported = found.iter().any(|found| found.kernel_type == *name);
        let totals = counts.map(|tally| tally.count as f64);
        if !reported && all > 100 && exceeds(totals, 2.0) {
            found.push(opportunity(kind, counts, totals, 0, matches.len()));
        }
    }
    let weight = |found: &LaunchCountOpportunity| {
        found.ratio.unwrap_or(f64::INFINITY) * (found.trace1_total + found.trace2_total) as f64
    };
    found.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    found
}

/// Types of matched groups: first seen in match order, byte order within a pair.
fn types_in_match_order(matches: &[[&Group; 2]]) -> Vec<usize> {
    let mut types: Vec<usize> = Vec::new();
    for groups in matches {
        for kind in 0..TYPES.len() {
            if !types.contains(&kind) && groups.iter().any(|group| group.counts[kind].count > 0) {
                types.push(kind);
            }
        }
    }
    types
}

fn pool(tallies: impl Iterator<Item = Tally>) -> Tally {
    tallies.fold(Tally::default(), |all, one| Tally { count: all.count + one.count, time: all.time + one.time })
}

/// Whether one of two values is more than `limit` times the other.
fn exceeds([first, second]: [f64; 2], limit: f64) -> bool {
    first > limit * second || second > limit * first
}

/// The verdict about a type; `compared` is what the ratio divides: averages per group, or totals.
fn opportunity(
    kind: usize,
    [first, second]: [Tally; 2],
    compared: [f64; 2],
    groups_affected: usize,
    total_groups: usize,
) -> LaunchCountOpportunity {
    let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
    let average = |tally: Tally| if total_groups == 0 { 0.0 } else { tally.count as f64 / total_groups as f64 };
    let forward = ratio(compared[0], compared[1]);
    let by_second = forward.is_none_or(|ratio| ratio > 1.5);
    LaunchCountOpportunity {
        kernel_type: TYPES[kind],
        trace1_total: first.count,
        trace2_total: second.count,
        trace1_avg_per_group: average(first),
        trace2_avg_per_group: average(second),
        trace1_time_ms: milliseconds(first.time),
        trace2_time_ms: milliseconds(second.time),
        time_ratio: ratio(milliseconds(first.time), milliseconds(second.time)),
        ratio: if by_second { forward } else { ratio(compared[1], compared[0]) },
        fused_by: if by_second { "Trace 2" } else { "Trace 1" },
        groups_affected,
        total_groups,
    }
}
