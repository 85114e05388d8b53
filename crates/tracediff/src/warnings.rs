//! What to keep in mind when reading the numbers: the closed list of the result, and findings for people beside it.

use crate::classify::{COLLECTIVES, OTHER, classify};
use crate::device::Platform;
use crate::pairing::Pairing;
use crate::remedy::{Caution, Remedy};
use crate::result::Warning;
use crate::rules::Rules;
use crate::time::Picoseconds;
use crate::trace::Trace;
use crate::trust;

/// A trace with more kernels than this should have layers.
const KERNELS_WITHOUT_LAYERS: usize = 100;

/// Warnings of a comparison: trace 1, trace 2, both; each in a fixed order.
pub(crate) fn of(pairing: &Pairing<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for side in 0..2 {
        of_trace(pairing, side, &mut warnings);
    }
    let passes = pairing.traces.map(|trace| trace.passes);
    if passes[0] != passes[1] {
        warnings.push(Warning {
            code: "PASS_COUNT_MISMATCH",
            severity: "info",
            trace: None,
            message: format!(
                "trace 1 has {} forward pass{}, trace 2 has {}",
                passes[0],
                if passes[0] == 1 { "" } else { "es" },
                passes[1]
            ),
        });
    }
    warnings
}

fn of_trace(pairing: &Pairing<'_>, side: usize, warnings: &mut Vec<Warning>) {
    let trace = pairing.traces[side];
    let total = pairing.totals[side].sum.time;
    let mut push = |code, severity, message: String| {
        warnings.push(Warning { code, severity, trace: Some(side as u8 + 1), message });
    };
    if !trace.has_steps {
        push("NO_PHASE_ANNOTATIONS", "warning", "no prefill/decode step annotations in this trace".to_owned());
    }
    if !trace.has_frames {
        push("NO_PYTHON_STACKS", "info", "no python_function events in this trace".to_owned());
    }
    let other = unrecognised(pairing, side);
    if 5 * other > total {
        let percent = percent(other, total);
        let names = unrecognised_names(pairing, side);
        let message = format!("{percent:.1}% of kernel time is in unrecognised kernels: {names}");
        push("HIGH_UNKNOWN_KERNELS", "warning", message);
    }
    if trace.layers == 0 && trace.kernels.len() > KERNELS_WITHOUT_LAYERS {
        let message = "no attention or state-space kernels to number layers by";
        push("LAYER_DETECTION_FAILED", "warning", message.to_owned());
    }
    let compared = pairing.compared(side);
    if is_low(compared, total) {
        let percent = percent(compared, total);
        let message = format!("only {percent:.1}% of kernel time has a counterpart in the other trace");
        push("LOW_COVERAGE", "warning", message);
    }
    if trace.skipped_kernels > 0 {
        let message = format!("{} kernel events without a usable name or time were skipped", trace.skipped_kernels);
        push("MALFORMED_EVENTS", "warning", message);
    }
}

/// Time of a trace in kernels of the class Other.
pub(crate) fn unrecognised(pairing: &Pairing<'_>, side: usize) -> Picoseconds {
    let paired = pairing.pairs.iter().filter(|pair| pair.operation == OTHER).map(|pair| pair.sides[side].sum.time);
    let single = pairing.singles.iter().filter(|single| single.side == side && single.operation == OTHER);
    paired.chain(single.map(|single| single.totals.sum.time)).sum()
}

/// Those with most time, and how many more there are.
fn unrecognised_names(pairing: &Pairing<'_>, side: usize) -> String {
    const NAMED: usize = 3;
    let paired = pairing.pairs.iter().filter(|pair| pair.operation == OTHER).map(|pair| &pair.sides[side]);
    let single = pairing.singles.iter().filter(|single| single.side == side && single.operation == OTHER);
    let mut kernels: Vec<(Picoseconds, &str)> = paired
        .chain(single.map(|single| &single.totals))
        .flat_map(|totals| totals.kernels.iter().map(|(name, sum)| (sum.time, pairing.traces[side].name(*name))))
        .collect();
    kernels.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let mut names: Vec<String> = kernels.iter().take(NAMED).map(|(_, name)| shortened(name)).collect();
    if kernels.len() > NAMED {
        names.push(format!("{} more", kernels.len() - NAMED));
    }
    names.join(", ")
}

