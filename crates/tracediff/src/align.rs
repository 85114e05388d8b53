//! Kernel by kernel within layers: kernels of the same operation and occurrence belong together.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::compare::{average_ratio, ratio};
use crate::context::OUTSIDE;
use crate::names::NameId;
use crate::steps::PhaseFilter;
use crate::time::{Picoseconds, average_microseconds, microseconds};
use crate::totals::Sum;
use crate::trace::Trace;
use perfdb_trace::numbering::Numbering;

/// A layer of both traces, kernel by kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerAlignment {
    /// Number from 0.
    pub layer: u32,
    /// Time of the layer in trace 1, µs.
    pub trace1_total_us: f64,
    /// Time of the layer in trace 2, µs.
    pub trace2_total_us: f64,
    /// Total of trace 2 by total of trace 1; `None` is infinite, or one trace lacks the layer.
    pub trace2_over_trace1: Option<f64>,
    /// Total of trace 2 less total of trace 1, µs.
    pub difference_us: f64,
    /// Kernels, by position.
    pub kernel_pairs: Vec<KernelPair>,
}

/// Kernels of one operation and occurrence within a layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelPair {
    /// Operation.
    pub operation: String,
    /// How many kernels of the operation come before in the layer.
    pub occurrence: u32,
    /// Smallest position in the layer, of trace 1 if it has the kernel.
    pub position: u32,
    /// Most frequent kernel of trace 1.
    pub trace1_kernel: Option<String>,
    /// Calls in trace 1.
    pub trace1_count: u64,
    /// Total time in trace 1, µs.
    pub trace1_total_us: f64,
    /// Average duration in trace 1, µs.
    pub trace1_avg_us: f64,
    /// Most frequent kernel of trace 2.
    pub trace2_kernel: Option<String>,
    /// Calls in trace 2.
    pub trace2_count: u64,
    /// Total time in trace 2, µs.
    pub trace2_total_us: f64,
    /// Average duration in trace 2, µs.
    pub trace2_avg_us: f64,
    /// Average of trace 2 by average of trace 1.
    pub trace2_over_trace1: Option<f64>,
    /// Average of trace 2 less average of trace 1, µs.
    pub difference_us: f64,
    /// Whether both traces run the same kernel.
    pub is_same_kernel: bool,
    /// What is odd about the pair.
    pub note: Option<&'static str>,
}

/// Aligns the kernels of two traces, layer by layer.
pub(crate) fn align(first: &Trace, second: &Trace, phase: PhaseFilter) -> Vec<LayerAlignment> {
    let mut layers: BTreeMap<u32, [Option<Layer>; 2]> = BTreeMap::new();
    for (side, trace) in [first, second].into_iter().enumerate() {
        for (number, layer) in (0..).zip(layers_of(trace, phase)) {
            if layer.sum.count > 0 {
                layers.entry(number).or_default()[side] = Some(layer);
            }
        }
    }
    layers.into_iter().map(|(number, sides)| layer_alignment(number, sides, [first, second])).collect()
}

/// Kernels of one operation and occurrence, over all passes and devices.
#[derive(Debug, Default, Clone)]
struct Entry {
    sum: Sum,
    position: u32,
    names: Vec<(NameId, u64)>,
}

/// Entries of a layer, by operation and occurrence.
#[derive(Debug, Default, Clone)]
struct Layer {
    sum: Sum,
    entries: FxHashMap<(u32, u32), Entry>,
}

/// How far a pass on a device has come.
#[derive(Debug, Clone)]
struct Progress {
    layer: u32,
    position: u32,
    occurrences: Vec<u32>,
}

fn layers_of(trace: &Trace, phase: PhaseFilter) -> Vec<Layer> {
    let mut layers = vec![Layer::default(); trace.layers as usize];
    let mut instances: Numbering<(u32, u32)> = Numbering::default();
    let mut progress: Vec<Progress> = Vec::new();
    for at in trace.in_time_order() {
        let (kernel, context) = (trace.kernels.at(at), &trace.contexts[at]);
        if context.layer == OUTSIDE || !phase.lets(context.phase) {
            continue;
        }
        let instance = instances.number((context.pass, kernel.device)) as usize;
        if instance == progress.len() {
            progress.push(Progress { layer: OUTSIDE, position: 0, occurrences: vec![0; trace.operations.len()] });
        }
        let now = &mut progress[instance];
        if now.layer != context.layer {
            now.layer = context.layer;
            now.position = 0;
            now.occurrences.fill(0);
        }
        let operation = trace.operation(at);
        let occurrence = now.occurrences[operation as usize];
        let layer = &mut layers[context.layer as usize];
        layer.sum.add(kernel.duration);
        let entry = layer.entries.entry((operation, occurrence)).or_default();
        entry.position = if entry.sum.count == 0 { now.position } else { entry.position.min(now.position) };
        entry.sum.add(kernel.duration);
        match entry.names.iter_mut().find(|(name, _)| *name == kernel.name) {
            Some((_, count)) => *count += 1,
            None => entry.names.push((kernel.name, 1)),
        }
        now.position += 1;
        now.occurrences[operation as usize] += 1;
    }
    layers
}

