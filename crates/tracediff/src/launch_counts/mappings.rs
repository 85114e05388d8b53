//! Guesses about which type was fused into which, each with the kind of evidence it is based on.

use indexmap::IndexMap;
use serde::Serialize;

use super::Side;
use super::groups::Group;
use super::sequences::{most_frequent, predecessor, runs};
use super::types::{OTHER, TYPES, Type};
use crate::id::{Id, IdTable};

/// A guess about fusion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FusionMapping {
    /// `Trace 1` or `Trace 2`.
    pub fused_platform: &'static str,
    /// Type that is thought to contain the other one.
    pub fused_kernel_type: &'static str,
    /// Count on the fused side.
    pub fused_count: u64,
    /// `Trace 1` or `Trace 2`.
    pub unfused_platform: &'static str,
    /// Types on the unfused side.
    pub unfused_sequence: Vec<&'static str>,
    /// Their counts.
    pub unfused_count_per_type: IndexMap<&'static str, u64>,
    /// How often it was seen, or how many more kernels the unfused side has: for a `chain` under a rule set of wafer-core
    /// less than 0 where that side has fewer of them, in longer runs.
    pub pattern_count: i64,
    /// Share of the cases.
    pub pattern_confidence: f64,
    /// Group of trace 1, for sequences and ratios within matched groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_group_trace1: Option<CorrelationId>,
    /// Group of trace 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_group_trace2: Option<CorrelationId>,
    /// `sequence`, `count_ratio`, `group_difference` or `chain`.
    pub evidence: &'static str,
    /// For `group_difference`: groups that lack the type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_analyzed: Option<u64>,
    /// For `group_difference`: types the other side has more of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<(&'static str, u64)>>,
    /// For `chain`: runs on the unfused side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfused_chains: Option<u64>,
    /// For `chain`: runs on the fused side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fused_chains: Option<u64>,
}

/// A correlation id as it stands in the trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CorrelationId {
    /// An integer.
    Number(i64),
    /// A text, or a number of another kind.
    Text(String),
}

const PLATFORMS: [&str; 2] = ["Trace 1", "Trace 2"];

