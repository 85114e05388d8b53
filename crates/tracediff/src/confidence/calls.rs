//! The kernels of each operation as samples: where each one stands in its pass and layer says which ones are alike.

use rustc_hash::FxHashMap;

use perfdb_statistics::Series;

use crate::context::OUTSIDE;
use crate::elapsed::Compared;
use crate::steps::{Basis, PhaseFilter};
use crate::structure::Sequence;
use crate::time::{Picoseconds, microseconds};
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
    /// Position of the sequence.
    sequence: u32,
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
        let rounds: Vec<Vec<Picoseconds>> = match compared.basis {
            Basis::Whole => structure.sequences.iter().map(|sequence| later_rounds(sequence, trace)).collect(),
            Basis::Pass | Basis::Step => Vec::new(),
        };
        for (number, sequence) in (0..).zip(&structure.sequences) {
            let mut kernels = sequence.kernels.iter().chain(&sequence.side_kernels);
            let Some(pass) = kernels.clone().next().map(|at| trace.contexts[*at as usize].pass) else { continue };
            let pass = match (compared.basis, passes.binary_search(&pass)) {
                (_, Ok(pass)) => pass as u32,
                (Basis::Whole, Err(_)) => passes.len() as u32,
                // Outside of every pass, or in one that lacks kernels.
                (Basis::Pass | Basis::Step, Err(_)) => continue,
            };
            let between = instances.len() as u32;
            instances.push(Instance { pass, position: OUTSIDE, unit: OUTSIDE, sequence: number });
            kernels.by_ref().for_each(|at| of_kernels[*at as usize] = between);
            for (position, layer) in sequence.layers.iter().enumerate() {
                let instance = instances.len() as u32;
                let (position, unit) = (position as u32, layer.unit as u32);
                instances.push(Instance { pass, position, unit, sequence: number });
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
            let kernel = &trace.kernels[at];
            let time = microseconds(kernel.duration - trace.corrections.wait_of(at as u32));
            let cluster = match rounds.get(instance.sequence as usize) {
                Some(later) => later.partition_point(|start| *start <= kernel.start) as u32,
                None => instance.pass,
            };
            gathered[operation as usize].calls.push(Call { time, place, kind, name: context.group, cluster });
        }
        let empty = || match compared.basis {
            // A round may have been cut, or be another kind of pass.
            Basis::Whole => Series::of_uneven_clusters(),
            Basis::Pass | Basis::Step => Series::default(),
        };
        let calls = gathered.into_iter().map(|gathered| gathered.into_calls(empty()));
        let named = trace.operations.iter().cloned().zip(calls);
        Some(Calls { operations: named.collect() })
    }

    /// The kernels of an operation.
    pub(super) fn of(&self, operation: &str) -> &OperationCalls {
        static NONE: std::sync::LazyLock<OperationCalls> = std::sync::LazyLock::new(OperationCalls::default);
        self.operations.get(operation).unwrap_or(&NONE)
    }
}

/// When layers begin to count from 0 again in a trace whose passes nobody annotated. Kernels of one round may be slow or
/// fast together, as those of a pass.
fn later_rounds(sequence: &Sequence, trace: &Trace) -> Vec<Picoseconds> {
    let begins = sequence.layers.windows(2).filter(|pair| pair[1].number <= pair[0].number).map(|pair| &pair[1]);
    let first = |layer| sequence.kernels[sequence.kernels_of(layer).start] as usize;
    begins.map(|layer| trace.kernels[first(layer)].start).collect()
}

/// A kernel of an operation.
#[derive(Debug)]
struct Call {
    /// Its time in us.
    time: f64,
    place: Place,
    kind: Kind,
    /// Number of the name.
    name: u32,
    cluster: u32,
}

/// Kernels of an operation while they are gathered.
#[derive(Debug, Default)]
struct Gathered {
    calls: Vec<Call>,
}

impl Gathered {
    /// The kernels in a series that is empty before.
    fn into_calls(self, series: Series) -> OperationCalls {
        let mut counts: FxHashMap<Kind, u32> = FxHashMap::default();
        for call in &self.calls {
            *counts.entry(call.kind).or_default() += 1;
        }
        let singles = self.calls.iter().filter(|call| counts[&call.kind] == 1);
        let mut singles_of_names: FxHashMap<u32, u32> = FxHashMap::default();
        singles.for_each(|call| *singles_of_names.entry(call.name).or_default() += 1);
        // The kind that most calls of a name are of; the first of several.
        let mut most_frequent: FxHashMap<u32, Kind> = FxHashMap::default();
        for Call { kind, name, .. } in self.calls.iter().filter(|call| counts[&call.kind] > 1) {
            let found = most_frequent.entry(*name).or_insert(*kind);
            if counts[kind] > counts[found] {
                *found = *kind;
            }
        }
        let mut strata: FxHashMap<Kind, u32> = FxHashMap::default();
        let mut found = OperationCalls { series, places: Vec::new() };
        for Call { time, place, kind, name, cluster } in self.calls {
            let kind = match (counts[&kind], singles_of_names.get(&name)) {
                (1, Some(1)) => most_frequent.get(&name).copied().unwrap_or(Kind::Name(name)),
                (1, _) => Kind::Name(name),
                _ => kind,
            };
            let next = strata.len() as u32;
            found.series.push(time, *strata.entry(kind).or_insert(next), cluster);
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
            gathered.calls.push(Call { time, place: Place { pass: 0, layer, number: 0 }, kind, name: 7, cluster: 0 });
        };
        push(first, OUTSIDE, Kind::Place { unit: OUTSIDE, layer: 0, number: 0 });
        for layer in 0..layers {
            push(25.0 + f64::from(layer * 7 % 5) / 10.0, layer, Kind::Place { unit: 0, layer: 0, number: 0 });
        }
        gathered.into_calls(Series::default())
    }

    #[test]
    fn a_single_call_is_not_taken_for_certain() {
        let (waiting, other) = (calls(223.0, 35), calls(25.0, 35));
        let counts = [36.0; 2];
        let found = estimate([&waiting.series, &other.series], counts, false).expect("enough calls");
        assert!(found.log_ratio.abs() < 0.005, "{found:?}");
    }
}
