//! The whole analysis of two traces, in one call.

mod overview;

use std::time::Instant;

use perfdb_files::escape::shown;
use perfdb_model::roofline::Devices;
use serde::Serialize;

use crate::align::{LayerAlignment, align};
use crate::architecture::{Architecture, by_names};
use crate::compare::{CompareOptions, Scale, from_pairing};
use crate::confidence::{Confidence, confidence, same_work};
use crate::elapsed::{self, Counted, ElapsedReport, TraceElapsed};
use crate::error::Error;
use crate::explain::{Explanation, explain};
use crate::fusion::{FusionAnalysis, fusion_of};
use crate::groups::{GroupRow, Groups, Strip};
use crate::launch_counts::{LaunchCounts, launch_counts};
use crate::legacy::aligned::align_legacy;
use crate::legacy::aligned_result::{LegacyAlignment, LegacyFull};
use crate::legacy::compare::compare_legacy;
use crate::legacy::full::full_legacy;
use crate::legacy::result::LegacyComparison;
use crate::legacy::view::LegacyTrace;
use crate::pairing::Pairing;
use crate::remedy::Caution;
use crate::result::{Comparison, Metadata};
use crate::rooflines::{Rooflines, rooflines};
use crate::rules::Rules;
use crate::run_variation::RunVariation;
use crate::same_kernels::{SameKernelAnalysis, same_kernels};
use crate::trace::Trace;
use crate::trust::{self, Trust};
use crate::warnings::{coverage_finding, findings};
use crate::workload;

pub use overview::Overview;

/// Part of the time of passes that layers make at least, where time per layer says something about the pass.
const MOST_OF_A_PASS: f64 = 0.5;

/// Which document is made of two traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum View {
    /// Operations and layers.
    #[default]
    Plain,
    /// Kernel by kernel within layers.
    Aligned,
    /// Everything.
    Full,
    /// Differences of launch counts.
    LaunchCounts,
}

/// How two loaded traces are compared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnalysisOptions {
    /// Which document is made.
    pub view: View,
    /// What is compared.
    pub compare: CompareOptions,
    /// Whether the difference is explained.
    pub explain: bool,
    /// Whether differences have verdicts with their confidence.
    pub confidence: bool,
    /// What runs of the same thing vary by, where too few passes show it.
    pub run_variation: RunVariation,
    /// Smallest correlation group for [`View::LaunchCounts`].
    pub min_group_size: usize,
    /// Devices of the user, before those that are known.
    pub devices: Devices,
}

/// What was found; serialises to the JSON output.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Document {
    /// Operations and layers.
    Plain(Box<PlainDocument>),
    /// Kernel by kernel.
    Aligned(Box<AlignedDocument>),
    /// Everything.
    Full(Box<FullDocument>),
    /// Launch counts.
    LaunchCounts(Box<LaunchCounts>),
    /// Operations and layers under the rules of wafer-core.
    Legacy(Box<LegacyComparison>),
    /// Kernel by kernel under the rules of wafer-core.
    LegacyAligned(Box<LegacyAlignment>),
    /// Everything under the rules of wafer-core.
    LegacyFull(Box<LegacyFull>),
}

/// Version of the documents of the default rules.
pub const FORMAT_VERSION: u32 = 3;

/// Operations and layers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlainDocument {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// How far the traces can be trusted.
    pub trust: Option<Trust>,
    /// The comparison.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Why the times differ.
    #[serde(flatten)]
    pub details: Details,
}

/// Kernel by kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlignedDocument {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// How far the traces can be trusted.
    pub trust: Option<Trust>,
    /// What the traces are.
    pub metadata: Metadata,
    /// Kernels of one trace beside those of the other.
    #[serde(flatten)]
    pub alignment: Alignment,
    /// Why the times differ.
    #[serde(flatten)]
    pub details: Details,
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FullDocument {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// How far the traces can be trusted.
    pub trust: Option<Trust>,
    /// The comparison.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Architecture of the model.
    pub architecture: Architecture,
    /// Kernels of one trace beside those of the other.
    #[serde(flatten)]
    pub alignment: Alignment,
    /// Why the times differ.
    #[serde(flatten)]
    pub details: Details,
}

/// Kernels of one trace beside those of the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alignment {
    /// Layers, kernel by kernel.
    pub layer_alignments: Vec<LayerAlignment>,
    /// Fused operations.
    pub fusion_analysis: FusionAnalysis,
    /// Kernels of both traces.
    pub same_kernel_analysis: SameKernelAnalysis,
}

/// Why the times of two traces differ: part of every document under the default rules.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Details {
    /// What changed, adding up to the difference, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// The confidence of differences, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Elapsed times.
    #[serde(flatten)]
    pub elapsed: Option<ElapsedReport>,
    /// Kernels of both traces that do the same work, by the size of their difference.
    pub groups: Vec<GroupRow>,
    /// One typical layer of each side.
    pub strips: Vec<Strip>,
    /// What operators must do, and whether hardware or kernels make the difference.
    pub roofline: Option<Rooflines>,
}

