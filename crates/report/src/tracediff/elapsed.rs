//! The headline of the text report: how far to trust it, elapsed time, what makes it differ, and what to do next.

use std::fmt::Write as _;

use perfdb_tracediff::{
    Basis, Confidence, Elapsed, ElapsedReport, FoundPasses, LargeGap, PerCall, TraceElapsed, TraceTrust, Trust,
    WaterfallRow,
};

use super::wording::{KERNEL, OPERATION, counted, escaped, part, per};
use crate::layout::{Cell, Column, Layout, Table, Tone};

/// Share of the time of trace 1 below which a row is one of the smaller ones.
const SMALL_SHARE: f64 = 0.01;
/// Steps that are shown, where there is room for them.
pub(super) const STEPS_SHOWN: usize = 3;
/// Rows of the parts of time, with that of the smaller ones and that of the whole.
const PARTS_SHOWN: usize = 7;
/// Lines of a step: names of kernels are long.
const LINES_OF_A_STEP: usize = 2;
/// Kinds of copies that are shown, and the share of the elapsed time below which they are not.
const COPIES_SHOWN: usize = 2;
const LEAST_COPIED: f64 = 0.01;

/// How far the traces can be trusted, where that is not all the way.
pub(super) fn trust(out: &mut String, trust: &Trust) {
    let sides = [&trust.trace1, &trust.trace2];
    if sides.iter().all(|side| side.trust == "high") {
        return;
    }
    let side = |(number, side): (u8, &TraceTrust)| {
        let reasons = side.reasons().join(", ");
        match side.trust {
            "high" => format!("trace {number} high"),
            "low" => format!("trace {number} LOW, its figures may be wrong ({reasons})"),
            trust => format!("trace {number} {trust} ({reasons})"),
        }
    };
    let sides: Vec<String> = (1..).zip(sides).map(side).collect();
    let _ = writeln!(out, "trust: {}", sides.join("; "));
}

/// The first lines of the report, with at most `steps` things to do next; `None`: all of everything. Writing to a String cannot fail.
pub(super) fn text(
    out: &mut String,
    report: &ElapsedReport,
    confidence: Option<&Confidence>,
    trust: Option<&Trust>,
    steps: Option<usize>,
    layout: Layout,
) {
    let show_all = steps.is_none();
    let is_unclear = confidence.is_some_and(|found| found.whole.verdict == "cannot tell");
    escaped(out, layout, |out| headline(out, &report.elapsed, is_unclear, layout));
    escaped(out, layout, |out| {
        if report.different_workloads.is_none() {
            let _ = writeln!(out, "{}", report.verdict);
        }
        // Lengths of cuts and times of different workloads are not compared, so nothing is certain of them.
        let is_compared = report.elapsed.per_call.is_none() && report.different_workloads.is_none();
        if let Some(confidence) = confidence.filter(|_| is_compared) {
            super::confidence::whole(out, confidence);
        }
    });
    if let Some(found) = trust {
        escaped(out, layout, |out| self::trust(out, found));
    }
    if trust.is_some_and(|trust| trust.trace1.names_not_trusted || trust.trace2.names_not_trusted) {
        let _ = writeln!(
            out,
            "kernel names are shifted by one against durations: elapsed time is reliable, per-kernel rows are not"
        );
    }
    waterfall(out, report, show_all, layout);
    escaped(out, layout, |out| copies(out, &report.elapsed, show_all));
    escaped(out, layout, |out| next_steps(out, report, steps, layout));
    out.push('\n');
}

/// Cuts of runs are as long as they were cut: calls count.
fn per_call_headline(out: &mut String, found: &PerCall) {
    let PerCall { operation, trace1_calls, trace2_calls, trace1_ms, trace2_ms, ratio } = found;
    let _ = writeln!(
        out,
        "elapsed per call of {operation}, trace 2 / trace 1: {ratio:.3} ({trace2_ms:.3} ms / {trace1_ms:.3} ms; \
         {trace2_calls} and {trace1_calls} calls; lengths of cuts are not compared)"
    );
}

