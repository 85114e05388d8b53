//! Hardware or kernel: why operators take longer on one side, by what they must do and what the devices could do.
//!
//! For an operator that takes time T, R is the least time that the peaks of the device allow for its operations and bytes, and E = R/T
//! its efficiency. Then T2/T1 = R2/R1 · E1/E2 for each operator and, with sums of R and T, for all together: the first factor is what the
//! device and the amount of work make of it, the second one is the kernel's. In milliseconds the factors add up by Λ·ln, where
//! Λ = (T2 − T1)/ln(T2/T1) is the logarithmic mean of both times.

mod devices;
mod identity;
mod sums;

use std::cmp::Ordering;

use indexmap::IndexMap;
use perfdb_model::roofline::{Bound, Device, Devices};
use perfdb_model::workload::Unit;
use serde::Serialize;

use crate::elapsed::counted::Counted;
use crate::time::{Picoseconds, milliseconds};
use crate::trace::Trace;
use identity::{Ratios, Split};
use sums::{Key, Sums};

pub use devices::open_devices;
pub use sums::{OperatorCall, operator_calls};

/// Efficiency beyond which something is wrong: a peak, a shape, or data that never left the caches.
const TOO_EFFICIENT: f64 = 1.02;

/// What operators must do, what the devices could do, and which of the two makes the difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rooflines {
    /// The device whose peaks count for trace 1; nothing where it is not known.
    pub trace1_peaks: Option<Device>,
    /// The device whose peaks count for trace 2; nothing where it is not known.
    pub trace2_peaks: Option<Device>,
    /// Part of the kernel time of trace 1, collectives aside, in operators with shapes and peaks on both devices.
    pub coverage_trace1: f64,
    /// The same of trace 2.
    pub coverage_trace2: f64,
    /// T2/T1 of these operators; nothing where either has none.
    pub time_ratio: Option<f64>,
    /// R2/R1.
    pub roofline_ratio: Option<f64>,
    /// E1/E2: above 1, the kernels of trace 2 make less of their device.
    pub efficiency_ratio: Option<f64>,
    /// The part of `roofline_ratio` that more or less work makes.
    pub work_ratio: Option<f64>,
    /// The part of `roofline_ratio` that the devices make of the same work.
    pub hardware_ratio: Option<f64>,
    /// Kernel time, collectives aside, of trace 2 less that of trace 1, per pass: the sum of the five below.
    pub difference_ms: f64,
    /// Sum over operators of both traces.
    pub work_ms: f64,
    /// Sum over operators of both traces.
    pub hardware_ms: f64,
    /// Sum over operators of both traces.
    pub kernel_ms: f64,
    /// Operators with shapes that one trace alone has.
    pub one_sided_ms: f64,
    /// Kernels without shapes, or without peaks for their type.
    pub other_ms: f64,
    /// Part of the kernel time of trace 1 that graphs replayed, whose operators are known by a capture alone.
    pub trace1_replayed: f64,
    /// The same of trace 2.
    pub trace2_replayed: f64,
    /// Part of the replayed kernels of trace 1 that a capture gave their operator; nothing without a capture.
    pub trace1_captured: Option<f64>,
    /// The same of trace 2.
    pub trace2_captured: Option<f64>,
    /// Calls of attention of trace 1 of which everything is known but whether a window hides keys.
    pub trace1_unknown_windows: u64,
    /// The same of trace 2.
    pub trace2_unknown_windows: u64,
    /// All of it in one sentence; empty where shapes are known of less than half of the time of either trace.
    pub verdict: String,
    /// Which devices have no known peaks; empty where all have.
    pub unknown_peaks: String,
    /// Operators by the size of their difference, then by name.
    pub operations: Vec<RooflineRow>,
}

/// An operator with its shapes. What it must do is that of one call; times and calls are per pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RooflineRow {
    /// Name of the operator without namespace.
    pub operator: String,
    /// Shapes of its tensors.
    pub shapes: String,
    /// Types of its tensors.
    pub types: String,
    /// `matrix`, `vector` or `link`: what does it.
    pub unit: &'static str,
    /// Calls of trace 1 in all.
    pub trace1_calls: u64,
    /// Calls of trace 2 in all.
    pub trace2_calls: u64,
    /// Kernel time of trace 1 per pass.
    pub trace1_ms: f64,
    /// Kernel time of trace 2 per pass.
    pub trace2_ms: f64,
    /// Operations, in 10⁹.
    pub gflop: f64,
    /// Bytes, in 2²⁰.
    pub mib: f64,
    /// Operations per second in trace 1, in 10¹².
    pub trace1_tflop_s: Option<f64>,
    /// Operations per second in trace 2, in 10¹².
    pub trace2_tflop_s: Option<f64>,
    /// Bytes per second in trace 1, in 10¹².
    pub trace1_tb_s: Option<f64>,
    /// Bytes per second in trace 2, in 10¹².
    pub trace2_tb_s: Option<f64>,
    /// What limits it: `compute`, `memory` or `link`; both, trace 1 first, where the devices differ.
    pub bound: &'static str,
    /// R/T in trace 1: the part of the peak that limits it.
    pub trace1_efficiency: Option<f64>,
    /// R/T in trace 2.
    pub trace2_efficiency: Option<f64>,
    /// R2/R1.
    pub roofline_ratio: Option<f64>,
    /// E1/E2.
    pub efficiency_ratio: Option<f64>,
    /// What more or fewer calls make of the difference.
    pub work_ms: Option<f64>,
    /// What the devices make of it.
    pub hardware_ms: Option<f64>,
    /// What the kernels make of it.
    pub kernel_ms: Option<f64>,
}