/// The keys at the top of the JSON documents that a rule set can give.
pub fn sections(rules: Rules) -> &'static [&'static str] {
    match rules {
        Rules::Perfdb => &[
            "format_version",
            "trust",
            "metadata",
            "operations",
            "layers",
            "unmatched_operations",
            "warnings",
            "unknown_kernels",
            "architecture",
            "layer_alignments",
            "fusion_analysis",
            "same_kernel_analysis",
            "explanation",
            "confidence",
            "elapsed",
            "waterfall",
            "different_workloads",
            "verdict",
            "threshold_ms",
            "noise_ms",
            "next_steps",
            "groups",
            "strips",
            "roofline",
            "global_counts",
            "fusion_opportunities",
            "fusion_mappings",
        ],
        Rules::Wafer0135 => {
            &["metadata", "operations", "layers", "global_counts", "fusion_opportunities", "fusion_mappings"]
        }
        Rules::Wafer0133 => &[
            "metadata",
            "operations",
            "layers",
            "warnings",
            "architecture",
            "layer_alignments",
            "fusion_analysis",
            "same_kernel_analysis",
            "global_counts",
            "fusion_opportunities",
            "fusion_mappings",
        ],
    }
}

/// A document, the totals of both traces, and what else was noticed.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// What was asked for.
    pub document: Document,
    /// Kernel time of the traces, ms.
    pub total_ms: [f64; 2],
    /// Findings that are not part of the document, by trace.
    pub findings: [Vec<Caution>; 2],
}

/// Compares two traces as the options ask. Both must have been loaded under the same rules.
///
/// # Errors
/// [`Error::NoPhase`] when a trace has no kernel of the wanted phase.
pub fn analyse(first: &Trace, second: &Trace, options: &AnalysisOptions) -> Result<Analysis, Error> {
    let phase = options.compare.phase;
    if let Some(traces) = LegacyTrace::pair(first, second)
        && options.view != View::LaunchCounts
    {
        return analyse_legacy(traces, options);
    }
    first.require_phase(phase)?;
    second.require_phase(phase)?;
    if options.view == View::LaunchCounts {
        let counts = launch_counts(first, second, phase, options.min_group_size);
        let document = Document::LaunchCounts(Box::new(counts));
        let total_ms = [first, second].map(|trace| trace.total_ms(phase));
        return Ok(Analysis { document, total_ms, findings: [findings(first), findings(second)] });
    }
    let started = Instant::now();
    let (trust, comparison, details) = compared([first, second], options);
    let metadata = &comparison.metadata;
    let total_ms = [metadata.trace1_total_ms, metadata.trace2_total_ms];
    let compared_ms = [metadata.trace1_compared_ms, metadata.trace2_compared_ms];
    let format_version = FORMAT_VERSION;
    let alignment = || Alignment {
        layer_alignments: align(first, second, phase),
        fusion_analysis: fusion_of(first, second, phase),
        same_kernel_analysis: same_kernels(first, second, phase),
    };
    let document = match options.view {
        View::Plain | View::LaunchCounts => {
            Document::Plain(Box::new(PlainDocument { format_version, trust, comparison, details }))
        }
        View::Aligned => Document::Aligned(Box::new(AlignedDocument {
            format_version,
            trust,
            metadata: comparison.metadata,
            alignment: alignment(),
            details,
        })),
        View::Full => Document::Full(Box::new(FullDocument {
            format_version,
            trust,
            comparison,
            architecture: by_names(first.kernel_names().chain(second.kernel_names())),
            alignment: alignment(),
            details,
        })),
    };
    tracing::info!(
        "{} and {} compared in {:.3} s",
        shown(&first.path),
        shown(&second.path),
        started.elapsed().as_secs_f64()
    );
    Ok(with_findings(document, total_ms, compared_ms, [first, second]))
}

