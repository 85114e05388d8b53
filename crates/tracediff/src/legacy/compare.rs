//! Operations and layers under the rules of wafer-core.

use std::collections::{BTreeMap, BTreeSet};

use super::result::{LegacyComparison, LegacyLayer, LegacyMetadata, LegacyOperation, LegacySides};
use super::totals::{OperationTotals, Sum, Totals, totals};
use super::view::LegacyTrace;
use crate::compare::{CompareOptions, LEGACY_THRESHOLD_MS};
use crate::error::Error;
use crate::result::{KernelTotal, Status};
use crate::rules::Rules;
use crate::steps::Phase;
use crate::totals::phase_names;
use crate::trace::Trace;

/// Norm kernels that Inductor named after a graph piece with a matrix product.
const NORM_WITH_GEMM: &str = "RMSNorm+GEMM";
/// Plain RMS norm.
const NORM: &str = "RMSNorm";

/// Compares two traces that were loaded under a rule set of wafer-core.
///
/// # Errors
/// [`Error::NoPhase`] when neither has kernels of the wanted phase.
pub(crate) fn compare_legacy(
    legacy: [LegacyTrace<'_>; 2],
    options: &CompareOptions,
) -> Result<LegacyComparison, Error> {
    let traces = legacy.map(|legacy| legacy.trace);
    let [first, second] = traces;
    if let Err(error) = first.require_phase(options.phase)
        && second.require_phase(options.phase).is_err()
    {
        return Err(error);
    }
    let totals = legacy.map(|legacy| totals(legacy, options.phase, options.max_stacks));
    let mut operations = operations(legacy, &totals, options);
    operations.sort_by(|a, b| b.gap_ms.abs().total_cmp(&a.gap_ms.abs()));
    let layers = layers(&totals);
    Ok(LegacyComparison { metadata: metadata(traces, &totals, options), operations, layers })
}

fn metadata(traces: [&Trace; 2], totals: &[Totals<'_>; 2], options: &CompareOptions) -> LegacyMetadata {
    let name = |side: usize| match &options.labels[side] {
        Some(label) => label.clone(),
        None => traces[side].path.to_string_lossy().into_owned(),
    };
    let side = |side: usize| (traces[side], totals[side].sum.count, totals[side].sum.ms(), traces[side].layers);
    LegacyMetadata {
        trace1_name: name(0),
        trace2_name: name(1),
        sides: LegacySides::new([side(0), side(1)], options.phase),
    }
}

/// Rows in name order. The guard against comparing a norm twice comes too late, as in the original: `RMSNorm` stands
/// before `RMSNorm+GEMM`.
fn operations(
    legacy: [LegacyTrace<'_>; 2],
    totals: &[Totals<'_>; 2],
    options: &CompareOptions,
) -> Vec<LegacyOperation> {
    let traces = legacy.map(|legacy| legacy.trace);
    let labels = legacy.map(labels);
    let names: BTreeSet<&str> = totals.iter().flat_map(|totals| totals.operations.keys().copied()).collect();
    let mut norm_compared = false;
    let mut rows = Vec::new();
    for name in names {
        let mut used = [name, name];
        if name == NORM_WITH_GEMM && !totals[1].operations.contains_key(name) {
            used[1] = NORM;
            norm_compared = true;
        } else if name == NORM && !totals[0].operations.contains_key(name) {
            if norm_compared {
                continue;
            }
            used[0] = NORM_WITH_GEMM;
            norm_compared = true;
        }
        let [Some(first), Some(second)] = [0, 1].map(|side| totals[side].operations.get(used[side])) else { continue };
        let label = |side: usize| labels[side].get(used[side]).copied().unwrap_or("unknown").to_owned();
        rows.push(operation(name, [first, second], [label(0), label(1)], traces, options));
    }
    rows
}

fn operation(
    name: &str,
    sides: [&OperationTotals; 2],
    [trace1_kernel, trace2_kernel]: [String; 2],
    traces: [&Trace; 2],
    options: &CompareOptions,
) -> LegacyOperation {
    let [sum1, sum2] = sides.map(|side| side.sum);
    let gap_ms = sum1.ms() - sum2.ms();
    let threshold_ms = options.threshold_ms.unwrap_or(LEGACY_THRESHOLD_MS);
    let status = if gap_ms > threshold_ms {
        Status::Slower
    } else if gap_ms < -threshold_ms {
        Status::Faster
    } else {
        Status::Similar
    };
    let kernels = |side: usize| options.kernels.then(|| kernels(sides[side], traces[side]));
    let operator = |side: usize| {
        let most = sides[side].operators.iter().max_by(|(a, first), (b, second)| {
            first.cmp(second).then_with(|| traces[side].name(**b).cmp(traces[side].name(**a)))
        });
        most.map(|(operator, _)| traces[side].name(*operator).to_owned())
    };
    LegacyOperation {
        operation: name.to_owned(),
        trace1_count: sum1.count,
        trace2_count: sum2.count,
        trace1_avg_us: sum1.average(),
        trace2_avg_us: sum2.average(),
        trace1_total_ms: sum1.ms(),
        trace2_total_ms: sum2.ms(),
        ratio: ratio(sum1, sum2, traces[0].rules),
        gap_ms,
        status,
        trace1_kernel,
        trace2_kernel,
        trace1_cpu_op: operator(0),
        trace2_cpu_op: operator(1),
        trace1_python_stacks: sides[0].stacks.clone(),
        trace2_python_stacks: sides[1].stacks.clone(),
        trace1_kernels: kernels(0),
        trace2_kernels: kernels(1),
        phases: phase_names([0, 1, 2].map(|phase| sides[0].phases[phase] || sides[1].phases[phase])),
    }
}

/// Of the averages for 0.1.35, of the totals for 0.1.33.
fn ratio(first: Sum, second: Sum, rules: Rules) -> Option<f64> {
    match rules {
        Rules::Wafer0135 if second.average() > 0.0 => Some(first.average() / second.average()),
        Rules::Wafer0135 => Some(1.0),
        _ if second.ms() > 0.0 => Some(first.ms() / second.ms()),
        _ if first.ms() > 0.0 => None,
        _ => Some(1.0),
    }
}

fn kernels(totals: &OperationTotals, trace: &Trace) -> Vec<KernelTotal> {
    let mut kernels: Vec<KernelTotal> = totals
        .kernels
        .iter()
        .map(|(name, sum)| KernelTotal {
            name: trace.name(*name).to_owned(),
            total_us: sum.us,
            count: sum.count,
            avg_us: sum.average(),
        })
        .collect();
    kernels.sort_by(|a, b| b.total_us.total_cmp(&a.total_us).then_with(|| a.name.cmp(&b.name)));
    kernels
}

/// Per operation, the smallest label of its decode kernels, else of its prefill kernels, of the whole trace.
fn labels(LegacyTrace { trace, columns }: LegacyTrace<'_>) -> BTreeMap<&str, &str> {
    let mut labels: BTreeMap<&str, [Option<&str>; 2]> = BTreeMap::new();
    let mut seen = vec![[false; 2]; trace.groups.len()];
    for context in &trace.contexts {
        let prefill = usize::from(context.phase == Some(Phase::Prefill));
        if std::mem::replace(&mut seen[context.group as usize][prefill], true) {
            continue;
        }
        let group = trace.groups[context.group as usize];
        let label = columns.labels[group.label as usize].as_str();
        let smallest = &mut labels.entry(&trace.operations[group.operation as usize]).or_default()[prefill];
        *smallest = Some(smallest.map_or(label, |known| known.min(label)));
    }
    labels.into_iter().filter_map(|(operation, [decode, prefill])| Some((operation, decode.or(prefill)?))).collect()
}

fn layers(totals: &[Totals<'_>; 2]) -> Vec<LegacyLayer> {
    let numbers: BTreeSet<u32> = totals.iter().flat_map(|totals| totals.layers.keys().copied()).collect();
    let mut rows: Vec<LegacyLayer> =
        numbers.into_iter().map(|number| layer(number, [0, 1].map(|side| totals[side].layers.get(&number)))).collect();
    // One-sided layers first: the original reverses both keys.
    rows.sort_by(|a, b| a.in_both.cmp(&b.in_both).then(b.gap_ms.abs().total_cmp(&a.gap_ms.abs())));
    rows
}

fn layer(number: u32, sides: [Option<&Sum>; 2]) -> LegacyLayer {
    let [first, second] = sides.map(|side| side.copied().unwrap_or_default());
    let gap = match sides {
        // Minus 0 for a layer of no length, as in the original.
        [None, Some(second)] => -second.ms(),
        _ => first.ms() - second.ms(),
    };
    let (status, ratio) = match sides {
        [Some(_), Some(_)] => {
            let ratio = if second.ms() > 0.0 { first.ms() / second.ms() } else { 1.0 };
            let status = if gap > 0.1 && ratio > 1.2 {
                Status::Slower
            } else if gap < -0.1 && ratio < 1.0 / 1.2 {
                Status::Faster
            } else {
                Status::Similar
            };
            (status, ratio)
        }
        [Some(_), None] => (Status::Trace1Only, 0.0),
        _ => (Status::Trace2Only, 0.0),
    };
    LegacyLayer {
        layer: number,
        trace1_kernels: first.count,
        trace2_kernels: second.count,
        trace1_total_ms: first.ms(),
        trace2_total_ms: second.ms(),
        ratio,
        gap_ms: gap,
        status,
        in_both: sides.iter().all(Option::is_some),
    }
}
