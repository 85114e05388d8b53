//! Every kernel gets a group: blocks of layers by their place in the typical layer, blocks between layers by aligning one
//! representative pass of each trace.

mod kernels;
mod stretch;

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::Words;
use super::strip::{Item, LARGEST, align_items};
use super::typical::{self, Match, Typical, matches, rotated, typical};
use crate::family::Family;
use crate::structure::{Block, Sequence, Structure};
use crate::time::Picoseconds;
use crate::trace::Trace;

use stretch::Stretch;
pub(super) use stretch::letters;

/// No group.
const NONE: u32 = u32::MAX;

/// A kind of layer without a partner takes the groups of the nearest one of its own trace up to this cost.
const NEAREST: u64 = 400_000;

/// Families of the blocks of a stretch, and their groups.
type Known = (Vec<Family>, Vec<u32>);

/// Time of each group.
type Times = BTreeMap<u32, u64>;

/// The groups, and how blocks come to theirs.
#[derive(Debug)]
pub(super) struct Assignment {
    pub(super) groups: Vec<Group>,
    pub(super) typical: [Vec<Typical>; 2],
    pub(super) matches: Vec<Match>,
    /// Per side and kind of layer (by unit): the group of each block of the typical layer.
    places: [FxHashMap<usize, Vec<u32>>; 2],
    /// Per match: the group of each row, and the blocks of both sides in it.
    pub(super) rows: Vec<Vec<(u32, [Vec<usize>; 2])>>,
    /// Per side and stretch: families of the representative pass and the groups of its blocks.
    stretches: [BTreeMap<Stretch, Known>; 2],
    /// Per side, stretch (or any) and family: the group with most time.
    largest: [FxHashMap<(Option<Stretch>, Family), u32>; 2],
    /// Names of kinds of layers by side and unit.
    kinds: [FxHashMap<usize, usize>; 2],
    has_layers: bool,
    /// Words of all names that were looked at.
    words: Words,
}

/// A group of kernels.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) family: Family,
    /// Whether one side's activation is inside the other side's kernel, and which side's kernel that is.
    pub(super) swallowed_by: Option<usize>,
}

impl Assignment {
    /// The same whichever trace comes first: of equally good alignments, what decides must not be the order of the traces.
    pub(super) fn oriented(traces: [&Trace; 2], structures: [&Structure; 2]) -> Assignment {
        let key = |trace: &Trace| {
            let time: Picoseconds = trace.kernels.iter().map(|kernel| kernel.duration).sum();
            (trace.kernels.len(), time)
        };
        if key(traces[0]) <= key(traces[1]) {
            return Assignment::new(traces, structures);
        }
        let mut found = Assignment::new([traces[1], traces[0]], [structures[1], structures[0]]);
        found.exchange();
        found
    }

    /// Lets each trace be the other one.
    fn exchange(&mut self) {
        for group in &mut self.groups {
            group.swallowed_by = group.swallowed_by.map(|side| 1 - side);
            let renamed = match group.name.split_once('/') {
                Some(("only1", name)) => Some(format!("only2/{name}")),
                Some(("only2", name)) => Some(format!("only1/{name}")),
                _ => None,
            };
            if let Some(name) = renamed {
                group.name = name;
            }
        }
        self.typical.swap(0, 1);
        self.places.swap(0, 1);
        self.stretches.swap(0, 1);
        self.largest.swap(0, 1);
        self.kinds.swap(0, 1);
        for found in &mut self.matches {
            found.sides.swap(0, 1);
            found.rotation.swap(0, 1);
        }
        self.rows.iter_mut().flatten().for_each(|(_, blocks)| blocks.swap(0, 1));
    }

    fn new(traces: [&Trace; 2], structures: [&Structure; 2]) -> Assignment {
        let mut words = Words::default();
        let typical = [0, 1].map(|side| typical(traces[side], structures[side], &mut words));
        let has_layers = typical.iter().all(|typical| !typical.is_empty());
        let matches = if has_layers { matches([&typical[0], &typical[1]]) } else { Vec::new() };
        let mut assignment = Assignment {
            groups: Vec::new(),
            typical,
            matches,
            places: Default::default(),
            rows: Vec::new(),
            stretches: Default::default(),
            largest: Default::default(),
            kinds: Default::default(),
            has_layers,
            words: Words::default(),
        };
        assignment.layers();
        assignment.layers_without_partner();
        assignment.between(traces, structures, &mut words);
        assignment.words = words;
        assignment
    }

