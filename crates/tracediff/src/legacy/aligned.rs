//! The alignment of 0.1.33: by operation and absolute position within layers.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::aligned_result::{
    AlignedLayer, AlignedMetadata, AlignedPair, LegacyAlignment, LegacyFusion, LegacyFusionMapping,
    LegacyFusionOpportunity, LegacyFusionSummary, LegacySameKernel, LegacySameKernelSummary, LegacySameKernels,
    PhaseBreakdown,
};
use super::passes::{Passes, passes};
use super::result::LegacySides;
use super::view::LegacyTrace;
use crate::classify::classify;
use crate::device::Platform;
use crate::names::NameId;
use crate::rules::Rules;
use crate::steps::{Phase, PhaseFilter};
use crate::trace::Trace;

const UNKNOWN: &str = "Fused (Unknown)";

/// Operations that are not a fusion even when one side lacks them.
const PLAIN: [&str; 6] =
    ["Attention (Prefill)", "Attention (Decode)", "Dense GEMM", "KV Cache", "MoE GEMM", "MoE Routing"];

/// Aligns two traces that were loaded under the rules of 0.1.33.
pub(crate) fn align_legacy(legacy: [LegacyTrace<'_>; 2], phase: PhaseFilter) -> LegacyAlignment {
    let traces = legacy.map(|legacy| legacy.trace);
    let passes = legacy.map(|legacy| passes(legacy, phase));
    let nothing = passes.iter().any(|passes| passes.passes.is_empty());
    let layer_count =
        if nothing { 0 } else { passes.iter().flat_map(|passes| &passes.passes).map(Vec::len).max().unwrap_or(0) };
    let layer_alignments: Vec<AlignedLayer> =
        (0..layer_count).map(|layer| aligned_layer(layer, legacy, &passes)).collect();
    LegacyAlignment {
        metadata: metadata(legacy, &passes, layer_count, phase),
        fusion_analysis: fusion(traces, &passes),
        same_kernel_analysis: same_kernels(&layer_alignments),
        layer_alignments,
    }
}

fn metadata(legacy: [LegacyTrace<'_>; 2], passes: &[Passes; 2], layers: usize, phase: PhaseFilter) -> AlignedMetadata {
    let [first, second] = legacy.map(|legacy| legacy.trace);
    let (amd, nvidia) = if first.platform == Platform::Amd { (first, second) } else { (second, first) };
    let windows = |phase| passes[0].windows.iter().filter(|window| window.phase == phase).count();
    let side = |side: usize| {
        let kernels = &passes[side].kernels;
        let total_us: f64 = kernels.iter().map(|at| legacy[side].columns.times[*at].duration).sum();
        (legacy[side].trace, kernels.len() as u64, total_us / 1000.0, layers as u64)
    };
    AlignedMetadata {
        amd_gpu: amd.device.name.clone(),
        nvidia_gpu: nvidia.device.name.clone(),
        amd_platform: amd.platform,
        nvidia_platform: nvidia.platform,
        model_layers: layers,
        forward_passes: if layers == 0 { 0 } else { passes[0].passes.len() },
        phase_breakdown: if layers == 0 {
            PhaseBreakdown::default()
        } else {
            PhaseBreakdown { prefill: windows(Phase::Prefill), decode: windows(Phase::Decode) }
        },
        phase_filter: phase.name(),
        sides: LegacySides::new([0, 1].map(side), phase),
    }
}

/// Kernels of one operation and position.
#[derive(Debug, Default)]
struct Entry {
    count: u64,
    us: f64,
    names: Vec<(NameId, u64)>,
}

impl Entry {
    fn average(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.us / self.count as f64 }
    }

    /// The most frequent name, the first seen on ties.
    fn name(&self) -> Option<NameId> {
        let most = self.names.iter().map(|(_, count)| *count).max()?;
        self.names.iter().find(|(_, count)| *count == most).map(|(name, _)| *name)
    }
}

fn aligned_layer(layer: usize, legacy: [LegacyTrace<'_>; 2], passes: &[Passes; 2]) -> AlignedLayer {
    let mut entries: BTreeMap<(&str, usize), [Entry; 2]> = BTreeMap::new();
    let mut totals = [0.0; 2];
    for side in 0..2 {
        let LegacyTrace { trace, columns } = legacy[side];
        for kernels in passes[side].passes.iter().filter_map(|layers| layers.get(layer)) {
            for (position, kernel) in kernels.iter().enumerate() {
                let us = columns.times[*kernel].duration;
                totals[side] += us;
                let entry = &mut entries.entry((operation(legacy[side], *kernel), position)).or_default()[side];
                entry.count += 1;
                entry.us += us;
                let name = trace.kernels.at(*kernel).name;
                match entry.names.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, count)) => *count += 1,
                    None => entry.names.push((name, 1)),
                }
            }
        }
    }
    AlignedLayer {
        layer,
        amd_total_us: totals[0],
        nvidia_total_us: totals[1],
        ratio: (totals[1] > 0.0).then(|| totals[0] / totals[1]),
        gap_us: totals[0] - totals[1],
        kernel_pairs: entries
            .into_iter()
            .map(|((name, at), sides)| pair(name, at, &sides, legacy.map(|legacy| legacy.trace)))
            .collect(),
    }
}

