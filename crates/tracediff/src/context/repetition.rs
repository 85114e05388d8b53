//! Forward passes of a trace that annotates none, from what the device does again and again.
//!
//! A server copies the tokens of a pass to the host when the pass is over, so a pass ends with a copy to the host. Where no
//! copies are recorded, kernels that run once in each pass show how many there are, and passes begin at the longest gap between
//! two of these. Either way each pass must call attention equally often (once per layer), and three passes or more must run the
//! same kernels: what does not repeat like that is left as it is.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::OUTSIDE;
use super::classes::Classes;
use super::passes::KernelPass;
use crate::copies::{CopyKind, GpuCopy};
use crate::family::Family;
use crate::rows::KernelRows;
use crate::steps::Phase;
use crate::structure::facts;
use crate::time::Picoseconds;

/// Fewest passes that are alike.
const FEWEST_ALIKE: usize = 3;
/// Fewest calls of attention in a pass: one alone may be a layer.
const FEWEST_LAYERS: usize = 2;
/// Two passes are alike if they share this part of their kernels and copies.
const LIKE: f64 = 0.95;
/// A pass that takes this many times as long as the others reads prompts.
const PROMPTS: f64 = 1.5;
/// Numbers of occurrences that are tried.
const MOST_TRIED: usize = 40;
/// Events around one that runs once per pass among which the gap between passes is looked for.
const AROUND: usize = 64;

/// How passes that nobody annotated were found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundPasses {
    /// `copy_to_host` or `repetition`.
    pub by: &'static str,
    /// Passes that are whole.
    pub passes: u64,
    /// How many of them run the same kernels, the most there are.
    pub alike: u64,
    /// Kernels and copies of one of those.
    pub events: u64,
    /// Calls of attention in each pass.
    pub layers: u64,
    /// Passes by phase; those of an unknown phase are in neither, and those that also generate are in this one.
    pub prefill: u64,
    /// Likewise.
    pub decode: u64,
    /// `certain` where every pass calls attention equally often and all but those that read prompts are alike, else `likely`.
    pub certainty: &'static str,
}

/// What passes are found in: the kernels of a trace with their classes, and its copies.
pub(crate) struct Sources<'a> {
    pub(crate) kernels: &'a KernelRows,
    pub(crate) copies: &'a [GpuCopy],
    pub(crate) classes: &'a Classes,
    pub(crate) names: &'a crate::names::Names,
    /// Per kernel, whether a graph launched it; empty where none did.
    pub(crate) replayed: &'a [bool],
}

/// Passes of kernels and copies.
#[derive(Debug)]
pub(crate) struct Repetition {
    pub(crate) kernels: Vec<KernelPass>,
    pub(crate) copies: Vec<KernelPass>,
    /// Passes that the trace cuts, ascending.
    pub(crate) incomplete: Vec<u32>,
    pub(crate) count: u64,
    pub(crate) found: FoundPasses,
}

/// A kernel or a copy on its device.
#[derive(Debug, Clone, Copy)]
struct Event {
    start: Picoseconds,
    end: Picoseconds,
    /// Of the name; copies have one by kind, behind those of names.
    symbol: u32,
    family: Option<Family>,
    is_to_host: bool,
    is_replayed: bool,
    /// Position among kernels, or behind them among copies.
    at: usize,
}

/// The events of one pass.
#[derive(Debug)]
struct Pass {
    events: std::ops::Range<usize>,
    counts: FxHashMap<u32, u32>,
    layers: usize,
    compute: Picoseconds,
    has_replays: bool,
}

impl Pass {
    fn new(all: &[Event], events: std::ops::Range<usize>) -> Pass {
        let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
        let mut attention: FxHashMap<u32, usize> = FxHashMap::default();
        let (mut compute, mut has_replays) = (0, false);
        for event in &all[events.clone()] {
            *counts.entry(event.symbol).or_default() += 1;
            has_replays |= event.is_replayed;
            match event.family {
                Some(Family::Attention) => *attention.entry(event.symbol).or_default() += 1,
                Some(Family::Communication) | None => continue,
                Some(_) => {}
            }
            compute += event.end - event.start;
        }
        let layers = attention.into_values().max().unwrap_or(0);
        Pass { events, counts, layers, compute, has_replays }
    }

    /// Which part of the events of both is in both.
    fn is_like(&self, other: &Pass) -> bool {
        let shared: u32 =
            self.counts.iter().map(|(symbol, count)| (*count).min(*other.counts.get(symbol).unwrap_or(&0))).sum();
        let most = self.events.len().max(other.events.len());
        f64::from(shared) >= LIKE * most as f64
    }
}

/// The passes of one device.
struct Passes {
    by: &'static str,
    whole: Vec<Pass>,
    /// What the trace cuts at its beginning and at its end.
    cut: Vec<(usize, Pass)>,
    alike: Vec<usize>,
}

