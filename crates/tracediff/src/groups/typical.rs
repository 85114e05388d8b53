//! Typical layers, and which kind of layer of one trace stands for which of the other.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use super::Words;
use super::strip::{Item, align_items};
use crate::context::OUTSIDE;
use crate::family::Family;
use crate::structure::{Block, Sequence, Structure};
use crate::trace::Trace;

/// A layer: sequence, and blocks there.
type Instance = (usize, Range<usize>);

/// A kind of layer of one trace.
#[derive(Debug, Clone)]
pub(super) struct Typical {
    pub(super) unit: usize,
    /// The blocks of one layer, whose time is the middle one.
    pub(super) items: Vec<Item>,
    /// That layer: sequence, and blocks there.
    pub(super) example: Instance,
    /// Layers of this kind.
    pub(super) layers: usize,
    /// The same in a pass on a device, the mean.
    pub(super) per_pass: f64,
    /// Time of all of them, in picoseconds.
    pub(super) time: u64,
}

/// Blocks as they are compared.
pub(super) fn items(trace: &Trace, words: &mut Words, kernels: &[u32], blocks: &[Block]) -> Vec<Item> {
    let item = |block: &Block| {
        let name = trace.name(trace.kernels.at(kernels[block.kernels.start] as usize).name);
        let words = if block.family.is_glue() { words.of(name) } else { Vec::new() };
        Item { family: block.family, time: block.time, words }
    };
    blocks.iter().map(item).collect()
}

/// The typical layer of each kind: the most frequent list of families, the smallest on ties.
pub(super) fn typical(trace: &Trace, structure: &Structure, words: &mut Words) -> Vec<Typical> {
    let mut kinds: Vec<BTreeMap<Vec<Family>, Vec<Instance>>> = vec![BTreeMap::new(); structure.units.len()];
    for (number, sequence) in structure.sequences.iter().enumerate() {
        for layer in &sequence.layers {
            let families = sequence.blocks[layer.blocks.clone()].iter().map(|block| block.family).collect();
            kinds[layer.unit].entry(families).or_default().push((number, layer.blocks.clone()));
        }
    }
    let is_pass = |sequence: &Sequence| {
        let first = sequence.kernels.first().or(sequence.side_kernels.first());
        first.is_some_and(|kernel| trace.contexts[*kernel as usize].pass != OUTSIDE)
    };
    let passes: Vec<bool> = structure.sequences.iter().map(is_pass).collect();
    let of_passes = passes.iter().filter(|is_pass| **is_pass).count().max(1) as f64;
    let blocks = |(sequence, range): &Instance| &structure.sequences[*sequence].blocks[range.clone()];
    let mut found = Vec::new();
    for (unit, lists) in kinds.iter().enumerate() {
        // Of equally many the first list is the smallest.
        let Some(instances) = lists.values().rev().max_by_key(|instances| instances.len()) else { continue };
        // One real layer, whose time is the middle one: names and times of several would not belong together.
        let time = |instance: &&Instance| blocks(instance).iter().map(|block| block.time).sum::<u64>();
        let mut by_time: Vec<&Instance> = instances.iter().collect();
        by_time.sort_by_key(time);
        let Some(example) = by_time.get(by_time.len() / 2).copied() else { continue };
        let sequence: &Sequence = &structure.sequences[example.0];
        let items = items(trace, words, &sequence.kernels, blocks(example));
        let all = lists.values().flatten();
        let time = all.clone().flat_map(blocks).map(|block| block.time).sum();
        let per_pass = all.clone().filter(|(sequence, _)| passes[*sequence]).count() as f64 / of_passes;
        found.push(Typical { unit, items, example: example.clone(), layers: all.count(), per_pass, time });
    }
    found
}

/// A kind of layer of both traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Match {
    /// Places in the lists of typical layers.
    pub(super) sides: [usize; 2],
    /// Blocks of each side by which the layer begins later than in its own trace, so that both begin alike.
    pub(super) rotation: [usize; 2],
}

/// A rotation costs this much, so that none is taken without need.
const ROTATION: u64 = 5_000;
/// Kinds of layers that cost more do not stand for each other.
const MOST: u64 = 700_000;
/// Layers up to this length are tried in every rotation; longer ones where their first family is that of the other.
const EVERY_ROTATION: usize = 64;

/// Which kinds stand for each other, the cheapest first; each kind at most once.
pub(super) fn matches(typical: [&[Typical]; 2]) -> Vec<Match> {
    let mut found = Vec::new();
    for (one, first) in typical[0].iter().enumerate() {
        for (other, second) in typical[1].iter().enumerate() {
            let best = best_rotation(&first.items, &second.items);
            if best.0 > MOST {
                continue;
            }
            let families = |items: &[Item]| items.iter().map(|item| item.family).collect::<Vec<_>>();
            let mut both = [families(&first.items), families(&second.items)];
            both.sort();
            let time = Reverse(first.time.saturating_add(second.time));
            found.push(((best.0, time, both, [one, other]), Match { sides: [one, other], rotation: best.1 }));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut taken: Vec<Match> = Vec::new();
    for (_, one) in found {
        if taken.iter().all(|known| known.sides[0] != one.sides[0] && known.sides[1] != one.sides[1]) {
            taken.push(one);
        }
    }
    taken
}

/// The least cost over the rotations of one of two layers, and the rotations of both. Exchanging the layers exchanges these.
fn best_rotation(first: &[Item], second: &[Item]) -> (u64, [usize; 2]) {
    let key = |items: &[Item]| (items.len(), items.iter().map(|item| (item.family, item.time)).collect::<Vec<_>>());
    let exchanged = key(first) > key(second);
    let (fixed, turned) = if exchanged { (second, first) } else { (first, second) };
    let mut best = (u64::MAX, 0);
    for rotation in 0..turned.len() {
        let long = fixed.len() > EVERY_ROTATION || turned.len() > EVERY_ROTATION;
        if rotation > 0 && long && fixed.first().map(|item| item.family) != turned.get(rotation).map(|item| item.family)
        {
            continue;
        }
        let cost = align_items(fixed, &rotated(turned, rotation)).cost + if rotation == 0 { 0 } else { ROTATION };
        if cost < best.0 {
            best = (cost, rotation);
        }
    }
    (best.0, if exchanged { [best.1, 0] } else { [0, best.1] })
}

/// A layer that begins later.
pub(super) fn rotated(items: &[Item], rotation: usize) -> Vec<Item> {
    let (behind, front) = items.split_at(rotation);
    [front, behind].concat()
}