fn headline(out: &mut String, elapsed: &Elapsed, is_unclear: bool, layout: Layout) {
    let Elapsed { trace1, trace2, ratio, median_ratio, ratio_per_layer: _, basis, per_call } = elapsed;
    if let Some(found) = per_call {
        per_call_headline(out, found);
        return;
    }
    let middle = |trace: &TraceElapsed| trace.median_pass_ms.filter(|_| median_ratio.is_some());
    let time = |trace: &TraceElapsed| middle(trace).unwrap_or(trace.per_pass_ms);
    let (name, one) = match basis {
        Basis::Pass => (" per forward pass", "pass"),
        Basis::Step => (" per step", "step"),
        Basis::Whole => (" of the whole", ""),
    };
    let _ = write!(
        out,
        "elapsed{name}, trace 2 / trace 1: {}{} ({:.3} ms / {:.3} ms",
        shown(median_ratio.or(*ratio)),
        if is_unclear { ", inconclusive" } else { "" },
        time(trace2),
        time(trace1)
    );
    let _ = match basis {
        Basis::Whole => write!(out, "; forward passes not found)"),
        Basis::Pass | Basis::Step => {
            let medians = if median_ratio.is_some() { "medians of " } else { "" };
            write!(out, "; {medians}{}", passes(trace1, trace2, one))
        }
    };
    for (number, trace) in (1..).zip([trace1, trace2]) {
        if let Some(gap) = largest_gap(trace) {
            let _ = write!(
                out,
                " ({:.3} ms of trace {number}: one gap before {}, launched {:.3} ms earlier)",
                gap.gap_ms,
                if gap.kernel.is_empty() { "a copy".to_owned() } else { layout.name(&gap.kernel, KERNEL, 20) },
                gap.launched_before_ms
            );
        }
    }
    out.push('\n');
    if [trace1, trace2].iter().any(|trace| trace.found_passes.is_some()) {
        phases(out, trace1, trace2);
    }
    for (number, trace) in (1..).zip([trace1, trace2]) {
        if let Some(found) = trace.found_passes.as_ref().filter(|_| *basis == Basis::Pass) {
            let _ = writeln!(out, "trace {number}: {}", how_found(found));
        }
        largest_device(out, number, trace);
        if trace.left_out_passes > 0 {
            let _ = writeln!(
                out,
                "trace {number}: {} left out: kernels are missing there",
                counted(trace.left_out_passes, "pass", "passes")
            );
        }
        if !trace.not_trusted.is_empty() {
            let _ = writeln!(
                out,
                "trace {number}: elapsed, idle and host-late times not trusted ({}); sums of kernels stand",
                trace.not_trusted.join(", ")
            );
        }
    }
}

/// Each phase that passes of both traces have, where they have several.
fn phases(out: &mut String, trace1: &TraceElapsed, trace2: &TraceElapsed) {
    for first in &trace1.phases {
        let Some(second) = trace2.phases.iter().find(|second| second.phase == first.phase) else { continue };
        let ratio = (first.median_pass_ms > 0.0).then(|| second.median_pass_ms / first.median_pass_ms);
        let medians = if first.passes.max(second.passes) > 1 { "medians of " } else { "" };
        let passes = if first.passes == second.passes {
            format!("{} each", counted(first.passes, "pass", "passes"))
        } else {
            format!("{} and {} passes", first.passes, second.passes)
        };
        let _ = writeln!(
            out,
            "  {}: {} ({:.3} ms / {:.3} ms; {medians}{passes})",
            first.phase,
            shown(ratio),
            second.median_pass_ms,
            first.median_pass_ms
        );
    }
}