/// The passes of a trace; nothing where nothing repeats, or devices disagree.
pub(crate) fn find(sources: &Sources<'_>) -> Option<Repetition> {
    let devices = events(sources);
    let mut of_devices: Vec<(Passes, Vec<Event>)> = Vec::new();
    for events in devices.into_values() {
        let found = by_copies(&events).or_else(|| by_names(&events))?;
        of_devices.push((found, events));
    }
    let count = |passes: &Passes| (passes.whole.len(), passes.cut.len());
    let (first, _) = of_devices.first()?;
    if of_devices.iter().any(|(other, _)| count(other) != count(first)) {
        return None;
    }
    let mut all = vec![KernelPass { pass: OUTSIDE, phase: None }; sources.kernels.len() + sources.copies.len()];
    let mut incomplete = Vec::new();
    let mut found = None;
    for (passes, events) in &of_devices {
        let phases = passes.phases();
        let mut ordered: Vec<(&Pass, Option<Phase>)> = passes.whole.iter().zip(phases.iter().copied()).collect();
        for (at, cut) in &passes.cut {
            ordered.insert((*at).min(ordered.len()), (cut, None));
        }
        for (number, (pass, phase)) in (0..).zip(&ordered) {
            for event in &events[pass.events.clone()] {
                all[event.at] = KernelPass { pass: number, phase: *phase };
            }
            if passes.cut.iter().any(|(_, cut)| std::ptr::eq(cut, *pass)) {
                incomplete.push(number);
            }
        }
        found.get_or_insert_with(|| passes.summary(&phases));
    }
    incomplete.sort_unstable();
    incomplete.dedup();
    let copies = all.split_off(sources.kernels.len());
    let count = (count(first).0 + count(first).1) as u64;
    Some(Repetition { kernels: all, copies, incomplete, count, found: found? })
}

/// Kernels and copies by device, by start.
fn events(sources: &Sources<'_>) -> BTreeMap<u32, Vec<Event>> {
    let facts = facts(&sources.classes.groups, &sources.classes.operations, sources.names);
    let names = sources.names.len() as u32;
    let mut devices: BTreeMap<u32, Vec<Event>> = BTreeMap::new();
    for (at, kernel) in sources.kernels.iter().enumerate() {
        let family = facts[sources.classes.of_kernels[at] as usize].0;
        devices.entry(kernel.device).or_default().push(Event {
            start: kernel.start,
            end: kernel.end(),
            symbol: kernel.name,
            family: Some(family),
            is_to_host: false,
            is_replayed: sources.replayed.get(at).copied().unwrap_or(false),
            at,
        });
    }
    for (at, copy) in sources.copies.iter().enumerate() {
        devices.entry(copy.device).or_default().push(Event {
            start: copy.start,
            end: copy.start + copy.duration,
            symbol: names + copy.kind as u32,
            family: None,
            is_to_host: copy.kind == CopyKind::DeviceToHost,
            is_replayed: false,
            at: sources.kernels.len() + at,
        });
    }
    devices.values_mut().for_each(|events| events.sort_by_key(|event| (event.start, event.end)));
    // A device that runs copies alone has no passes.
    devices.retain(|_, events| events.iter().any(|event| event.family.is_some()));
    devices
}

/// Passes that end with a copy to the host.
fn by_copies(events: &[Event]) -> Option<Passes> {
    let mut cuts = Vec::new();
    let mut has_attention = false;
    for (at, event) in events.iter().enumerate() {
        has_attention |= event.family == Some(Family::Attention);
        if event.is_to_host && has_attention {
            cuts.push(at + 1);
            has_attention = false;
        }
    }
    passes("copy_to_host", events, &cuts)
}

/// Passes that begin at the longest gap around what runs once in each.
fn by_names(events: &[Event]) -> Option<Passes> {
    let mut occurrences: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (at, event) in events.iter().enumerate() {
        occurrences.entry(event.symbol).or_default().push(at);
    }
    // Of each number of occurrences the first: what runs more often is a smaller unit.
    let mut first: BTreeMap<usize, &Vec<usize>> = BTreeMap::new();
    for places in occurrences.values().filter(|places| places.len() >= FEWEST_ALIKE) {
        let known = first.entry(places.len()).or_insert(places);
        if places[0] < known[0] {
            *known = places;
        }
    }
    first.into_values().rev().take(MOST_TRIED).find_map(|places| {
        let raw = passes("repetition", events, places)?;
        let cuts = between(events, places);
        passes("repetition", events, &cuts).or(Some(raw))
    })
}

