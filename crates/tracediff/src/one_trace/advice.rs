//! What to do next about the time of a step, with what it saves at most.

use serde::Serialize;

use super::result::OneTrace;
use crate::late_host::short;

/// Something to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// What it is about.
    pub code: &'static str,
    /// What to do, and why.
    pub text: String,
    /// Time per step and device that cannot be exceeded; nothing where nothing bounds it.
    pub saves_at_most_ms: Option<f64>,
    /// The number that shows it, in ms per step and device.
    pub evidence: f64,
}

/// Classes of kernels that are mostly small and limited by memory.
pub(super) const SMALL: [&str; 3] = ["Elementwise", "Copy/Memory", "Reduce"];
/// How many are given.
const MOST: usize = 3;
/// Part of a step below which nothing is worth saying.
const LEAST_PART: f64 = 0.01;
/// Part of the roof that good kernels reach.
const GOOD_PART: f64 = 0.8;

/// What advice needs beside the report.
pub(super) struct Grounds {
    /// What explains most of the time in which the device waits for the host, if anything but single launches does.
    pub(super) late_cause: Option<String>,
    /// Kernels after which the host was late longest, with that time over all steps.
    pub(super) late_after: Vec<(String, f64)>,
    /// Kernel time without an operator that graphs replay.
    pub(super) replayed_ms: f64,
    /// Part of the collectives' time that they wait for other devices.
    pub(super) waiting_ms: f64,
    /// Whether the file has operators of the host.
    pub(super) has_operators: bool,
    /// Part of the memory roof that small kernels reach, where the shapes of most are known.
    pub(super) small_part_of_roof: Option<f64>,
}

/// At most three, the largest first.
pub(super) fn next(one: &OneTrace, grounds: &Grounds) -> Vec<Advice> {
    let steps = (one.step_count.max(1) * one.devices) as f64;
    let step = one.per_step_ms;
    let kernel_ms = one.kernel_ms / steps;
    let mut found = parts(one, grounds, steps, step);
    found.extend(before_step(one));
    found.extend(far_from_roof(one, steps, kernel_ms));
    found.extend(unfused(one, grounds, steps, step));
    found.retain(|advice| advice.saves_at_most_ms.is_none_or(|saves| saves >= LEAST_PART * step));
    // One reason is enough: there are no operators inside of a row either.
    found.extend(graphs_in_one_row(one, steps).or_else(|| no_operator(one, grounds, steps)));
    let saves = |advice: &Advice| advice.saves_at_most_ms.unwrap_or(0.0);
    found.sort_by(|a, b| saves(b).total_cmp(&saves(a)));
    found.truncate(MOST);
    found
}

fn advice(code: &'static str, saves: Option<f64>, evidence: f64, text: String) -> Advice {
    Advice { code, text, saves_at_most_ms: saves, evidence }
}

/// Parts of a step that are not computing.
fn parts(one: &OneTrace, grounds: &Grounds, steps: f64, step: f64) -> Vec<Advice> {
    let parts = &one.parts_ms;
    let part = |code, ms: f64, saves: f64, what: String| {
        let (ms, saves) = (ms / steps, saves / steps);
        let text = format!("{ms:.3} ms ({:.1} %) {what}", 100.0 * ms / step);
        (ms >= 0.05 * step && ms > 0.0).then(|| advice(code, Some(saves), ms, text))
    };
    let waiting = grounds.waiting_ms.min(parts.exposed_communication_ms);
    let waits = match waiting / steps {
        ms if ms > 0.0 => format!(" ({ms:.3} ms of it waits for other ranks)"),
        _ => String::new(),
    };
    // Without launches nobody can say whose fault idle time is.
    let unknown = one.unknown_launch_ms > 0.5 * parts.device_idle_ms;
    let idle = match (unknown, one.kind) {
        (false, _) => "the device is idle although work was launched: look at streams, events and synchronisation",
        (true, "gpu-trace") => {
            "the device is idle, by whose fault is unknown without launches: record CPU activity too"
        }
        (true, _) => "the device is idle, by whose fault is unknown without launches",
    };
    let all = [
        part("HOST_LATE", parts.host_late_ms, parts.host_late_ms, late(grounds, parts.host_late_ms)),
        part(
            "EXPOSED_COMMUNICATION",
            parts.exposed_communication_ms,
            parts.exposed_communication_ms - waiting,
            format!("communicates while nothing computes{waits}: overlap it"),
        ),
        part(
            "EXPOSED_COPIES",
            parts.exposed_copies_ms,
            parts.exposed_copies_ms,
            "copies while no kernel runs: pin memory, overlap copies or avoid them".to_owned(),
        ),
        part("DEVICE_IDLE", parts.device_idle_ms, parts.device_idle_ms, idle.to_owned()),
    ];
    all.into_iter().flatten().collect()
}