/// Operation of a kernel, or what its name mentions.
fn operation(LegacyTrace { trace, columns }: LegacyTrace<'_>, kernel: usize) -> &str {
    let group = trace.groups[trace.contexts[kernel].group as usize];
    match trace.operations[group.operation as usize].as_str() {
        UNKNOWN => &columns.labels[group.label as usize],
        operation => operation,
    }
}

fn pair(operation: &str, position: usize, sides: &[Entry; 2], traces: [&Trace; 2]) -> AlignedPair {
    let [amd, nvidia] = sides;
    let amd_kernel = amd.name().map(|name| traces[0].name(name));
    let nvidia_kernel = nvidia.name().map(|name| traces[1].name(name));
    let names = [amd_kernel, nvidia_kernel].map(|name| name.unwrap_or("").to_lowercase());
    let detail = || {
        [("qkv", "QKV"), ("out", "O"), ("up", "FFN_up"), ("down", "FFN_down")]
            .into_iter()
            .find(|(word, _)| names.iter().any(|name| name.contains(word)))
            .map(|(_, detail)| detail)
    };
    AlignedPair {
        position,
        operation: operation.to_owned(),
        operation_detail: if operation == "Dense GEMM" { detail() } else { None },
        amd_kernel: amd_kernel.unwrap_or("").to_owned(),
        amd_avg_us: amd.average(),
        amd_count: amd.count,
        amd_total_us: amd.us,
        nvidia_kernel: nvidia_kernel.map(str::to_owned),
        nvidia_avg_us: nvidia.average(),
        nvidia_count: nvidia.count,
        nvidia_total_us: nvidia.us,
        ratio: (nvidia.average() > 0.0).then(|| amd.average() / nvidia.average()),
        gap_us: amd.average() - nvidia.average(),
        fusion_note: fusion_note(operation, amd.count, nvidia.count),
        is_same_kernel: amd_kernel.is_some() && amd_kernel == nvidia_kernel,
    }
}

fn fusion_note(operation: &str, amd: u64, nvidia: u64) -> Option<&'static str> {
    let fused = operation.contains('+');
    match (amd, nvidia) {
        (_, 0) if fused => Some("amd_fuses"),
        (0, _) if fused => Some("nvidia_fuses"),
        (_, 0) | (0, _) if PLAIN.contains(&operation) => None,
        (_, 0) => Some("amd_only"),
        (0, _) => Some("nvidia_only"),
        _ if 2 * amd > 3 * nvidia => Some("amd_more_calls"),
        _ if 2 * nvidia > 3 * amd => Some("nvidia_more_calls"),
        _ => None,
    }
}