pub(crate) fn mappings(sides: &[Side<'_>; 2], matches: &[[&Group; 2]]) -> Vec<FusionMapping> {
    let mut found: Vec<FusionMapping> = Vec::new();
    for groups in matches {
        let ids = [0, 1].map(|side| correlation(groups[side].correlation, &sides[side].trace.ids));
        let [first, second] = ids;
        let kernels = groups.map(|group| group.kernels.as_slice());
        found.extend(sequence_rule(sides, kernels).into_iter().map(|mapping| FusionMapping {
            correlation_group_trace1: Some(first.clone()),
            correlation_group_trace2: Some(second.clone()),
            ..mapping
        }));
    }
    found.extend(group_differences(matches));
    let chains = chains(sides);
    let chained: Vec<&str> = chains.iter().map(|mapping| mapping.unfused_sequence[0]).collect();
    let whole = sequence_rule(sides, [0, 1].map(|side| sides[side].by_time.as_slice()));
    let kept: Vec<FusionMapping> = whole
        .into_iter()
        .filter(|mapping| !chained.contains(&mapping.unfused_sequence[0]))
        .filter(|mapping| !found.iter().any(|known| repeats(mapping, known)))
        .collect();
    found.extend(chains);
    found.extend(kept);
    found
}

fn correlation(id: Id, ids: &IdTable) -> CorrelationId {
    match id.number() {
        Some(number) => CorrelationId::Number(number),
        None => CorrelationId::Text(ids.shown(id)),
    }
}

fn repeats(mapping: &FusionMapping, known: &FusionMapping) -> bool {
    let same = mapping.evidence == known.evidence
        && mapping.fused_platform == known.fused_platform
        && mapping.unfused_sequence == known.unfused_sequence;
    same && (mapping.evidence != "count_ratio"
        || (mapping.fused_kernel_type == known.fused_kernel_type
            && mapping.fused_count == known.fused_count
            && mapping.unfused_count_per_type == known.unfused_count_per_type))
}

fn mapping(evidence: &'static str, fused: usize, target: Type, sequence: &[Type]) -> FusionMapping {
    FusionMapping {
        fused_platform: PLATFORMS[fused],
        fused_kernel_type: TYPES[target as usize],
        fused_count: 0,
        unfused_platform: PLATFORMS[1 - fused],
        unfused_sequence: sequence.iter().map(|kind| TYPES[*kind as usize]).collect(),
        unfused_count_per_type: IndexMap::new(),
        pattern_count: 0,
        pattern_confidence: 0.0,
        correlation_group_trace1: None,
        correlation_group_trace2: None,
        evidence,
        groups_analyzed: None,
        targets: None,
        unfused_chains: None,
        fused_chains: None,
    }
}

/// Counts of a type on both sides: how much more the larger side has, and which that is. `None` below 1.3 : 1 or 100 in all.
fn imbalance(counts: [u64; 2]) -> Option<(usize, u64)> {
    let larger = usize::from(counts[1] > counts[0]);
    let (max, min) = (counts[larger], counts[1 - larger]);
    (min > 0 && max as f64 / min as f64 >= 1.3 && max + min >= 100).then_some((larger, max - min))
}

fn sequence_rule(sides: &[Side<'_>; 2], kernels: [&[u32]; 2]) -> Vec<FusionMapping> {
    let counts = [0, 1].map(|side| sides[side].counts_of(kernels[side]));
    let count = |side: usize, kind: Type| counts[side][kind as usize].count;
    let types = 0..TYPES.len() as Type;
    let mut found = Vec::new();
    for side in 0..2 {
        for kind in types.clone().filter(|kind| count(side, *kind) >= 5 && count(1 - side, *kind) == 0) {
            let Some((before, times)) = predecessor(&sides[side], kernels[side], kind) else { continue };
            let share = times as f64 / count(side, kind) as f64;
            if share > 0.8 && count(1 - side, before) > 0 {
                found.push(FusionMapping {
                    fused_count: count(1 - side, before),
                    unfused_count_per_type: [before, kind]
                        .map(|kind| (TYPES[kind as usize], count(side, kind)))
                        .into_iter()
                        .collect(),
                    pattern_count: count(side, kind) as i64,
                    pattern_confidence: share,
                    ..mapping("sequence", 1 - side, before, &[before, kind])
                });
            }
        }
    }
    for kind in types {
        let both = [0, 1].map(|side| count(side, kind));
        let Some((larger, excess)) = imbalance(both) else { continue };
        let fused = 1 - larger;
        let types = kernels[fused].iter().map(|kernel| sides[fused].types[*kernel as usize]);
        if let Some((target, _)) = most_frequent(types, |other| other != kind && other != OTHER) {
            found.push(counted(mapping("count_ratio", fused, target, &[kind]), kind, both, excess));
        }
    }
    found
}

/// A mapping with the counts of its type.
fn counted(mapping: FusionMapping, kind: Type, both: [u64; 2], excess: u64) -> FusionMapping {
    let fused = usize::from(mapping.fused_platform == PLATFORMS[1]);
    FusionMapping {
        fused_count: both[fused],
        unfused_count_per_type: [(TYPES[kind as usize], both[1 - fused])].into_iter().collect(),
        pattern_count: excess as i64,
        pattern_confidence: excess as f64 / both[0].max(both[1]) as f64,
        ..mapping
    }
}

fn group_differences(matches: &[[&Group; 2]]) -> Vec<FusionMapping> {
    let mut found = Vec::new();
    for kind in 0..TYPES.len() {
        let pooled = [0, 1].map(|side| matches.iter().map(|groups| groups[side].counts[kind].count).sum::<u64>());
        let Some((larger, excess)) = imbalance(pooled) else { continue };
        let fused = 1 - larger;
        let lacking: Vec<&[&Group; 2]> = matches
            .iter()
            .filter(|groups| groups[larger].counts[kind].count > 0 && groups[fused].counts[kind].count == 0)
            .collect();
        if lacking.len() < 5 {
            continue;
        }
        let mut targets: Vec<(Type, u64)> = (0..TYPES.len())
            .filter(|other| *other != kind && *other != OTHER as usize)
            .map(|other| {
                let more = |groups: &&[&Group; 2]| {
                    groups[fused].counts[other].count.saturating_sub(groups[larger].counts[other].count)
                };
                (other as Type, lacking.iter().map(more).sum())
            })
            .filter(|(_, excess)| *excess > 0)
            .collect();
        targets.sort_by_key(|(_, excess)| std::cmp::Reverse(*excess));
        targets.truncate(3);
        let Some((target, _)) = targets.first() else { continue };
        found.push(FusionMapping {
            pattern_confidence: lacking.len() as f64 / matches.len() as f64,
            groups_analyzed: Some(lacking.len() as u64),
            targets: Some(targets.iter().map(|(kind, excess)| (TYPES[*kind as usize], *excess)).collect()),
            ..counted(mapping("group_difference", fused, *target, &[kind as Type]), kind as Type, pooled, excess)
        });
    }
    found
}

fn chains(sides: &[Side<'_>; 2]) -> Vec<FusionMapping> {
    let runs = [0, 1].map(|side| runs(&sides[side]));
    let mut found = Vec::new();
    for (kind, lengths) in runs[0].iter().zip(&runs[1]).enumerate() {
        let lengths = [lengths.0.as_slice(), lengths.1.as_slice()];
        let long = lengths.map(|lengths| lengths.iter().filter(|length| **length > 1).count() as u64);
        let one_sided = lengths.iter().any(|lengths| lengths.is_empty());
        if one_sided || lengths.iter().all(|lengths| lengths.len() < 5) || long == [0, 0] {
            continue;
        }
        let average = [0, 1].map(|side: usize| {
            let sum: u64 = lengths[side].iter().filter(|length| **length > 1).sum();
            if long[side] == 0 { 1.0 } else { sum as f64 / long[side] as f64 }
        });
        let both = [0, 1].map(|side| sides[side].counts[kind].count);
        let unfused = usize::from(average[1] > average[0]);
        let fused = 1 - unfused;
        let difference = both[0].abs_diff(both[1]);
        if average[unfused] / average[fused] <= 2.0 || difference <= 100 {
            continue;
        }
        let chains = [0, 1].map(|side: usize| if long[side] > 0 { long[side] } else { lengths[side].len() as u64 });
        let kind = kind as Type;
        let counted = counted(mapping("chain", fused, kind, &[kind, kind]), kind, both, difference);
        let pattern_count = if sides[0].trace.rules.is_legacy() {
            both[unfused] as i64 - both[fused] as i64
        } else {
            counted.pattern_count
        };
        found.push(FusionMapping {
            pattern_count,
            pattern_confidence: chains[0].min(chains[1]) as f64 / chains[0].max(chains[1]) as f64,
            unfused_chains: Some(chains[unfused]),
            fused_chains: Some(chains[fused]),
            ..counted
        });
    }
    found
}