/// How passes were found that nobody annotated, and how certain they are.
fn how_found(found: &FoundPasses) -> String {
    let phases = phases_of(found);
    let phases = if phases.is_empty() { String::new() } else { format!(": {phases}") };
    format!(
        "passes are not annotated, found {} ({}; {} of {} run the same {} kernels and copies, attention {} times){phases}",
        found_by(found),
        found.certainty,
        found.alike,
        found.passes,
        found.events,
        found.layers
    )
}

/// What tells passes apart that nobody annotated.
pub(crate) fn found_by(found: &FoundPasses) -> &'static str {
    match found.by {
        "copy_to_host" => "by the copy to the host that ends each",
        _ => "by what repeats and the gaps between",
    }
}

/// How many of them there are of each phase; empty where none is known.
pub(crate) fn phases_of(found: &FoundPasses) -> String {
    let phases: Vec<String> = [(found.prefill, "prefill"), (found.decode, "decode")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, phase)| format!("{count} {phase}"))
        .collect();
    phases.join(", ")
}

fn shown(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"))
}

fn largest_gap(trace: &TraceElapsed) -> Option<&LargeGap> {
    trace.large_gaps.iter().max_by(|a, b| a.gap_ms.total_cmp(&b.gap_ms))
}

/// The device that takes longest, where devices differ by more than 1 %.
fn largest_device(out: &mut String, number: u8, trace: &TraceElapsed) {
    let longest = trace.devices.iter().max_by(|a, b| a.elapsed_ms.total_cmp(&b.elapsed_ms));
    let shortest = trace.devices.iter().map(|device| device.elapsed_ms).min_by(f64::total_cmp);
    if let (Some(longest), Some(shortest)) = (longest, shortest)
        && longest.elapsed_ms > 1.01 * shortest
    {
        let _ = writeln!(
            out,
            "trace {number}: mean of {} devices; device {} takes longest, {:.3} ms of elapsed time against {:.3} ms on average",
            trace.devices.len(),
            longest.device,
            longest.elapsed_ms,
            trace.elapsed_ms
        );
    }
}

fn passes(trace1: &TraceElapsed, trace2: &TraceElapsed, one: &str) -> String {
    let plural = if one == "pass" { "passes" } else { "steps" };
    if trace1.passes == trace2.passes {
        return format!("{} each)", counted(trace1.passes, one, plural));
    }
    format!("{} and {} {plural})", trace1.passes, trace2.passes)
}

fn waterfall(out: &mut String, report: &ElapsedReport, show_all: bool, layout: Layout) {
    let Elapsed { trace1, trace2, basis, .. } = &report.elapsed;
    let _ = writeln!(out, "\nFROM TRACE 1 TO TRACE 2, ms{}", per(*basis));
    let is_slight = |row: &&WaterfallRow| row.share.is_some_and(|share| share.abs() < SMALL_SHARE);
    let mut sizes: Vec<f64> =
        report.waterfall.iter().filter(|row| !is_slight(row)).map(|row| row.difference_ms.abs()).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let least = sizes.get(PARTS_SHOWN - 3).copied().unwrap_or(0.0);
    let is_small = |row: &&WaterfallRow| !show_all && (is_slight(row) || row.difference_ms.abs() < least);
    let largest = report.waterfall.iter().map(|row| row.difference_ms.abs()).fold(0.0, f64::max);
    let mut table = Table::new([
        Column::name("").at_least(26),
        Column::number("trace 1").at_least(11).optional(2),
        Column::number("trace 2").at_least(11).optional(1),
        Column::number("difference").at_least(11),
        Column::number("share %").at_least(7),
        Column::bar().optional(3),
        Column::sentence(""),
    ]);
    let mut line = |name: &str, [first, second]: [f64; 2], largest: f64, remark: String| {
        let difference = second - first;
        let share = if trace1.per_pass_ms > 0.0 {
            format!("{:+.1}", 100.0 * difference / trace1.per_pass_ms)
        } else {
            "-".to_owned()
        };
        let tone = Tone::of_difference(difference);
        table.push([
            Cell::from(layout.name(name, OPERATION, 0)),
            format!("{first:.3}").into(),
            format!("{second:.3}").into(),
            Cell::from(format!("{difference:+.3}")).toned(tone),
            share.into(),
            Cell::part(part(difference, largest)).toned(tone),
            remark.into(),
        ]);
    };
    for row in report.waterfall.iter().filter(|row| !is_small(row)) {
        let noise = row.noise_ms.filter(|noise| *noise >= row.difference_ms.abs() && row.difference_ms != 0.0);
        let remark = noise.map_or_else(String::new, |noise| format!("within the noise, {noise:.3} ms"));
        line(&row.row, [row.trace1_ms, row.trace2_ms], largest, remark);
    }
    let small: Vec<&WaterfallRow> = report.waterfall.iter().filter(is_small).collect();
    if !small.is_empty() {
        let sum = |time: fn(&WaterfallRow) -> f64| small.iter().map(|row| time(row)).sum();
        let name = format!("({} smaller)", small.len());
        line(&name, [sum(|row| row.trace1_ms), sum(|row| row.trace2_ms)], largest, String::new());
    }
    // The whole has no bar: it is the sum of those above.
    line("elapsed", [trace1.per_pass_ms, trace2.per_pass_ms], 0.0, String::new());
    out.push_str(&table.text(layout));
}