/// Kernels after which the host is late, and how much of that is theirs.
fn late(grounds: &Grounds, all_ms: f64) -> String {
    let named = |(name, ms): &(String, f64)| format!("{} {:.0} %", short(name), 100.0 * ms / all_ms);
    let after: Vec<String> = grounds.late_after.iter().take(3).map(named).collect();
    let after = if after.is_empty() { String::new() } else { format!("; after {}", after.join(", ")) };
    match &grounds.late_cause {
        Some(cause) => format!("waits for the host: {cause}"),
        None => format!("waits for the host to launch: use CUDA graphs or fewer launches{after}"),
    }
}

/// The host that starts late: the mean over the steps.
fn before_step(one: &OneTrace) -> Option<Advice> {
    let known = one.steps.iter().filter_map(|step| Some((step.host_ms?, step.first_launch_after_ms?)));
    let (count, host, late) =
        known.fold((0_u32, 0.0, 0.0), |sum, (host, late)| (sum.0 + 1, sum.1 + host, sum.2 + late));
    let late_ms = late / f64::from(count.max(1));
    (count > 0 && late >= 0.1 * host && late > 0.0).then(|| {
        let text = format!("{late_ms:.3} ms of work on the host before the first launch of a step");
        advice("HOST_BEFORE_STEP", Some(late_ms), late_ms, text)
    })
}

fn far_from_roof(one: &OneTrace, steps: f64, kernel_ms: f64) -> Option<Advice> {
    let rows = one.operators.iter().filter_map(|row| {
        let part = row.percent_of_roof? / 100.0;
        let ms = row.total_ms / steps;
        (ms >= 0.03 * kernel_ms && part < 0.5).then(|| (row, part, ms, ms * (1.0 - part / GOOD_PART)))
    });
    let (row, part, ms, saves) = rows.max_by(|a, b| a.3.total_cmp(&b.3))?;
    let text = format!(
        "{} takes {ms:.3} ms at {:.0} % of the {} roof, where 80 % is good",
        row.operator,
        100.0 * part,
        row.bound.unwrap_or("memory")
    );
    Some(advice("FAR_FROM_ROOF", Some(saves), ms, text))
}

fn unfused(one: &OneTrace, grounds: &Grounds, steps: f64, step: f64) -> Option<Advice> {
    let rows = || one.classes.iter().filter(|row| SMALL.contains(&row.class.as_str()));
    let ms = rows().map(|row| row.own_ms).sum::<f64>() / steps;
    let kernels = rows().map(|row| row.kernels).sum::<u64>() as f64 / steps;
    (ms >= 0.15 * step && ms > 0.0).then(|| {
        let part = grounds.small_part_of_roof.map(|part| part.min(1.0));
        let roof = part.map_or_else(String::new, |part| format!(" at {:.0} % of the memory roof", 100.0 * part));
        let text = format!("unfused elementwise work: {ms:.3} ms in {kernels:.0} kernels{roof}: fuse them");
        advice("UNFUSED", part.map(|part| ms * (1.0 - part)), ms, text)
    })
}

/// Kernels whose operator is not known.
fn no_operator(one: &OneTrace, grounds: &Grounds, steps: f64) -> Option<Advice> {
    let (without, all) = (one.without_operator_ms, one.kernel_ms);
    // What names the operators; nothing where the format has none.
    let what = match (one.kind, grounds.replayed_ms >= 0.5 * without, grounds.has_operators) {
        ("gpu-trace", true, _) => {
            "are replayed by graphs and have no operator: --capture FILE, a trace of the capture, names them"
        }
        ("gpu-trace", false, true) => "have no operator: they are launched outside of operators of PyTorch",
        ("gpu-trace", false, false) => "have no operator: record CPU activity (ProfilerActivity.CPU) and shapes",
        ("nsys", ..) => "have no operator: torch.autograd.profiler.emit_nvtx(record_shapes=True) names them",
        _ => return None,
    };
    (all > 0.0 && without >= 0.2 * all).then(|| {
        let text = format!("{:.3} of {:.3} ms of kernels {what}", without / steps, all / steps);
        advice("NO_OPERATOR", None, without / steps, text)
    })
}

/// Graphs that are one row each hide their kernels.
fn graphs_in_one_row(one: &OneTrace, steps: f64) -> Option<Advice> {
    (one.graph_collapsed_ms > 0.0 && one.graph_collapsed_ms >= 0.1 * one.elapsed_ms).then(|| {
        let ms = one.graph_collapsed_ms / steps;
        let text = format!(
            "{ms:.3} ms are CUDA graphs recorded as one row each, without their kernels; record again with --cuda-graph-trace=node"
        );
        advice("GRAPH_COLLAPSED", None, ms, text)
    })
}
