//! Layers of a simulated model: what stands between two attentions.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::prepared::{Process, TcPrepared};

/// Attentions that a model has, at least, for its layers to be compared.
const ATTENTIONS: usize = 6;
/// Layers that are alike make the usual.
const USUAL: usize = 3;

/// Layers with other operators than the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OddLayers {
    pub(super) layers: usize,
    pub(super) attentions: usize,
    pub(super) first: usize,
}

type Counts = BTreeMap<u32, usize>;

/// The odd layers of a process.
pub(super) fn odd_layers(trace: &TcPrepared, process: &Process) -> Option<OddLayers> {
    let operations = trace.of(process);
    let names = 0..trace.trace.names.len() as u32;
    let attention: Vec<bool> = names.map(|name| trace.name(name).to_lowercase().contains("attention")).collect();
    let is_attention = |at: u32| attention.get(trace.operations().name(at) as usize).copied().unwrap_or_default();
    let attentions: Vec<usize> = (0..operations.len()).filter(|place| is_attention(operations[*place])).collect();
    if attentions.len() < ATTENTIONS {
        return None;
    }
    let layers: Vec<Counts> = attentions
        .windows(2)
        .map(|pair| {
            let mut counts = Counts::new();
            for at in &operations[pair[0]..pair[1]] {
                *counts.entry(trace.operations().name(*at)).or_default() += 1;
            }
            counts
        })
        .collect();
    let mut seen: FxHashMap<&Counts, usize> = FxHashMap::default();
    for counts in &layers {
        *seen.entry(counts).or_default() += 1;
    }
    if seen.values().all(|count| *count < USUAL) {
        return None;
    }
    let odd: Vec<usize> = (1..layers.len().saturating_sub(1))
        .filter(|at| {
            seen.get(&layers[*at]) == Some(&1) && !changes_kind(&layers[at - 1], &layers[*at], &layers[at + 1])
        })
        .collect();
    let first = *odd.first()?;
    Some(OddLayers { layers: odd.len(), attentions: attentions.len(), first })
}

/// Whether the kind of layers changes here: the neighbours differ, and each count lies between theirs.
fn changes_kind(before: &Counts, here: &Counts, after: &Counts) -> bool {
    let count = |counts: &Counts, name: &u32| counts.get(name).copied().unwrap_or_default();
    let names = before.keys().chain(here.keys()).chain(after.keys());
    before != after
        && names.into_iter().all(|name| {
            let (one, other) = (count(before, name), count(after, name));
            (one.min(other)..=one.max(other)).contains(&count(here, name))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_kind_is_none() {
        let counts = |pairs: &[(u32, usize)]| pairs.iter().copied().collect::<Counts>();
        let (dense, moe) = (counts(&[(1, 2)]), counts(&[(1, 1), (2, 4)]));
        assert!(changes_kind(&dense, &counts(&[(1, 1), (2, 1)]), &moe));
        assert!(!changes_kind(&dense, &counts(&[(1, 3)]), &moe));
        assert!(!changes_kind(&dense, &counts(&[(1, 1)]), &dense));
    }
}