/// The same places, all moved to where the gaps before them are longest in sum.
fn between(events: &[Event], places: &[usize]) -> Vec<usize> {
    let mut busy_until = Picoseconds::MIN;
    let gaps: Vec<Picoseconds> = events
        .iter()
        .map(|event| {
            let gap = if busy_until == Picoseconds::MIN { 0 } else { (event.start - busy_until).max(0) };
            busy_until = busy_until.max(event.end);
            gap
        })
        .collect();
    let moved = |place: usize, by: usize| (place + by).checked_sub(AROUND).filter(|at| *at < events.len());
    let sum = |by: usize| -> Picoseconds { places.iter().filter_map(|place| Some(gaps[moved(*place, by)?])).sum() };
    let by = (0..=2 * AROUND).max_by_key(|by| (sum(*by), std::cmp::Reverse(by.abs_diff(AROUND)))).unwrap_or(AROUND);
    let mut cuts: Vec<usize> = places.iter().filter_map(|place| moved(*place, by)).collect();
    cuts.dedup();
    cuts
}

/// The passes between some cuts, where they are passes.
fn passes(by: &'static str, events: &[Event], cuts: &[usize]) -> Option<Passes> {
    if cuts.len() < FEWEST_ALIKE {
        return None;
    }
    let ends = cuts.iter().copied().chain([events.len()]);
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let ranges = starts.zip(ends).filter(|(start, end)| start < end);
    let mut all: Vec<Pass> = ranges.map(|(start, end)| Pass::new(events, start..end)).collect();
    // What follows the last pass, or comes before the first, without any layer belongs to it.
    if all.len() > 1 && all.last().is_some_and(|last| last.layers == 0) {
        let end = events.len();
        all.pop();
        let start = all.pop()?.events.start;
        all.push(Pass::new(events, start..end));
    }
    if all.len() > 1 && all[0].layers == 0 {
        all.remove(0);
        let end = all.remove(0).events.end;
        all.insert(0, Pass::new(events, 0..end));
    }
    let mut of_layers: BTreeMap<usize, usize> = BTreeMap::new();
    all.iter().for_each(|pass| *of_layers.entry(pass.layers).or_default() += 1);
    let (layers, _) = of_layers.into_iter().max_by_key(|(layers, count)| (*count, *layers))?;
    if layers < FEWEST_LAYERS {
        return None;
    }
    let mut cut = Vec::new();
    let last = all.len() - 1;
    if all[last].layers < layers {
        cut.push((usize::MAX, all.pop()?));
    }
    if all.first().is_some_and(|first| first.layers < layers) {
        cut.insert(0, (0, all.remove(0)));
    }
    // One pass may have been held up by a profiler that lost kernels; more than that is no period.
    let odd = all.iter().filter(|pass| pass.layers != layers).count();
    if 10 * odd > all.len() {
        return None;
    }
    let alike = largest_kind(&all);
    (alike.len() >= FEWEST_ALIKE && 2 * alike.len() >= all.len()).then_some(Passes { by, whole: all, cut, alike })
}

/// The most passes that are like one of them.
fn largest_kind(all: &[Pass]) -> Vec<usize> {
    let mut kinds: Vec<Vec<usize>> = Vec::new();
    for (at, pass) in all.iter().enumerate() {
        match kinds.iter_mut().find(|kind| all[kind[0]].is_like(pass)) {
            Some(kind) => kind.push(at),
            None => kinds.push(vec![at]),
        }
    }
    kinds.into_iter().rev().max_by_key(Vec::len).unwrap_or_default()
}

impl Passes {
    /// The phase of each whole pass: those that compute for much longer than what generates read prompts, and the others generate, if
    /// there are both or graphs are replayed. A pass that does both reads prompts.
    fn phases(&self) -> Vec<Option<Phase>> {
        // Where graphs are replayed in some passes alone, these generate; else most passes do.
        let replayed: Vec<usize> = (0..self.whole.len()).filter(|at| self.whole[*at].has_replays).collect();
        let is_told = !replayed.is_empty() && replayed.len() < self.whole.len();
        let generating = if is_told { &replayed } else { &self.alike };
        let mut times: Vec<Picoseconds> = generating.iter().map(|at| self.whole[*at].compute).collect();
        times.sort_unstable();
        let usual = times[times.len() / 2] as f64;
        let reads = |pass: &Pass| pass.compute as f64 >= PROMPTS * usual;
        let has_both = self.whole.iter().any(&reads);
        let phase = |pass: &Pass| {
            if reads(pass) { Some(Phase::Prefill) } else { (has_both || pass.has_replays).then_some(Phase::Decode) }
        };
        self.whole.iter().map(phase).collect()
    }

    fn summary(&self, phases: &[Option<Phase>]) -> FoundPasses {
        let of = |phase: Phase| phases.iter().filter(|found| **found == Some(phase)).count() as u64;
        let example = &self.whole[self.alike[0]];
        let others = self.whole.len() - of(Phase::Prefill) as usize;
        let is_certain = self.whole.iter().all(|pass| pass.layers == example.layers)
            && self.alike.len() >= others.min(self.whole.len());
        FoundPasses {
            by: self.by,
            passes: self.whole.len() as u64,
            alike: self.alike.len() as u64,
            events: example.events.len() as u64,
            layers: example.layers as u64,
            prefill: of(Phase::Prefill),
            decode: of(Phase::Decode),
            certainty: if is_certain { "certain" } else { "likely" },
        }
    }
}
