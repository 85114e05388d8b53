//! The kernels of each operation as samples: where each one stands in its pass and layer says which ones are alike.

use rustc_hash::FxHashMap;

use perfdb_model::statistics::Series;
use perfdb_trace::numbering::Numbering;

use super::Waits;
use crate::columns::Kernel;
use crate::context::OUTSIDE;
use crate::elapsed::compared::Compared;
use crate::steps::{Basis, PhaseFilter};
use crate::structure::{Sequence, Structure};
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
    /// The strata of the series.
    pub(super) strata: Vec<Stratum>,
}

/// What kernels that should take equally long have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stratum {
    /// Number of the name of the first one.
    pub(super) name: u32,
    /// Kind of layer, and number within the operation's kernels there.
    pub(super) place: Option<(u32, u32)>,
    /// Number of the shapes that they work on.
    pub(super) shape: Option<u32>,
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

/// Kernels that should take equally long: the same place of the same layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    unit: u32,
    layer: u32,
    number: u32,
    shape: Option<u32>,
}

impl Kind {
    fn stratum(self, name: u32) -> Stratum {
        let place = (self.unit != OUTSIDE).then_some((self.unit, self.number));
        Stratum { name, place, shape: self.shape }
    }
}

/// The layers of the compared passes and what is between them, and for each kernel the one that it is in.
fn instances(
    trace: &Trace,
    structure: &Structure,
    compared: &Compared<'_>,
    passes: &[u32],
) -> (Vec<Instance>, Vec<u32>) {
    let mut instances: Vec<Instance> = Vec::new();
    let mut of_kernels = vec![OUTSIDE; trace.kernels.len()];
    for (number, sequence) in (0..).zip(&structure.sequences) {
        let mut kernels = sequence.kernels.iter().chain(&sequence.side_kernels);
        let Some(pass) = kernels.clone().next().map(|at| trace.contexts[*at as usize].pass) else { continue };
        let pass = match (compared.basis, passes.binary_search(&pass)) {
            (_, Ok(pass)) => pass as u32,
            (Basis::Whole, Err(_)) => passes.len() as u32,
            (Basis::Pass | Basis::Step, Err(_)) => {
                if pass == OUTSIDE {
                    // No step launched them: they count in the window that they lie in.
                    let mut of_passes: FxHashMap<u32, u32> = FxHashMap::default();
                    for at in kernels {
                        let pass = window_of(trace.kernels.at(*at as usize), compared);
                        let Some(Ok(pass)) = pass.map(|pass| passes.binary_search(&pass)) else { continue };
                        let pass = pass as u32;
                        of_kernels[*at as usize] = *of_passes.entry(pass).or_insert_with(|| {
                            instances.push(Instance { pass, position: OUTSIDE, unit: OUTSIDE, sequence: number });
                            instances.len() as u32 - 1
                        });
                    }
                }
                // Those of a pass that lacks kernels do not.
                continue;
            }
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
    (instances, of_kernels)
}

impl Calls {
    /// The kernels of the compared passes; nothing where the trace has no structure.
    pub(super) fn new(trace: &Trace, compared: &Compared<'_>, filter: PhaseFilter, waits: Waits) -> Option<Calls> {
        let structure = trace.structure.as_ref()?;
        let mut passes: Vec<u32> = compared.windows.iter().filter_map(|window| window.pass).collect();
        passes.sort_unstable();
        passes.dedup();
        let rounds: Vec<Vec<Picoseconds>> = match compared.basis {
            Basis::Whole => structure.sequences.iter().map(|sequence| later_rounds(sequence, trace)).collect(),
            Basis::Pass | Basis::Step => Vec::new(),
        };
        let (instances, of_kernels) = instances(trace, structure, compared, &passes);
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
            // Passes that are not known may be of several kinds, prefill and decode say.
            let shape = trace.calls.of(at).filter(|_| compared.basis == Basis::Whole);
            let shape = shape.and_then(|call| trace.calls.shape_of.get(call as usize).copied());
            let kind = Kind { unit: instance.unit, layer, number: place.number, shape };
            let kernel = trace.kernels.at(at);
            let wait = if waits == Waits::LeftOut { trace.corrections.wait_of(at as u32) } else { 0 };
            let time = microseconds(kernel.duration - wait);
            let cluster = match rounds.get(instance.sequence as usize) {
                Some(later) => later.partition_point(|start| *start <= kernel.start) as u32,
                None => instance.pass,
            };
            gathered[operation as usize].push(kind, |kind| Call {
                time,
                place,
                kind,
                name: context.group,
                shape,
                cluster,
                device: kernel.device,
            });
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

    /// The kernels of all operations.
    pub(super) fn all(&self) -> Vec<&Series> {
        let mut names: Vec<&String> = self.operations.keys().collect();
        // Sums of floats keep their order.
        names.sort_unstable();
        names.into_iter().map(|name| &self.operations[name].series).collect()
    }

    /// The kernels of several operations, one after the other.
    pub(super) fn union<'n>(&self, operations: impl Iterator<Item = &'n str>) -> OperationCalls {
        let mut names: Vec<&str> = operations.collect();
        names.sort_unstable();
        let mut found = OperationCalls::default();
        for calls in names.into_iter().map(|name| self.of(name)) {
            found.series.append(&calls.series);
            found.places.extend(&calls.places);
            found.strata.extend(&calls.strata);
        }
        found
    }

    /// The kernels of an operation.
    pub(super) fn of(&self, operation: &str) -> &OperationCalls {
        static NONE: std::sync::LazyLock<OperationCalls> = std::sync::LazyLock::new(OperationCalls::default);
        self.operations.get(operation).unwrap_or(&NONE)
    }
}

/// The compared pass in whose window a kernel starts.
fn window_of(kernel: Kernel, compared: &Compared<'_>) -> Option<u32> {
    let begun =
        compared.windows.partition_point(|window| (window.device, window.start) <= (kernel.device, kernel.start));
    let window = compared.windows[begun.checked_sub(1)?];
    (window.device == kernel.device && kernel.start < window.end).then_some(window.pass).flatten()
}

/// When layers begin to count from 0 again in a trace whose passes nobody annotated. Kernels of one round may be slow or
/// fast together, as those of a pass.
fn later_rounds(sequence: &Sequence, trace: &Trace) -> Vec<Picoseconds> {
    let numbered: Vec<_> = sequence.layers.iter().filter(|layer| layer.number.is_some()).collect();
    let begins = numbered.windows(2).filter(|pair| pair[1].number <= pair[0].number).map(|pair| pair[1]);
    let first = |layer| sequence.kernels[sequence.kernels_of(layer).start] as usize;
    begins.map(|layer| trace.kernels.at(first(layer)).start).collect()
}

/// A kernel of an operation.
#[derive(Debug)]
struct Call {
    /// Its time in us.
    time: f64,
    place: Place,
    /// Number of the kind.
    kind: u32,
    /// Number of the name.
    name: u32,
    /// Number of the shapes, where these matter and are known.
    shape: Option<u32>,
    cluster: u32,
    device: u32,
}

/// Kernels of an operation while they are gathered.
#[derive(Debug, Default)]
struct Gathered {
    calls: Vec<Call>,
    kinds: Numbering<Kind>,
}

impl Gathered {
    fn push(&mut self, kind: Kind, call: impl FnOnce(u32) -> Call) {
        self.calls.push(call(self.kinds.number(kind)));
    }

    /// The kernels in a series that is empty before.
    ///
    /// A place that comes once is alike with others of its name and shapes that come once. A call without any such, if it is the only
    /// one of its name, counts among the others of its name: as a kind of its own, it would be taken for certain, like the
    /// collective that waits for the other ranks to begin.
    fn into_calls(self, series: Series) -> OperationCalls {
        let kinds = self.kinds.keys();
        let mut counts = vec![0_u32; kinds.len()];
        self.calls.iter().for_each(|call| counts[call.kind as usize] += 1);
        let mut on_devices: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        self.calls.iter().for_each(|call| *on_devices.entry((call.kind, call.device)).or_default() += 1);
        // Devices that do the same at the same time are no further samples.
        let is_single = |call: &Call| on_devices[&(call.kind, call.device)] == 1;
        let singles = || self.calls.iter().filter(|call| is_single(call));
        let mut of_shapes: FxHashMap<(u32, Option<u32>, u32), u32> = FxHashMap::default();
        singles().for_each(|call| *of_shapes.entry((call.name, call.shape, call.device)).or_default() += 1);
        let is_odd = |call: &Call| is_single(call) && of_shapes[&(call.name, call.shape, call.device)] == 1;
        let mut odd_of_names: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let odd = || singles().filter(|call| is_odd(call));
        odd().for_each(|call| *odd_of_names.entry((call.name, call.device)).or_default() += 1);
        let has_one_odd = |call: &Call| odd_of_names.get(&(call.name, call.device)) == Some(&1);
        // The kind that most calls of a name are of; the first of several.
        let mut most_frequent: FxHashMap<u32, u32> = FxHashMap::default();
        for call in self.calls.iter().filter(|call| !is_single(call) && has_one_odd(call)) {
            let found = most_frequent.entry(call.name).or_insert(call.kind);
            if counts[call.kind as usize] > counts[*found as usize] {
                *found = call.kind;
            }
        }
        let mut of_kinds: Vec<Option<u32>> = vec![None; kinds.len()];
        let mut of_names: FxHashMap<(u32, Option<u32>), Option<u32>> = FxHashMap::default();
        let mut found = OperationCalls { series, places: Vec::new(), strata: Vec::new() };
        for call in &self.calls {
            let (kind, shape) = match (is_single(call), is_odd(call), has_one_odd(call)) {
                (false, ..) => (Some(call.kind), call.shape),
                (_, false, _) => (None, call.shape),
                (_, true, false) => (None, None),
                (_, true, true) => (most_frequent.get(&call.name).copied(), call.shape),
            };
            let known = match kind {
                Some(kind) => &mut of_kinds[kind as usize],
                None => of_names.entry((call.name, shape)).or_default(),
            };
            let stratum = *known.get_or_insert_with(|| {
                let of_name = Stratum { name: call.name, place: None, shape };
                found.strata.push(kind.map_or(of_name, |kind| kinds[kind as usize].stratum(call.name)));
                found.strata.len() as u32 - 1
            });
            found.series.push(call.time, stratum, call.cluster);
            found.places.push(call.place);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use perfdb_model::statistics::estimate;

    use super::*;

    /// Calls of one name in this many layers, and the first of all outside of them.
    fn calls(first: f64, layers: u32) -> OperationCalls {
        let mut gathered = Gathered::default();
        let mut push = |time: f64, layer: u32, unit: u32| {
            let place = Place { pass: 0, layer, number: 0 };
            let kind = Kind { unit, layer: 0, number: 0, shape: None };
            gathered.push(kind, |kind| Call { time, place, kind, name: 7, shape: None, cluster: 0, device: 0 });
        };
        push(first, OUTSIDE, OUTSIDE);
        (0..layers).for_each(|layer| push(25.0 + f64::from(layer * 7 % 5) / 10.0, layer, 0));
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
