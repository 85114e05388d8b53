//! Layers by correlation id, as the old releases numbered them.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::architecture::{Architecture, architecture};
use crate::id::Id;
use crate::trace::Trace;

/// Kernels of a correlation group that may be a layer, at least.
const SMALLEST_GROUP: usize = 70;

/// 0.1.33: marker kernels open layers through the whole trace; a layer takes whole correlation ids, the last layer wins.
pub(crate) fn place_by_markers(trace: &mut Trace) {
    let markers: &[&[&str]] = match architecture([&*trace]) {
        Architecture::Transformer => &[&["fmha", "attention", "flash"], &["context", "2d", "fmhasm100a"]],
        Architecture::Ssm => &[&["selective_scan", "mamba", "ssd"]],
        Architecture::Hybrid | Architecture::Unknown => return place_by_groups(trace),
    };
    let marks = names_with(trace, |name| markers.iter().all(|words| words.iter().any(|word| name.contains(word))));
    let mut starts: Vec<f64> = trace
        .kernels
        .iter()
        .zip(&trace.doubles)
        .filter(|(kernel, _)| marks[kernel.name as usize])
        .map(|(_, times)| times.start)
        .collect();
    if starts.is_empty() {
        return place_by_groups(trace);
    }
    starts.sort_by(f64::total_cmp);
    // In order of layers, so that later ones overwrite: the largest layer of an id wins.
    let mut layer_of: FxHashMap<Id, u32> = FxHashMap::default();
    for (kernel, times) in trace.kernels.iter().zip(&trace.doubles) {
        let behind = starts.partition_point(|start| *start <= times.start) as u32;
        if let Some(layer) = behind.checked_sub(1)
            && kernel.correlation.is_there()
        {
            let place = layer_of.entry(kernel.correlation).or_insert(layer);
            *place = layer.max(*place);
        }
    }
    assign(trace, &layer_of);
}

/// 0.1.35: large correlation groups with attention and matrix product, in order of their ids.
pub(crate) fn place_by_groups(trace: &mut Trace) {
    let attention = names_with(trace, |name| ["attention", "fmha"].iter().any(|word| name.contains(word)));
    let product =
        names_with(trace, |name| ["cijk_", "nvjet", "wvsplitk", "gemm"].iter().any(|word| name.contains(word)));
    let mut groups: BTreeMap<Id, (usize, bool, bool)> = BTreeMap::new();
    for kernel in trace.kernels.iter().filter(|kernel| kernel.correlation.is_there()) {
        let (count, has_attention, has_product) = groups.entry(kernel.correlation).or_default();
        *count += 1;
        *has_attention |= attention[kernel.name as usize];
        *has_product |= product[kernel.name as usize];
    }
    let layer_of = groups
        .into_iter()
        .filter(|(_, (count, attention, product))| *count >= SMALLEST_GROUP && *attention && *product)
        .zip(0..)
        .map(|((id, _), layer)| (id, layer))
        .collect();
    assign(trace, &layer_of);
}

fn assign(trace: &mut Trace, layer_of: &FxHashMap<Id, u32>) {
    for (kernel, place) in trace.kernels.iter().zip(&mut trace.places) {
        if let Some(layer) = layer_of.get(&kernel.correlation) {
            place.layer = *layer;
        }
    }
    trace.layers = layer_of.len() as u64;
}

/// Per interned name, whether its lower-cased text satisfies a condition.
pub(crate) fn names_with(trace: &Trace, condition: impl Fn(&str) -> bool) -> Vec<bool> {
    (0..trace.names.len() as u32).map(|name| condition(&trace.name(name).to_lowercase())).collect()
}