/// Operations and layers, how far the traces can be trusted, and why their times differ.
fn compared(traces: [&Trace; 2], options: &AnalysisOptions) -> (Option<Trust>, Comparison, Details) {
    let ([first, second], phase) = (traces, options.compare.phase);
    let started = Instant::now();
    let pairing = Pairing::new(traces, phase, options.compare.max_stacks);
    let mut elapsed = elapsed::elapsed(first, second, phase, options.run_variation);
    let scale = Scale::of(first, second, &options.compare, elapsed.as_ref());
    let mut comparison = from_pairing(&pairing, &options.compare, &scale);
    let left_out = elapsed
        .as_ref()
        .map_or([0; 2], |report| [report.elapsed.trace1.left_out_passes, report.elapsed.trace2.left_out_passes]);
    let counted = Counted::of(traces, phase);
    let found = Groups::new(traces);
    let groups = found.as_ref().map(|groups| groups.rows(traces, &counted, scale.divisors)).unwrap_or_default();
    tracing::debug!(
        "{} pairs of operations, {} groups of kernels found in {:.3} s",
        pairing.pairs.len(),
        groups.len(),
        started.elapsed().as_secs_f64()
    );
    let explanation = options.explain.then(|| explain(&pairing, &groups, elapsed.as_ref()));
    let work = found.as_ref().map(|groups| same_work(groups, traces, &counted)).unwrap_or_default();
    let confidence = options.confidence.then(|| confidence(&pairing, &work, options.run_variation)).flatten();
    if let Some(confidence) = &confidence {
        comparison.agree_with(confidence);
    }
    let strips = found.map(|groups| groups.strips).unwrap_or_default();
    if let Some(report) = &mut elapsed
        && !layers_meet(&strips, report)
    {
        report.elapsed.ratio_per_layer = None;
    }
    let roofline = rooflines(traces, &counted, scale.divisors, &options.devices);
    let work_ratio = roofline.as_ref().filter(|found| !found.verdict.is_empty()).and_then(|found| found.work_ratio);
    if let Some(report) = &mut elapsed
        && let Some(why) = workload::difference(traces, &counted, phase, work_ratio)
    {
        report.differ_in_workload(why);
    }
    let trust = trust::trust(traces, left_out);
    (trust, comparison, Details { explanation, confidence, elapsed, groups, strips, roofline })
}

/// Whether time per layer compares anything: each kind of layer of one trace stands for one of the other, and they are most of a pass.
fn layers_meet(strips: &[Strip], report: &ElapsedReport) -> bool {
    let meet = !strips.is_empty() && strips.iter().all(|strip| strip.trace1_layers > 0 && strip.trace2_layers > 0);
    let covers = |layers_us: f64, trace: &TraceElapsed| {
        layers_us / 1000.0 > MOST_OF_A_PASS * trace.elapsed_ms * trace.devices.len().max(1) as f64
    };
    let layers_us = |time: fn(&Strip) -> f64| strips.iter().map(time).sum::<f64>();
    let first = layers_us(|strip| strip.trace1_layers as f64 * strip.rows.iter().map(|row| row.trace1_us).sum::<f64>());
    let second =
        layers_us(|strip| strip.trace2_layers as f64 * strip.rows.iter().map(|row| row.trace2_us).sum::<f64>());
    meet && covers(first, &report.elapsed.trace1) && covers(second, &report.elapsed.trace2)
}

fn analyse_legacy(legacy: [LegacyTrace<'_>; 2], options: &AnalysisOptions) -> Result<Analysis, Error> {
    let traces = legacy.map(|legacy| legacy.trace);
    let comparison = compare_legacy(legacy, &options.compare);
    if options.view == View::Aligned {
        // The alignment takes a trace without the phase whole, so it has a result where the comparison has none.
        let aligned = align_legacy(legacy, options.compare.phase);
        let whole = [aligned.metadata.sides.trace1_total_ms, aligned.metadata.sides.trace2_total_ms];
        let (total_ms, compared_ms) =
            comparison.map_or((whole, whole), |comparison| (total_ms(&comparison), compared_ms(&comparison)));
        let document = Document::LegacyAligned(Box::new(aligned));
        return Ok(with_findings(document, total_ms, compared_ms, traces));
    }
    let comparison = comparison?;
    let (total_ms, compared_ms) = (total_ms(&comparison), compared_ms(&comparison));
    let document = match options.view {
        View::Full => Document::LegacyFull(Box::new(full_legacy(legacy, &options.compare)?)),
        View::Plain | View::Aligned | View::LaunchCounts => Document::Legacy(Box::new(comparison)),
    };
    Ok(with_findings(document, total_ms, compared_ms, traces))
}

fn total_ms(comparison: &LegacyComparison) -> [f64; 2] {
    [comparison.metadata.sides.trace1_total_ms, comparison.metadata.sides.trace2_total_ms]
}

/// Kernel time in compared rows, ms. A norm that is compared twice counts once.
fn compared_ms(comparison: &LegacyComparison) -> [f64; 2] {
    [0, 1].map(|side| {
        let rows = comparison.operations.iter();
        let time = rows.map(|row| [row.trace1_total_ms, row.trace2_total_ms][side]).sum::<f64>();
        time.min(total_ms(comparison)[side])
    })
}

fn with_findings(document: Document, total_ms: [f64; 2], compared_ms: [f64; 2], traces: [&Trace; 2]) -> Analysis {
    let of = |side: usize| {
        let mut found = findings(traces[side]);
        found.extend(coverage_finding(compared_ms[side], total_ms[side]));
        found
    };
    Analysis { document, total_ms, findings: [of(0), of(1)] }
}