/// Less than 80 %.
fn is_low(part: Picoseconds, whole: Picoseconds) -> bool {
    5 * part < 4 * whole
}

fn percent(part: Picoseconds, whole: Picoseconds) -> f64 {
    100.0 * part as f64 / whole as f64
}

/// Findings about one trace that are not part of the result: impossible durations, a skewed start, a missing device.
///
/// One sentence each, without the path.
pub(crate) fn findings(trace: &Trace) -> Vec<Caution> {
    let mut found: Vec<Caution> = Vec::new();
    if !trace.has_device_properties {
        found.push(match trace.platform {
            Platform::Other => "no device properties; host calls of neither CUDA nor HIP".to_owned().into(),
            platform => format!("no device properties; taken for {}", platform.name()).into(),
        });
    }
    match &trace.report {
        Some(report) => found.extend(trust::sentences(trace, report)),
        None => {
            found.extend(overlap_finding(trace));
            found.extend(skew_findings(trace).into_iter().map(Caution::from));
        }
    }
    found
}

/// The sentence about low coverage of one trace; `compared` and `total` in the same unit.
pub(crate) fn coverage_finding(compared: f64, total: f64) -> Option<Caution> {
    (5.0 * compared < 4.0 * total).then(|| {
        let percent = 100.0 * compared / total;
        format!("only {percent:.1}% of kernel time has a counterpart in the other trace; see the operations on one side only").into()
    })
}

fn overlap_finding(trace: &Trace) -> Option<Caution> {
    let overlaps = &trace.overlaps;
    if overlaps.count == 0 {
        return None;
    }
    let longest: Vec<String> = overlaps
        .longest
        .iter()
        .map(|(name, duration)| format!("{} ({:.3} ms)", shortened(trace.name(*name)), *duration as f64 / 1e9))
        .collect();
    let (consequence, remedy) =
        if overlaps.clipped { (" (cut where that begins)", None) } else { ("", Some(Remedy::ClipOverlaps)) };
    let text = format!(
        "{} {} into the next one on the same stream, {:.1}% of kernel time{consequence}: {}",
        overlaps.count,
        if overlaps.count == 1 { "kernel reaches" } else { "kernels reach" },
        if overlaps.of == 0 { 0.0 } else { percent(overlaps.total, overlaps.of) },
        longest.join(", ")
    );
    Some(Caution { text, remedy })
}

/// A collective among the first kernels that waits for devices whose profiler started later.
fn skew_findings(trace: &Trace) -> Vec<String> {
    let total: Picoseconds = trace.kernels.iter().map(|kernel| kernel.duration).sum();
    let first = trace.kernels.len().div_ceil(100);
    let class: Vec<Option<usize>> = trace
        .groups
        .iter()
        .map(|group| {
            // By the default table: the old ones know no collectives.
            let class = classify(trace.name(group.name), trace.platform, None, Rules::Perfdb);
            COLLECTIVES.iter().position(|collective| *collective == class.name)
        })
        .collect();
    let class_of = |at: usize| class[trace.contexts[at].group as usize];
    let mut medians = [None; COLLECTIVES.len()];
    let mut found = Vec::new();
    for at in trace.in_time_order().take(first) {
        let Some(collective) = class_of(at) else { continue };
        let duration = trace.kernels.at(at).duration;
        if 20 * duration <= total {
            continue;
        }
        let median = *medians[collective].get_or_insert_with(|| {
            let mut durations: Vec<Picoseconds> = (0..trace.kernels.len())
                .filter(|at| class_of(*at) == Some(collective))
                .map(|at| trace.kernels.at(at).duration)
                .collect();
            durations.sort_unstable();
            durations.get(durations.len() / 2).copied().unwrap_or(0)
        });
        if duration > 10 * median {
            found.push(format!(
                "skewed start: {} among the first kernels takes {:.3} ms, {:.1}% of kernel time; the other devices may have started later",
                shortened(trace.name(trace.kernels.at(at).name)),
                duration as f64 / 1e9,
                percent(duration, total)
            ));
        }
    }
    found
}

/// A name that leaves room on the line.
fn shortened(name: &str) -> String {
    if name.chars().count() <= 80 { name.to_owned() } else { name.chars().take(77).chain("...".chars()).collect() }
}