/// One operator on both sides.
#[derive(Debug, Clone, Copy, Default)]
struct Sides {
    calls: [u64; 2],
    time: [Picoseconds; 2],
}

/// Compares what operators must do with what they take; nothing under rules that know no shapes. `divisors` give times per pass.
pub(crate) fn rooflines(
    traces: [&Trace; 2],
    counted: &[Counted; 2],
    divisors: [f64; 2],
    devices: &Devices,
) -> Option<Rooflines> {
    traces[0].timeline.as_ref()?;
    let sums = [0, 1].map(|side| Sums::of(traces[side], &counted[side]));
    let names = traces.map(Trace::gpu_inferred);
    let peaks = [0, 1].map(|side| devices.recognise(&names[side]));
    let mut both: IndexMap<&Key, Sides> = IndexMap::new();
    for (side, sums) in sums.iter().enumerate() {
        for (key, sum) in &sums.operators {
            let sides = both.entry(key).or_default();
            sides.calls[side] = sum.calls;
            sides.time[side] = sum.time;
        }
    }
    let per_pass = |side: usize, time: Picoseconds| milliseconds(time) / divisors[side];
    let mut ratios = Ratios::default();
    let mut parts = Split::default();
    let mut one_sided_ms = 0.0;
    let mut operations = Vec::with_capacity(both.len());
    for (key, sides) in &both {
        let limits = [0, 1].map(|side| limit_ms(peaks[side], key));
        let time = [0, 1].map(|side| per_pass(side, sides.time[side]));
        let calls = [0, 1].map(|side| sides.calls[side] as f64 / divisors[side]);
        let mut split = None;
        if let [Some((first, _)), Some((second, _))] = limits
            && key.unit() != Unit::Link
        {
            ratios.add(time, calls, [first, second]);
            if sides.calls.contains(&0) {
                one_sided_ms += time[1] - time[0];
            } else {
                split = Split::of(time, calls, [first, second]);
                parts.add(&split.unwrap_or(Split { kernel_ms: time[1] - time[0], ..Split::default() }));
            }
        }
        operations.push(row(key, sides, time, calls, limits, split));
    }
    operations.sort_by(by_size);
    let all = [0, 1].map(|side| per_pass(side, sums[side].computing));
    let difference_ms = all[1] - all[0];
    // Sums of parts in another order may be a last digit above the whole.
    let share = |part: f64, whole: f64| if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 };
    let coverage = [0, 1].map(|side| share(ratios.time[side], all[side]));
    let replayed = [0, 1].map(|side| share(sums[side].replayed as f64, sums[side].all as f64));
    let captured =
        traces.map(|trace| trace.joined.map(|joined| share(joined.joined_kernels as f64, joined.kernels as f64)));
    Some(Rooflines {
        trace1_peaks: peaks[0].cloned(),
        trace2_peaks: peaks[1].cloned(),
        coverage_trace1: coverage[0],
        coverage_trace2: coverage[1],
        time_ratio: ratios.time_ratio(),
        roofline_ratio: ratios.roofline_ratio(),
        efficiency_ratio: ratios.efficiency_ratio(),
        work_ratio: ratios.work_ratio(),
        hardware_ratio: ratios.hardware_ratio(),
        difference_ms,
        work_ms: parts.work_ms,
        hardware_ms: parts.hardware_ms,
        kernel_ms: parts.kernel_ms,
        one_sided_ms,
        other_ms: difference_ms - (ratios.time[1] - ratios.time[0]),
        trace1_replayed: replayed[0],
        trace2_replayed: replayed[1],
        trace1_captured: captured[0],
        trace2_captured: captured[1],
        trace1_unknown_windows: traces[0].calls.unknown_windows,
        trace2_unknown_windows: traces[1].calls.unknown_windows,
        verdict: verdict(&ratios, coverage),
        unknown_peaks: if both.is_empty() { String::new() } else { unknown_peaks(&names, peaks) },
        operations,
    })
}

/// The least time of a call in ms, and what limits it.
fn limit_ms(device: Option<&Device>, key: &Key) -> Option<(f64, Bound)> {
    let (time_us, bound) = device?.limit(key.work(), key.precision)?;
    (time_us > 0.0).then_some((time_us / 1e3, bound))
}

