//! Layers by correlation id, as the old releases numbered them.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::times::Doubles;
use crate::architecture::{Architecture, by_names};
use crate::context::OUTSIDE;
use crate::context::classes::Group;
use crate::context::layers::Layers;
use crate::id::Id;
use crate::name_marks::name_marks;
use crate::names::Names;
use crate::rows::KernelRows;

/// Kernels of a correlation group that may be a layer, at least.
const SMALLEST_GROUP: usize = 70;

/// 0.1.33: marker kernels open layers through the whole trace; a layer takes whole correlation ids, the last layer wins.
pub(crate) fn by_markers(kernels: &KernelRows, times: &[Doubles], names: &Names, groups: &[Group]) -> Layers {
    let markers: &[&[&str]] = match by_names(groups.iter().map(|group| names.get(group.name))) {
        Architecture::Transformer => &[&["fmha", "attention", "flash"], &["context", "2d", "fmhasm100a"]],
        Architecture::Ssm => &[&["selective_scan", "mamba", "ssd"]],
        Architecture::Hybrid | Architecture::Unknown => return by_groups(kernels, names),
    };
    let marks = name_marks(names, |name| markers.iter().all(|words| words.iter().any(|word| name.contains(word))));
    let with_times = || kernels.iter().zip(times);
    let mut starts: Vec<f64> =
        with_times().filter(|(kernel, _)| marks[kernel.name as usize]).map(|(_, times)| times.start).collect();
    if starts.is_empty() {
        return by_groups(kernels, names);
    }
    starts.sort_by(f64::total_cmp);
    // In order of layers, so that later ones overwrite: the largest layer of an id wins.
    let mut layer_of: FxHashMap<Id, u32> = FxHashMap::default();
    for (kernel, times) in with_times() {
        let behind = starts.partition_point(|start| *start <= times.start) as u32;
        if let Some(layer) = behind.checked_sub(1)
            && kernel.correlation.is_there()
        {
            let known = layer_of.entry(kernel.correlation).or_insert(layer);
            *known = layer.max(*known);
        }
    }
    of_ids(kernels, &layer_of)
}

/// 0.1.35: large correlation groups with attention and matrix product, in order of their ids.
pub(crate) fn by_groups(kernels: &KernelRows, names: &Names) -> Layers {
    let attention = name_marks(names, |name| ["attention", "fmha"].iter().any(|word| name.contains(word)));
    let product =
        name_marks(names, |name| ["cijk_", "nvjet", "wvsplitk", "gemm"].iter().any(|word| name.contains(word)));
    let mut groups: BTreeMap<Id, (usize, bool, bool)> = BTreeMap::new();
    for kernel in kernels.iter().filter(|kernel| kernel.correlation.is_there()) {
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
    of_ids(kernels, &layer_of)
}

fn of_ids(kernels: &KernelRows, layer_of: &FxHashMap<Id, u32>) -> Layers {
    let of_kernels =
        kernels.iter().map(|kernel| layer_of.get(&kernel.correlation).copied().unwrap_or(OUTSIDE)).collect();
    Layers { of_kernels, count: layer_of.len() as u64 }
}