fn copies(out: &mut String, elapsed: &Elapsed, show_all: bool) {
    let limit = if show_all { usize::MAX } else { COPIES_SHOWN };
    let sides = (1..).zip([&elapsed.trace1, &elapsed.trace2]);
    let least_ms = if show_all { 0.0 } else { LEAST_COPIED * elapsed.trace1.per_pass_ms };
    let mut all: Vec<_> = sides
        .flat_map(|(number, trace): (u8, _)| trace.copies.iter().map(move |one| (number, one)))
        .filter(|(_, copies)| copies.total_ms >= least_ms)
        .collect();
    if all.len() > limit {
        all.sort_by(|(_, a), (_, b)| b.exposed_ms.total_cmp(&a.exposed_ms));
    }
    for (number, copies) in all.into_iter().take(limit) {
        {
            let speed = copies.gb_per_s.map_or_else(String::new, |speed| format!(", {speed:.1} GB/s"));
            let _ = writeln!(
                out,
                "copies of trace {number}, {}: {}, {:.3} ms, {:.3} ms exposed{speed}",
                copies.kind, copies.count, copies.total_ms, copies.exposed_ms
            );
        }
    }
}

fn next_steps(out: &mut String, report: &ElapsedReport, steps: Option<usize>, layout: Layout) {
    if report.next_steps.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nWHAT TO DO NEXT, by ms{}", per(report.elapsed.basis));
    let limit = steps.unwrap_or(usize::MAX);
    for (number, step) in (1..).zip(report.next_steps.iter().take(limit)) {
        let line =
            format!("trace {} takes {:.3} ms longer in {}: {}", step.trace, step.excess_ms, step.row, step.advice);
        let text = layout.wrapped(&line, 5);
        let limit = if steps.is_none() { usize::MAX } else { LINES_OF_A_STEP };
        let mut lines: Vec<String> = text.lines().take(limit).map(str::to_owned).collect();
        if let Some(last) = lines.last_mut().filter(|_| text.lines().count() > limit) {
            let room = layout.columns.map_or(usize::MAX, |columns| columns.saturating_sub(2));
            while last.chars().count() > room {
                last.pop();
            }
            last.push_str(" …");
        }
        let _ = writeln!(out, "{number:>3}. {}", lines.join("\n"));
    }
    if report.next_steps.len() > limit {
        let _ = writeln!(out, "     {} more (--all)", report.next_steps.len() - limit);
    }
}