/// Operations that one side alone has, classified as if the sides were of the two vendors.
fn fusion(traces: [&Trace; 2], passes: &[Passes; 2]) -> LegacyFusion {
    let order = if traces[0].platform == Platform::Amd { [0, 1] } else { [1, 0] };
    let vendors = [("AMD", Platform::Amd), ("NVIDIA", Platform::Nvidia)];
    let found = [0, 1].map(|at| fused_operations(traces[order[at]], &passes[order[at]].kernels, vendors[at].1));
    let mut analysis = LegacyFusion {
        fusion_opportunities: Vec::new(),
        fusion_mappings: Vec::new(),
        summary: LegacyFusionSummary { amd_fuses: 0, nvidia_fuses: 0, total_fusion_opportunities: 0 },
    };
    for side in 0..2 {
        for (operation, kernel, count) in &found[side] {
            if found[1 - side].iter().any(|(other, _, _)| other == operation) {
                continue;
            }
            let pieces: Vec<String> = operation.split('+').map(|piece| piece.trim().to_owned()).collect();
            analysis.fusion_opportunities.push(LegacyFusionOpportunity {
                kernel_type: operation.clone(),
                layer: 0,
                fused_by: vendors[side].0,
                fused_kernel: kernel.clone(),
                unfused_kernels: pieces.clone(),
                count: *count,
            });
            analysis.fusion_mappings.push(LegacyFusionMapping {
                fused_platform: vendors[side].0,
                fused_kernel_type: operation.clone(),
                fused_kernel_name: kernel.clone(),
                unfused_platform: vendors[1 - side].0,
                unfused_sequence: pieces,
                pattern_count: *count,
                layer: 0,
            });
        }
    }
    let fuses = |vendor| analysis.fusion_opportunities.iter().filter(|found| found.fused_by == vendor).count();
    analysis.summary = LegacyFusionSummary {
        amd_fuses: fuses("AMD"),
        nvidia_fuses: fuses("NVIDIA"),
        total_fusion_opportunities: analysis.fusion_opportunities.len(),
    };
    analysis
}

/// Operation, first kernel and number of kernels, in order of appearance.
fn fused_operations(trace: &Trace, kernels: &[usize], platform: Platform) -> Vec<(String, String, u64)> {
    let mut by_name: FxHashMap<NameId, Option<usize>> = FxHashMap::default();
    let mut found: Vec<(String, String, u64)> = Vec::new();
    for kernel in kernels {
        let name = trace.kernels.at(*kernel).name;
        let at = *by_name.entry(name).or_insert_with(|| {
            let text = trace.name(name);
            let operation = classify(text, platform, None, Rules::Wafer0133).name;
            if !operation.contains('+') && operation != UNKNOWN {
                return None;
            }
            let known = found.iter().position(|(known, _, _)| *known == operation);
            Some(known.unwrap_or_else(|| {
                found.push((operation.into_owned(), text.to_owned(), 0));
                found.len() - 1
            }))
        });
        if let Some(at) = at {
            found[at].2 += 1;
        }
    }
    found
}

fn same_kernels(layers: &[AlignedLayer]) -> LegacySameKernels {
    let kernels: Vec<LegacySameKernel> = layers
        .iter()
        .flat_map(|layer| layer.kernel_pairs.iter().map(move |pair| (layer.layer, pair)))
        .filter(|(_, pair)| pair.is_same_kernel)
        .map(|(layer, pair)| LegacySameKernel {
            layer,
            kernel_name: pair.amd_kernel.clone(),
            operation: pair.operation.clone(),
            amd_avg_us: pair.amd_avg_us,
            nvidia_avg_us: pair.nvidia_avg_us,
            ratio: pair.ratio,
            gap_us: pair.gap_us,
            amd_count: pair.amd_count,
            nvidia_count: pair.nvidia_count,
        })
        .collect();
    let finite: Vec<f64> = kernels.iter().filter_map(|kernel| kernel.ratio).collect();
    let ratio = |kernel: &LegacySameKernel| kernel.ratio.unwrap_or(f64::INFINITY);
    let summary = LegacySameKernelSummary {
        total_same_kernels: kernels.len(),
        avg_ratio: if finite.is_empty() { 1.0 } else { finite.iter().sum::<f64>() / finite.len() as f64 },
        kernels_where_amd_faster: kernels.iter().filter(|kernel| ratio(kernel) < 1.0).count(),
        kernels_where_nvidia_faster: kernels.iter().filter(|kernel| ratio(kernel) > 1.0).count(),
    };
    LegacySameKernels { kernels, summary }
}