fn row(
    key: &Key,
    sides: &Sides,
    time: [f64; 2],
    calls: [f64; 2],
    limits: [Option<(f64, Bound)>; 2],
    split: Option<Split>,
) -> RooflineRow {
    let work = key.work();
    let is_link = key.unit() == Unit::Link;
    // 10⁹ of something per ms are 10¹² per second.
    let rate = |side: usize, each: f64| (time[side] > 0.0).then(|| each * calls[side] / (time[side] * 1e9));
    let efficiency = |side: usize| {
        let (limit, _) = limits[side].filter(|_| !is_link && time[side] > 0.0)?;
        Some(limit * calls[side] / time[side])
    };
    let roofline = |side: usize| limits[side].map(|(limit, _)| limit * calls[side]).filter(|limit| *limit > 0.0);
    let ratio = split.and_then(|_| Some(roofline(1)? / roofline(0)?));
    RooflineRow {
        operator: key.operator.clone(),
        shapes: key.shapes.clone(),
        types: key.types.clone(),
        unit: match key.unit() {
            Unit::Matrix => "matrix",
            Unit::Vector => "vector",
            Unit::Link => "link",
        },
        trace1_calls: sides.calls[0],
        trace2_calls: sides.calls[1],
        trace1_ms: time[0],
        trace2_ms: time[1],
        gflop: work.operations / 1e9,
        mib: work.bytes / 1_048_576.0,
        trace1_tflop_s: rate(0, work.operations),
        trace2_tflop_s: rate(1, work.operations),
        trace1_tb_s: rate(0, work.bytes),
        trace2_tb_s: rate(1, work.bytes),
        bound: if is_link { "link" } else { bound(limits.map(|limit| limit.map(|(_, bound)| bound))) },
        trace1_efficiency: efficiency(0),
        trace2_efficiency: efficiency(1),
        roofline_ratio: ratio,
        efficiency_ratio: ratio.map(|ratio| time[1] / time[0] / ratio),
        work_ms: split.map(|split| split.work_ms),
        hardware_ms: split.map(|split| split.hardware_ms),
        kernel_ms: split.map(|split| split.kernel_ms),
    }
}

/// The larger difference first, then by name and work.
fn by_size(one: &RooflineRow, other: &RooflineRow) -> Ordering {
    fn names(row: &RooflineRow) -> [&String; 3] {
        [&row.operator, &row.shapes, &row.types]
    }
    let size = |row: &RooflineRow| (row.trace2_ms - row.trace1_ms).abs();
    let work = |row: &RooflineRow| [row.gflop, row.mib, row.trace1_ms, row.trace2_ms];
    let by_work = || work(one).iter().zip(work(other)).map(|(a, b)| a.total_cmp(&b)).find(|order| order.is_ne());
    let by_name = size(other).total_cmp(&size(one)).then_with(|| names(one).cmp(&names(other)));
    by_name.then_with(|| by_work().unwrap_or(Ordering::Equal))
}

fn bound(bounds: [Option<Bound>; 2]) -> &'static str {
    match bounds {
        [Some(Bound::Compute), Some(Bound::Memory)] => "compute, memory",
        [Some(Bound::Memory), Some(Bound::Compute)] => "memory, compute",
        [Some(Bound::Compute), _] | [None, Some(Bound::Compute)] => "compute",
        [Some(Bound::Memory), _] | [None, Some(Bound::Memory)] => "memory",
        [None, None] => "",
    }
}

fn unknown_peaks(names: &[String; 2], peaks: [Option<&Device>; 2]) -> String {
    let mut unknown: Vec<&str> =
        names.iter().zip(peaks).filter(|(_, peaks)| peaks.is_none()).map(|(name, _)| name.as_str()).collect();
    unknown.dedup();
    if unknown.is_empty() { String::new() } else { format!("no peaks are known of {}", unknown.join(" and ")) }
}

/// Part of the time of both traces below which nothing is said of the rest.
const LEAST_COVERAGE: f64 = 0.5;

fn verdict(ratios: &Ratios, coverage: [f64; 2]) -> String {
    let least = coverage[0].min(coverage[1]);
    if least < LEAST_COVERAGE {
        return String::new();
    }
    let [first, second] = coverage.map(|part| format!("{:.0}", 100.0 * part));
    let covered = if first == second { format!("{first} %") } else { format!("{first} and {second} %") };
    let (Some(time), Some(hardware), Some(work), Some(efficiency)) =
        (ratios.time_ratio(), ratios.hardware_ratio(), ratios.work_ratio(), ratios.efficiency_ratio())
    else {
        return String::new();
    };
    let work = if (work - 1.0).abs() < 5e-4 { String::new() } else { format!(" x work {work:.3}") };
    format!(
        "of the {covered} with known shapes: time ratio {time:.3} = hardware {hardware:.3}{work} x kernel efficiency {efficiency:.3}"
    )
}

impl Rooflines {
    /// Rows that run faster than their peak allows: a wrong peak, data from the caches, or a wrong shape.
    pub fn too_efficient(&self) -> impl Iterator<Item = &RooflineRow> {
        let is_too_fast = |efficiency: Option<f64>| efficiency.is_some_and(|efficiency| efficiency > TOO_EFFICIENT);
        self.operations
            .iter()
            .filter(move |row| is_too_fast(row.trace1_efficiency) || is_too_fast(row.trace2_efficiency))
    }
}
