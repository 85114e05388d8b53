//! The kernels of each operation as samples: where each one stands in its pass and layer says which ones are alike.

use rustc_hash::FxHashMap;

use perfdb_statistics::Series;

use crate::context::OUTSIDE;
use crate::elapsed::Compared;
use crate::steps::{Basis, PhaseFilter};
use crate::time::microseconds;
use crate::trace::Trace;

/// Passes from which on each layer is compared with itself in other passes alone.
const PASSES_FOR_LAYERS: usize = 4;

/// Kernels of an operation.
#[derive(Debug, Default)]
pub(super) struct OperationCalls {
    pub(super) series: Series,
    /// Where each kernel stands; equal lists of two traces are the same calls.
    pub(super) places: Vec<Place>,
}

/// Where a kernel stands: pass, layer (or stretch between layers) of the pass, number within the operation's kernels there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pass: u32,
    layer: u32,
    number: u32,
}

/// The kernels of a trace by operation.
#[derive(Debug)]
pub(super) struct Calls {
    operations: FxHashMap<String, OperationCalls>,
}

/// Where the kernels of a layer of a pass stand.
#[derive(Debug, Clone, Copy)]
struct Instance {
    /// Position of the pass among those that are compared.
    pass: u32,
    /// Position of the layer in its pass; [`OUTSIDE`] between layers.
    position: u32,
    /// Kind of layer; [`OUTSIDE`] between layers.
    unit: u32,
}

/// Kernels that should take equally long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// The same place of the same layer.
    Place { unit: u32, layer: u32, number: u32 },
    /// One name, where a place comes once. If there is one such call alone, it counts among the others of its name: as a kind of
    /// its own, it would be taken for certain, like the collective that waits for the other ranks to begin.
    Name(u32),
}

impl Calls {
    /// The kernels of the compared passes; nothing where the trace has no structure.
    pub(super) fn new(trace: &Trace, compared: &Compared<'_>, filter: PhaseFilter) -> Option<Calls> {
        let structure = trace.structure.as_ref()?;
        let mut passes: Vec<u32> = compared.windows.iter().filter_map(|window| window.pass).collect();
        passes.sort_unstable();
        passes.dedup();
        let mut instances: Vec<Instance> = Vec::new();
        let mut of_kernels = vec![OUTSIDE; trace.kernels.len()];
        for sequence in &structure.sequences {
            let mut kernels = sequence.kernels.iter().chain(&sequence.side_kernels);
            let Some(pass) = kernels.clone().next().map(|at| trace.contexts[*at as usize].pass) else { continue };
            let pass = match (compared.basis, passes.binary_search(&pass)) {
                (_, Ok(pass)) => pass as u32,
                (Basis::Whole, Err(_)) => passes.len() as u32,
                // Outside of every pass, or in one that lacks kernels.
                (Basis::Pass | Basis::Step, Err(_)) => continue,
            };
            let between = instances.len() as u32;
            instances.push(Instance { pass, position: OUTSIDE, unit: OUTSIDE });
            kernels.by_ref().for_each(|at| of_kernels[*at as usize] = between);
            for (position, layer) in sequence.layers.iter().enumerate() {
                let instance = instances.len() as u32;
                instances.push(Instance { pass, position: position as u32, unit: layer.unit as u32 });
                for at in &sequence.kernels[sequence.kernels_of(layer)] {
                    of_kernels[*at as usize] = instance;
                }
            }
        }
        let by_layer = passes.len() >= PASSES_FOR_LAYERS;
        let mut gathered: Vec<Gathered> = (0..trace.operations.len()).map(|_| Gathered::default()).collect();
        let mut numbers: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        for at in trace.in_time_order() {
            let context = &trace.contexts[at];
            let Some(instance) = instances.get(of_kernels[at] as usize) else { continue };
            if !filter.lets(context.phase) {
                continue;
            }
            let operation = trace.groups[context.group as usize].operation;
            let number = numbers.entry((of_kernels[at], operation)).or_default();
            let place = Place { pass: instance.pass, layer: instance.position, number: *number };
            *number += 1;
            let layer = if by_layer { instance.position } else { 0 };
            let kind = Kind::Place { unit: instance.unit, layer, number: place.number };
            let time = trace.kernels[at].duration - trace.corrections.wait_of(at as u32);
            gathered[operation as usize].calls.push((microseconds(time), place, kind, context.group));
        }
        let named = trace.operations.iter().cloned().zip(gathered.into_iter().map(Gathered::into_calls));
        Some(Calls { operations: named.collect() })
    }

    /// The kernels of an operation.
    pub(super) fn of(&self, operation: &str) -> &OperationCalls {
        static NONE: std::sync::LazyLock<OperationCalls> = std::sync::LazyLock::new(OperationCalls::default);
        self.operations.get(operation).unwrap_or(&NONE)
    }
}

/// Kernels of an operation while they are gathered: time in us, place, kind, and number of the name.
#[derive(Debug, Default)]
struct Gathered {
    calls: Vec<(f64, Place, Kind, u32)>,
}

impl Gathered {
    fn into_calls(self) -> OperationCalls {
        let mut counts: FxHashMap<Kind, u32> = FxHashMap::default();
        for (_, _, kind, _) in &self.calls {
            *counts.entry(*kind).or_default() += 1;
        }
        let singles = self.calls.iter().filter(|(_, _, kind, _)| counts[kind] == 1);
        let mut singles_of_names: FxHashMap<u32, u32> = FxHashMap::default();
        singles.for_each(|(.., name)| *singles_of_names.entry(*name).or_default() += 1);
        // The kind that most calls of a name are of; the first of several.
        let mut most_frequent: FxHashMap<u32, Kind> = FxHashMap::default();
        for (_, _, kind, name) in self.calls.iter().filter(|(_, _, kind, _)| counts[kind] > 1) {
            let found = most_frequent.entry(*name).or_insert(*kind);
            if counts[kind] > counts[found] {
                *found = *kind;
            }
        }
        let mut strata: FxHashMap<Kind, u32> = FxHashMap::default();
        let mut found = OperationCalls::default();
        for (time, place, kind, name) in self.calls {
            let kind = match (counts[&kind], singles_of_names.get(&name)) {
                (1, Some(1)) => most_frequent.get(&name).copied().unwrap_or(Kind::Name(name)),
                (1, _) => Kind::Name(name),
                _ => kind,
            };
            let next = strata.len() as u32;
            found.series.push(time, *strata.entry(kind).or_insert(next), place.pass);
            found.places.push(place);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use perfdb_statistics::estimate;

    use super::*;

    /// Calls of one name in so many layers, and the first of all outside of them.
    fn calls(first: f64, layers: u32) -> OperationCalls {
        let mut gathered = Gathered::default();
        let mut push = |time: f64, layer: u32, kind: Kind| {
            gathered.calls.push((time, Place { pass: 0, layer, number: 0 }, kind, 7));
        };
        push(first, OUTSIDE, Kind::Place { unit: OUTSIDE, layer: 0, number: 0 });
        for layer in 0..layers {
            push(25.0 + f64::from(layer * 7 % 5) / 10.0, layer, Kind::Place { unit: 0, layer: 0, number: 0 });
        }
        gathered.into_calls()
    }

    #[test]
    fn a_single_call_is_not_taken_for_certain() {
        let (waiting, other) = (calls(223.0, 35), calls(25.0, 35));
        let counts = [36.0; 2];
        let found = estimate([&waiting.series, &other.series], counts, false).expect("enough calls");
        assert!(found.log_ratio.abs() < 0.005, "{found:?}");
    }
}
