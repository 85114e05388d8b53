//! What to do next about the time of a step, with what it saves at most.

use serde::Serialize;

use super::result::OneTrace;

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

/// How many are given.
const MOST: usize = 3;
/// Part of a step below which nothing is worth saying.
const LEAST_PART: f64 = 0.01;
/// Part of the roof that good kernels reach.
const GOOD_PART: f64 = 0.8;

/// At most three, the largest first.
pub(super) fn next(one: &OneTrace) -> Vec<Advice> {
    let steps = (one.step_count.max(1) * one.devices) as f64;
    let step = one.per_step_ms;
    let kernel_ms = one.kernel_ms / steps;
    let mut found = parts(one, steps, step);
    found.extend(before_step(one));
    found.extend(far_from_roof(one, steps, kernel_ms));
    found.extend(unfused(one, steps, step));
    found.retain(|advice| advice.saves_at_most_ms.is_none_or(|saves| saves >= LEAST_PART * step));
    // One reason is enough: there are no operators inside of a row either.
    found.extend(graphs_in_one_row(one, steps).or_else(|| no_operator(one, steps)));
    let saves = |advice: &Advice| advice.saves_at_most_ms.unwrap_or(0.0);
    found.sort_by(|a, b| saves(b).total_cmp(&saves(a)));
    found.truncate(MOST);
    found
}

fn advice(code: &'static str, saves: Option<f64>, evidence: f64, text: String) -> Advice {
    Advice { code, text, saves_at_most_ms: saves, evidence }
}

/// Parts of a step that are not computing.
fn parts(one: &OneTrace, steps: f64, step: f64) -> Vec<Advice> {
    let parts = &one.parts_ms;
    let all = [
        (
            "HOST_LATE",
            parts.host_late_ms,
            "waits for the host to launch; CUDA graphs or fewer launches save at most that",
        ),
        (
            "EXPOSED_COMMUNICATION",
            parts.exposed_communication_ms,
            "communicates while nothing computes; overlap saves at most that",
        ),
        ("EXPOSED_COPIES", parts.exposed_copies_ms, "copies while no kernel runs; overlap saves at most that"),
        (
            "DEVICE_IDLE",
            parts.device_idle_ms,
            "idle although work was launched, or nobody knows when; saves at most that",
        ),
    ];
    let large =
        all.into_iter().map(|(code, ms, text)| (code, ms / steps, text)).filter(|(_, ms, _)| *ms >= 0.05 * step);
    large
        .map(|(code, ms, text)| advice(code, Some(ms), ms, format!("{ms:.3} ms ({:.1} %) {text}", 100.0 * ms / step)))
        .collect()
}

/// The host that starts late: the mean over the steps.
fn before_step(one: &OneTrace) -> Option<Advice> {
    let known = one.steps.iter().filter_map(|step| Some((step.host_ms?, step.first_launch_after_ms?)));
    let (count, host, late) =
        known.fold((0_u32, 0.0, 0.0), |sum, (host, late)| (sum.0 + 1, sum.1 + host, sum.2 + late));
    let late_ms = late / f64::from(count.max(1));
    (count > 0 && late >= 0.1 * host && late > 0.0).then(|| {
        let text = format!("{late_ms:.3} ms of work on the host before the first launch of a step; saves at most that");
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
        "{} takes {ms:.3} ms at {:.0} % of the {} roof; at 80 % it saves at most {saves:.3} ms",
        row.operator,
        100.0 * part,
        row.bound.unwrap_or("memory")
    );
    Some(advice("FAR_FROM_ROOF", Some(saves), ms, text))
}

fn unfused(one: &OneTrace, steps: f64, step: f64) -> Option<Advice> {
    let small = ["Elementwise", "Copy/Memory", "Reduce"];
    let rows = || one.classes.iter().filter(|row| small.contains(&row.class.as_str()));
    let ms = rows().map(|row| row.own_ms).sum::<f64>() / steps;
    let kernels: u64 = rows().map(|row| row.kernels).sum();
    (ms >= 0.15 * step && ms > 0.0).then(|| {
        let text = format!("unfused elementwise work: {ms:.3} ms in {:.0} kernels; fuse them", kernels as f64 / steps);
        advice("UNFUSED", None, ms, text)
    })
}

fn no_operator(one: &OneTrace, steps: f64) -> Option<Advice> {
    let (without, all) = (one.without_operator_ms / steps, one.kernel_ms / steps);
    // What names the operators; nothing where the format has none.
    let remedy = match one.kind {
        "gpu-trace" => " (graph replays); --capture names them",
        "nsys" => "; NVTX ranges name them: torch.autograd.profiler.emit_nvtx(record_shapes=True)",
        _ => return None,
    };
    (all > 0.0 && without >= 0.2 * all).then(|| {
        let text = format!("{without:.3} of {all:.3} ms of kernels have no operator{remedy}");
        advice("NO_OPERATOR", None, without, text)
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