    /// The groups of layers that stand for each other.
    fn layers(&mut self) {
        for (kind, found) in self.matches.clone().into_iter().enumerate() {
            let sides = [0, 1].map(|side| &self.typical[side][found.sides[side]]);
            let [first, second] = [0, 1].map(|side| rotated(&sides[side].items, found.rotation[side]));
            let units = sides.map(|typical| typical.unit);
            let mut places = [vec![NONE; first.len()], vec![NONE; second.len()]];
            let mut rows = Vec::new();
            let aligned = align_items(&first, &second);
            for (number, (one, other)) in aligned.groups.into_iter().enumerate() {
                let group = self.group(
                    &format!("layer{}", letters(kind)),
                    Some(number),
                    &first[one.clone()],
                    &second[other.clone()],
                );
                let place = |side: usize, at: usize| (at + found.rotation[side]) % places[side].len();
                let blocks = [one, other].map(|range: Range<usize>| range);
                let blocks: [Vec<usize>; 2] =
                    [0, 1].map(|side| blocks[side].clone().map(|at| place(side, at)).collect());
                for (side, blocks) in blocks.iter().enumerate() {
                    for at in blocks {
                        places[side][*at] = group;
                    }
                }
                rows.push((group, blocks));
            }
            self.rows.push(rows);
            for (side, places) in places.into_iter().enumerate() {
                self.places[side].insert(units[side], places);
                self.kinds[side].insert(units[side], kind);
            }
        }
    }

    /// Kinds of layers that one trace has: like the nearest other kind of its own trace, or groups of their own.
    fn layers_without_partner(&mut self) {
        for side in 0..2 {
            let partnered: Vec<usize> = self.matches.iter().map(|found| found.sides[side]).collect();
            for at in (0..self.typical[side].len()).filter(|at| !partnered.contains(at)) {
                let own = self.typical[side][at].clone();
                let nearest = partnered
                    .iter()
                    .map(|other| (align_items(&own.items, &self.typical[side][*other].items), *other))
                    .min_by_key(|(alignment, other)| (alignment.cost, *other))
                    .filter(|(alignment, _)| alignment.cost < NEAREST);
                let places = match nearest {
                    Some((alignment, other)) => {
                        let other = &self.typical[side][other];
                        let known = self.places[side].get(&other.unit).cloned().unwrap_or_default();
                        self.kinds[side].insert(own.unit, self.kinds[side][&other.unit]);
                        carried_over(&own.items, &other.items, &alignment.groups, &known)
                    }
                    None => vec![NONE; own.items.len()],
                };
                let places: Vec<u32> = places
                    .into_iter()
                    .enumerate()
                    .map(|(number, place)| {
                        if place != NONE {
                            return place;
                        }
                        let item = std::slice::from_ref(&own.items[number]);
                        let of = |wanted: usize| if wanted == side { item } else { &[][..] };
                        self.group(&format!("layer{}", at + 1), Some(number), of(0), of(1))
                    })
                    .collect();
                self.places[side].insert(own.unit, places);
            }
        }
    }

    /// A new group of some blocks of both sides.
    fn group(&mut self, stretch: &str, number: Option<usize>, first: &[Item], second: &[Item]) -> u32 {
        let families = || first.iter().chain(second).map(|item| item.family);
        let heavy = families().filter(|family| family.is_heavy()).min();
        let family = heavy.or_else(|| families().min()).unwrap_or(Family::Other);
        let number = number.map_or_else(String::new, |number| format!("{number:03} "));
        let name = format!("{stretch}/{number}{}", family.code());
        let name = match (first.is_empty(), second.is_empty()) {
            (false, true) => format!("only1/{name}"),
            (true, false) => format!("only2/{name}"),
            _ => name,
        };
        let has_activation = |items: &[Item]| items.iter().any(|item| item.family == Family::Activation);
        let swallows = |one: &[Item], many: &[Item]| {
            many.len() > 1
                && has_activation(many)
                && !has_activation(one)
                && one.iter().any(|item| matches!(item.family, Family::Moe | Family::Gemm))
        };
        let swallowed_by = match (swallows(first, second), swallows(second, first)) {
            (true, _) => Some(0),
            (_, true) => Some(1),
            _ => None,
        };
        self.groups.push(Group { name, family, swallowed_by });
        self.groups.len() as u32 - 1
    }

