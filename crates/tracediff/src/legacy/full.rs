//! Everything about two traces under the rules of 0.1.33.

use super::aligned::align_legacy;
use super::aligned_result::{LegacyFull, LegacyWarning};
use super::compare::compare_legacy;
use super::view::LegacyTrace;
use crate::architecture::by_names;
use crate::compare::CompareOptions;
use crate::device::Platform;
use crate::error::Error;
use crate::name_marks::name_marks;
use crate::trace::Trace;

/// Stacks per operation, with any limit that was asked for.
const STACKS: usize = 3;

/// The whole result of 0.1.33. If only the second trace is AMD, the traces are exchanged.
///
/// # Errors
/// As [`compare_legacy`].
pub(crate) fn full_legacy(traces: [LegacyTrace<'_>; 2], options: &CompareOptions) -> Result<LegacyFull, Error> {
    let amd = traces.map(|legacy| legacy.trace.platform == Platform::Amd);
    let traces = if amd == [false, true] { [traces[1], traces[0]] } else { traces };
    let [first, second] = traces.map(|legacy| legacy.trace);
    let name = |trace: &Trace| Some(format!("{} {}", trace.platform.name(), trace.device.name));
    let options = CompareOptions { max_stacks: STACKS, labels: [name(first), name(second)], ..options.clone() };
    let comparison = compare_legacy(traces, &options)?;
    let alignment = align_legacy(traces, options.phase);
    let mut warnings: Vec<LegacyWarning> = Vec::new();
    for warning in [first, second].into_iter().flat_map(warnings_of) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    Ok(LegacyFull {
        metadata: comparison.metadata,
        operations: comparison.operations,
        layers: comparison.layers,
        fusion_opportunities: alignment.fusion_analysis.fusion_opportunities.clone(),
        fusion_mappings: alignment.fusion_analysis.fusion_mappings.clone(),
        warnings,
        architecture: by_names(first.kernel_names().chain(second.kernel_names())).name(),
        layer_alignments: alignment.layer_alignments,
        fusion_analysis: alignment.fusion_analysis,
        same_kernel_analysis: alignment.same_kernel_analysis,
    })
}

fn warnings_of(trace: &Trace) -> Vec<LegacyWarning> {
    let unknown = name_marks(&trace.names, |name| name.contains("unknown"));
    let unknown = trace
        .kernels
        .iter()
        .filter(|kernel| unknown[kernel.name as usize] || trace.name(kernel.name) == "Other")
        .count();
    [
        ("NO_PHASE_ANNOTATIONS", "warning", !trace.has_steps),
        ("NO_PYTHON_STACKS", "info", !trace.has_frames),
        ("HIGH_UNKNOWN_KERNELS", "warning", 5 * unknown > trace.kernels.len()),
        ("LAYER_DETECTION_FAILED", "warning", trace.layers == 0 && trace.kernels.len() > 100),
    ]
    .into_iter()
    .filter(|(_, _, holds)| *holds)
    .map(|(code, severity, _)| LegacyWarning { code, severity })
    .collect()
}