fn layer_alignment(layer: u32, sides: [Option<Layer>; 2], traces: [&Trace; 2]) -> LayerAlignment {
    let sums = [0, 1].map(|side| sides[side].as_ref().map(|layer| layer.sum));
    let mut pairs: BTreeMap<(&str, u32), [Option<&Entry>; 2]> = BTreeMap::new();
    for (side, layer) in sides.iter().enumerate() {
        let entries = layer.iter().flat_map(|layer| &layer.entries);
        for ((operation, occurrence), entry) in entries {
            let operation = traces[side].operations[*operation as usize].as_str();
            pairs.entry((operation, *occurrence)).or_default()[side] = Some(entry);
        }
    }
    let mut kernel_pairs: Vec<KernelPair> = pairs
        .into_iter()
        .map(|((operation, occurrence), sides)| kernel_pair(operation, occurrence, sides, traces))
        .collect();
    // Stable: operation and occurrence decide last.
    kernel_pairs.sort_by_key(|pair| (pair.position, pair.trace1_count == 0));
    let time = |side: usize| sums[side].map_or(0, |sum| sum.time);
    LayerAlignment {
        layer,
        trace1_total_us: microseconds(time(0)),
        trace2_total_us: microseconds(time(1)),
        trace2_over_trace1: if sums.iter().all(Option::is_some) { ratio(time(1), time(0)) } else { None },
        difference_us: microseconds(time(1) - time(0)),
        kernel_pairs,
    }
}

fn kernel_pair(operation: &str, occurrence: u32, sides: [Option<&Entry>; 2], traces: [&Trace; 2]) -> KernelPair {
    let sums = sides.map(|side| side.map_or_else(Sum::default, |entry| entry.sum));
    let averages = sums.map(|sum| average_microseconds(sum.time, sum.count));
    let kernel = |side: usize| sides[side].map(|entry| most_frequent(&entry.names, traces[side]).to_owned());
    let (first, second) = (kernel(0), kernel(1));
    let note = match sides {
        [Some(_), None] => Some("trace1_only"),
        [None, Some(_)] => Some("trace2_only"),
        _ if 2 * sums[0].count > 3 * sums[1].count => Some("trace1_more_calls"),
        _ if 2 * sums[1].count > 3 * sums[0].count => Some("trace2_more_calls"),
        _ => None,
    };
    KernelPair {
        operation: operation.to_owned(),
        occurrence,
        position: sides.iter().flatten().next().map_or(0, |entry| entry.position),
        is_same_kernel: first.is_some() && first == second,
        trace1_kernel: first,
        trace1_count: sums[0].count,
        trace1_total_us: microseconds(sums[0].time),
        trace1_avg_us: averages[0],
        trace2_kernel: second,
        trace2_count: sums[1].count,
        trace2_total_us: microseconds(sums[1].time),
        trace2_avg_us: averages[1],
        trace2_over_trace1: average_ratio(sums[1], sums[0]),
        difference_us: difference_us([sums[1], sums[0]]),
        note,
    }
}

/// Difference of the averages, rounded once where the counts agree.
fn difference_us(sums: [Sum; 2]) -> f64 {
    let average = |sum: Sum| average_microseconds(sum.time, sum.count);
    if sums[0].count == sums[1].count {
        let gap: Picoseconds = sums[0].time - sums[1].time;
        return average_microseconds(gap, sums[0].count);
    }
    average(sums[0]) - average(sums[1])
}

/// The most frequent name, the smallest on ties.
fn most_frequent<'a>(names: &[(NameId, u64)], trace: &'a Trace) -> &'a str {
    let most = names
        .iter()
        .max_by(|(a, first), (b, second)| first.cmp(second).then_with(|| trace.name(*b).cmp(trace.name(*a))));
    most.map_or("", |(name, _)| trace.name(*name))
}