    /// Groups of what lies between layers, from one pass of each trace.
    fn between(&mut self, traces: [&Trace; 2], structures: [&Structure; 2], words: &mut Words) {
        let stretches = [0, 1].map(|side| match representative(structures[side]) {
            Some(sequence) => self.stretches_of(side, sequence),
            None => BTreeMap::new(),
        });
        let items_of = |side: usize, stretch: Stretch, words: &mut Words| -> Vec<Item> {
            let Some(sequence) = representative(structures[side]) else { return Vec::new() };
            let (kernels, blocks) = match stretch {
                Stretch::Side => (&sequence.side_kernels, &sequence.side_blocks),
                _ => (&sequence.kernels, &sequence.blocks),
            };
            let wanted = stretches[side].get(&stretch).map(Vec::as_slice).unwrap_or_default();
            let blocks: Vec<Block> = wanted.iter().map(|at| blocks[*at].clone()).collect();
            typical::items(traces[side], words, kernels, &blocks)
        };
        let mut all: Vec<Stretch> = stretches.iter().flat_map(|stretches| stretches.keys().copied()).collect();
        all.sort_unstable();
        all.dedup();
        let mut times: [FxHashMap<(Option<Stretch>, Family), Times>; 2] = Default::default();
        for stretch in all {
            let items = [0, 1].map(|side| items_of(side, stretch, words));
            let groups = self.stretch(stretch, &items);
            for side in 0..2 {
                for (item, group) in items[side].iter().zip(&groups[side]) {
                    for key in [(Some(stretch), item.family), (None, item.family)] {
                        *times[side].entry(key).or_default().entry(*group).or_default() += item.time;
                    }
                }
                let families = items[side].iter().map(|item| item.family).collect();
                self.stretches[side].insert(stretch, (families, groups[side].clone()));
            }
        }
        for (side, times) in times.iter_mut().enumerate() {
            for typical in &self.typical[side] {
                let places = self.places[side].get(&typical.unit).map(Vec::as_slice).unwrap_or_default();
                for (item, group) in typical.items.iter().zip(places) {
                    *times.entry((None, item.family)).or_default().entry(*group).or_default() += item.time;
                }
            }
        }
        self.largest = times.map(|times| {
            let largest = |groups: BTreeMap<u32, u64>| {
                groups
                    .into_iter()
                    .max_by_key(|(group, time)| (*time, std::cmp::Reverse(*group)))
                    .map(|(group, _)| group)
            };
            times.into_iter().filter_map(|(key, groups)| Some((key, largest(groups)?))).collect()
        });
    }

    /// Groups of the blocks of a stretch.
    fn stretch(&mut self, stretch: Stretch, items: &[Vec<Item>; 2]) -> [Vec<u32>; 2] {
        let [first, second] = items;
        let mut groups = [vec![NONE; first.len()], vec![NONE; second.len()]];
        let name = stretch.name();
        if first.len() * second.len() <= LARGEST {
            for (number, (one, other)) in align_items(first, second).groups.into_iter().enumerate() {
                let group = self.group(&name, Some(number), &first[one.clone()], &second[other.clone()]);
                groups[0][one].fill(group);
                groups[1][other].fill(group);
            }
            return groups;
        }
        let mut families: BTreeMap<Family, [Vec<Item>; 2]> = BTreeMap::new();
        for (side, items) in items.iter().enumerate() {
            items.iter().for_each(|item| families.entry(item.family).or_default()[side].push(item.clone()));
        }
        for (family, [one, other]) in families {
            let group = self.group(&name, None, &one, &other);
            for (side, items) in items.iter().enumerate() {
                let of_family = items.iter().zip(&mut groups[side]).filter(|(item, _)| item.family == family);
                of_family.for_each(|(_, place)| *place = group);
            }
        }
        groups
    }

    pub(super) fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.groups.iter().map(|group| group.name.clone()).collect()
    }
}

/// Groups of the blocks of a layer from those of another layer that it was aligned with: of several the one of its family.
fn carried_over(items: &[Item], other: &[Item], aligned: &[(Range<usize>, Range<usize>)], known: &[u32]) -> Vec<u32> {
    let mut places = vec![NONE; items.len()];
    for (own, others) in aligned {
        for at in own.clone() {
            let same = others.clone().find(|place| other[*place].family == items[at].family);
            let place = same.or_else(|| others.clone().next());
            places[at] = place.and_then(|place| known.get(place).copied()).unwrap_or(NONE);
        }
    }
    places
}

/// The first pass of those whose kinds of layers own most time; the smallest list on ties.
fn representative(structure: &Structure) -> Option<&Sequence> {
    let mut lists: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
    let kinds = |sequence: &Sequence| sequence.layers.iter().map(|layer| layer.unit).collect::<Vec<_>>();
    for sequence in &structure.sequences {
        let time: u64 = sequence.blocks.iter().map(|block| block.time).sum();
        *lists.entry(kinds(sequence)).or_default() += time;
    }
    let most = lists.iter().rev().max_by_key(|(_, time)| **time).map(|(list, _)| list.clone())?;
    structure.sequences.iter().find(|sequence| kinds(sequence) == most)
}
