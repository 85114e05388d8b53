//! Which kernels of two traces are like each other, for traces that hold other calls.

use rustc_hash::FxHashMap;

use super::calls::{OperationCalls, Stratum};
use crate::trace::Trace;

/// What makes strata of two traces alike, the surest first.
const RULES: [Rule; 6] = [
    |stratum| Some((Some(stratum.name), stratum.place, stratum.shapes)),
    |stratum| Some((Some(stratum.name), None, Some(stratum.shapes?))),
    |stratum| Some((Some(stratum.name), Some(stratum.place?), None)),
    |stratum| Some((Some(stratum.name), None, None)),
    |stratum| Some((None, Some(stratum.place?), None)),
    // What is left on both sides: other kernels for the same work.
    |_| Some((None, None, None)),
];

type Rule = for<'a> fn(&Described<'a>) -> Option<Key<'a>>;

/// Name of the kernel, place in a kind of layer, which its families tell, and shapes.
type Key<'a> = (Option<&'a str>, Option<(&'a [u8], u32)>, Option<&'a str>);

/// A stratum by what both traces have.
struct Described<'a> {
    name: &'a str,
    place: Option<(&'a [u8], u32)>,
    shapes: Option<&'a str>,
}

impl<'a> Described<'a> {
    fn new(stratum: &Stratum, trace: &'a Trace) -> Described<'a> {
        let families = |unit: u32| trace.structure.as_ref()?.units.get(unit as usize).map(Vec::as_slice);
        Described {
            name: trace.name(trace.groups[stratum.name as usize].name),
            place: stratum.place.and_then(|(unit, number)| Some((families(unit)?, number))),
            shapes: stratum.shape.and_then(|shape| Some(trace.calls.shapes.get(shape as usize)?.shapes.as_str())),
        }
    }
}

/// The kind of each stratum of both sides; equal numbers are equal kinds.
pub(super) fn kinds(sides: [&OperationCalls; 2], traces: [&Trace; 2]) -> [Vec<u32>; 2] {
    let described = [0, 1].map(|side| {
        let strata = sides[side].strata.iter();
        strata.map(|stratum| Described::new(stratum, traces[side])).collect::<Vec<_>>()
    });
    let mut found = described.each_ref().map(|strata| vec![None; strata.len()]);
    let mut next = 0;
    let mut one_more = || {
        next += 1;
        next - 1
    };
    for rule in RULES {
        let mut known: FxHashMap<Key<'_>, [bool; 2]> = FxHashMap::default();
        for (side, (strata, kinds)) in described.iter().zip(&found).enumerate() {
            let open = strata.iter().zip(kinds).filter(|(_, kind)| kind.is_none());
            open.filter_map(|(stratum, _)| rule(stratum)).for_each(|key| known.entry(key).or_default()[side] = true);
        }
        let mut numbers: FxHashMap<Key<'_>, u32> = FxHashMap::default();
        for (strata, kinds) in described.iter().zip(&mut found) {
            for (stratum, kind) in strata.iter().zip(kinds).filter(|(_, kind)| kind.is_none()) {
                let both = rule(stratum).filter(|key| known.get(key) == Some(&[true; 2]));
                *kind = both.map(|key| *numbers.entry(key).or_insert_with(&mut one_more));
            }
        }
    }
    // Of one side alone.
    found.map(|kinds| kinds.into_iter().map(|kind| kind.unwrap_or_else(&mut one_more)).collect())
}
