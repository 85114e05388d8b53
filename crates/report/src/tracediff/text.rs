//! The report for people.

use std::fmt::Write as _;

use perfdb_tracediff::{
    Basis, Comparison, Confidence, Document, ElapsedReport, OperationRow, Overview, Platform, Status, TraceElapsed,
};

use super::confidence::{mark, of_operation, per_what, words};
use super::elapsed::STEPS_SHOWN;
use super::explanation;
use super::screen::{FEWEST_OPERATIONS, OPERATIONS};
use super::text_parts::{layers, python_stacks, unknown, warnings};
use super::wording::{KERNEL, OPERATION, counted, escaped, general, operation_column, part, per};
use crate::layout::{Cell, Column, Layout, Table, Tone};
use crate::screen::fitting;

/// Operations whose kernels are shown.
const ROWS_WITH_KERNELS: usize = 5;
/// How much the text report shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextOptions {
    /// Whether nothing is cut.
    pub show_all: bool,
    /// Whether Python stacks are shown.
    pub stack_traces: bool,
    /// Whether layers are shown, and one typical layer of each trace.
    pub layers: bool,
    /// Whether the kernels of operations are shown, and operations of one trace.
    pub kernels: bool,
    /// Whether it is shown what limits operators, by their shapes.
    pub shapes: bool,
    /// Gap in ms beyond which an operation is slower or faster, if one was asked for.
    pub threshold_ms: Option<f64>,
    /// How lines are laid out.
    pub layout: Layout,
}

/// The report of a comparison, in which control characters of names are escaped; empty for documents that have none (alignments, launch counts, legacy rules).
pub fn text(document: &Document, options: &TextOptions) -> String {
    let Some(found) = document.overview() else { return String::new() };
    let mut out = report(&found, options);
    if let Document::Plain(plain) = document
        && let Some(found) = &plain.details.explanation
    {
        out.push_str(&explanation::text(found, options.layout));
    }
    out
}

// Writing to a String cannot fail: results of `write!` are dropped throughout.
fn report(found: &Overview<'_>, options: &TextOptions) -> String {
    let Overview { comparison, trust, details } = *found;
    let (elapsed, confidence) = (details.elapsed.as_ref(), details.confidence.as_ref());
    let layout = options.layout;
    let all = options.show_all;
    let above = |steps: Option<usize>| {
        let mut out = String::new();
        if let Some(elapsed) = elapsed.filter(|elapsed| elapsed.different_workloads.is_some()) {
            escaped(&mut out, layout, |out| {
                let _ = writeln!(out, "{}", elapsed.verdict);
            });
        }
        match (elapsed, trust) {
            (Some(elapsed), _) => super::elapsed::text(&mut out, elapsed, confidence, trust, steps, layout),
            (None, Some(trust)) => escaped(&mut out, layout, |out| super::elapsed::trust(out, trust)),
            (None, None) => {}
        }
        escaped(&mut out, layout, |out| head(out, comparison, elapsed, all, layout));
        out
    };
    let mut out = String::new();
    let mut below = String::new();
    escaped(&mut below, layout, |out| warnings(out, &comparison.warnings, all, layout));
    if !all {
        below.push_str(&super::screen::left_out(found, options, layout));
    }
    if all {
        out.push_str(&above(None));
        operations(&mut out, comparison, elapsed, confidence, options, usize::MAX);
    } else {
        // Operations first lose rows, then there is less to do next.
        out = fitting(STEPS_SHOWN, 1, |steps| {
            let above = above(Some(steps));
            fitting(OPERATIONS, FEWEST_OPERATIONS, |room| {
                let mut screen = above.clone();
                operations(&mut screen, comparison, elapsed, confidence, options, room);
                screen + &below
            })
        });
        out.truncate(out.len() - below.len());
    }
    sections(&mut out, found, options);
    out.push_str(&below);
    out
}

/// The parts that only flags show.
fn sections(out: &mut String, found: &Overview<'_>, options: &TextOptions) {
    let Overview { comparison, details, .. } = *found;
    let elapsed = details.elapsed.as_ref();
    let (layout, all) = (options.layout, options.show_all);
    if all || options.kernels {
        unmatched(out, comparison, elapsed, layout);
    }
    if let Some(roofline) = details.roofline.as_ref().filter(|_| all || options.shapes) {
        super::rooflines::text(out, roofline, basis_of(elapsed), all, layout);
    }
    if all || options.layers {
        super::strips::text(out, &details.strips, basis_of(elapsed), all, layout);
    }
    if all || options.kernels {
        for row in rows_that_matter(&comparison.operations, all) {
            escaped(out, layout, |out| kernels(out, row, all, layout));
        }
    }
    if options.stack_traces {
        escaped(out, layout, |out| python_stacks(out, &comparison.operations, all));
    }
    if all || options.layers {
        layers(out, &comparison.layers, layers_are_certain(elapsed), all, layout);
    }
    if all || options.kernels {
        // Patterns are copied into a file: their lines stay whole.
        escaped(out, Layout::default(), |out| unknown(out, &comparison.unknown_kernels, all));
    }
}

/// Rows whose kernels are shown: those beyond the threshold, else those that differ most.
fn rows_that_matter(rows: &[OperationRow], show_all: bool) -> Vec<&OperationRow> {
    let difference = |row: &OperationRow| (row.trace2_per_pass_ms - row.trace1_per_pass_ms).abs();
    let mut found: Vec<&OperationRow> = rows.iter().collect();
    found.sort_by(|a, b| difference(b).total_cmp(&difference(a)));
    let beyond = found.iter().filter(|row| row.status != Status::Similar).count();
    if show_all {
        return found;
    }
    if beyond > 0 {
        found.retain(|row| row.status != Status::Similar);
    }
    found.truncate(if beyond > 0 { ROWS_WITH_KERNELS } else { 1 });
    found
}

fn basis_of(elapsed: Option<&ElapsedReport>) -> Basis {
    elapsed.map_or(Basis::Whole, |elapsed| elapsed.elapsed.basis)
}

/// Whether both traces show for certain which of what repeats are layers.
pub(crate) fn layers_are_certain(elapsed: Option<&ElapsedReport>) -> bool {
    elapsed.is_some_and(|report| {
        [&report.elapsed.trace1, &report.elapsed.trace2].iter().all(|trace| trace.layers_per_pass.is_some())
    })
}

fn head(out: &mut String, comparison: &Comparison, elapsed: Option<&ElapsedReport>, all: bool, layout: Layout) {
    let metadata = &comparison.metadata;
    if metadata.phase != "all" {
        let _ = writeln!(out, "phase: {}", metadata.phase);
    }
    let of_elapsed = elapsed.map(|report| [&report.elapsed.trace1, &report.elapsed.trace2]);
    let sides = [
        (
            &metadata.trace1_name,
            metadata.trace1_platform,
            &metadata.trace1_gpu_inferred,
            &metadata.trace1_device,
            metadata.trace1_kernels,
            [metadata.trace1_total_ms, metadata.trace1_busy_ms, metadata.trace1_compared_ms],
            metadata.trace1_layers,
            metadata.trace1_passes,
        ),
        (
            &metadata.trace2_name,
            metadata.trace2_platform,
            &metadata.trace2_gpu_inferred,
            &metadata.trace2_device,
            metadata.trace2_kernels,
            [metadata.trace2_total_ms, metadata.trace2_busy_ms, metadata.trace2_compared_ms],
            metadata.trace2_layers,
            metadata.trace2_passes,
        ),
    ];
    for (number, (name, platform, gpu, device, kernels, [total, busy, compared], layers, passes)) in (1..).zip(sides) {
        let side = format!("trace {number}: {}", with_platform(platform, gpu));
        let traced = of_elapsed.map(|traces| traces[number - 1]);
        let passes = match (basis_of(elapsed), traced) {
            (Basis::Step, Some(trace)) => counted(trace.passes, "step", "steps"),
            (Basis::Pass, Some(trace)) => counted(trace.passes, "pass", "passes"),
            (Basis::Whole, Some(_)) => "the whole trace".to_owned(),
            (_, None) => counted(passes, "pass", "passes"),
        };
        if !all {
            let used = side.chars().count() + passes.chars().count() + 5;
            let _ = writeln!(out, "{side} [{}], {passes}", layout.name(name, usize::MAX, used));
            continue;
        }
        let _ = writeln!(
            out,
            "{side} [{name}]\n  compute {}, {:.1} GB, {} SMs, warp {}",
            device.compute_capability, device.total_memory_gb, device.sm_count, device.warp_size
        );
        let _ = writeln!(
            out,
            "  {kernels} kernels, total {total:.3} ms, busy {busy:.3} ms, compared {compared:.3} ms, {}, {passes}",
            layers_of(traced, layers),
        );
    }
}

/// `24 layers`, or `36 layers (180 runs)` where the model runs several times in a pass.
fn layers_of(trace: Option<&TraceElapsed>, numbers: u64) -> String {
    let count = trace.and_then(|trace| Some((trace.layers_per_pass?, trace.layer_runs_per_pass?)));
    match (count, trace) {
        (Some((layers, runs)), _) if layers == runs => counted(layers, "layer", "layers"),
        (Some((layers, runs)), _) => format!("{} ({runs} runs)", counted(layers, "layer", "layers")),
        (None, Some(_)) if numbers > 0 => "layers not certain".to_owned(),
        (None, _) => counted(numbers, "layer", "layers"),
    }
}

/// The name of a GPU behind its vendor, which it may begin with.
fn with_platform(platform: Platform, gpu: &str) -> String {
    if platform == Platform::Other || gpu.to_lowercase().starts_with(&platform.name().to_lowercase()) {
        gpu.to_owned()
    } else {
        format!("{} {gpu}", platform.name())
    }
}

/// Rows of both traces by their difference per pass: as many as there is room for, and the sum of the smaller ones.
fn operations(
    out: &mut String,
    comparison: &Comparison,
    elapsed: Option<&ElapsedReport>,
    confidence: Option<&Confidence>,
    options: &TextOptions,
    room: usize,
) {
    let (rows, layout) = (&comparison.operations, options.layout);
    let basis = elapsed.map_or(Basis::Whole, |elapsed| elapsed.elapsed.basis);
    let whole = elapsed.map_or(0.0, |elapsed| elapsed.elapsed.trace1.per_pass_ms);
    let threshold = match (options.threshold_ms, elapsed) {
        (Some(limit), _) => format!("{} ms in all", general(limit)),
        (None, Some(elapsed)) => format!("1 % of the smaller elapsed time, {:.3} ms", elapsed.threshold_ms),
        (None, None) => "5 ms in all".to_owned(),
    };
    let matter = rows.iter().filter(|row| row.status != Status::Similar).count();
    let heading = format!(
        "\nOPERATIONS OF BOTH TRACES, ms of kernels{}: {} compared, {matter} differ by more than {threshold}\n",
        per(basis),
        rows.len(),
    );
    out.push_str(&layout.wrapped_lines(&heading));
    let mut sorted: Vec<&OperationRow> = rows.iter().collect();
    let difference = |row: &OperationRow| row.trace2_per_pass_ms - row.trace1_per_pass_ms;
    // Stable: rows come by gap, then name.
    sorted.sort_by(|a, b| difference(b).abs().total_cmp(&difference(a).abs()));
    let share =
        |difference: f64| if whole > 0.0 { format!("{:+.1}", 100.0 * difference / whole) } else { "-".to_owned() };
    let limit = if rows.len() <= room.saturating_add(1) { usize::MAX } else { room };
    let intervals = confidence.map_or_else(String::new, per_what);
    let mut table = Table::new([
        operation_column(),
        Column::number("calls 1").at_least(8).optional(7),
        Column::number("calls 2").at_least(8).optional(6),
        Column::number("us/call 1").at_least(10).optional(3),
        Column::number("us/call 2").at_least(10).optional(2),
        Column::number("2 / 1").at_least(7).optional(1),
        Column::number("trace 1").at_least(11).optional(5),
        Column::number("trace 2").at_least(11).optional(4),
        Column::number("difference").at_least(11),
        Column::name("2 is").gap(1),
        Column::number("share %").at_least(7),
        Column::bar().optional(8),
        Column::name(&intervals).optional(9),
    ]);
    let largest = sorted.first().map_or(0.0, |row| difference(row).abs());
    let tones = |difference_ms: f64, mark: &str| {
        let tone = Tone::of_difference(difference_ms);
        let cell = Cell::from(format!("{difference_ms:+.3}")).toned(tone);
        [cell, mark.into(), share(difference_ms).into(), Cell::part(part(difference_ms, largest)).toned(tone)]
    };
    for row in sorted.iter().take(limit) {
        let verdict = confidence.and_then(|found| of_operation(found, &row.operation));
        let [gap, sign, share, bar] = tones(difference(row), verdict.map_or("", mark));
        let mut cells = vec![
            layout.name(&row.operation, OPERATION, 0).into(),
            row.trace1_pass_calls.to_string().into(),
            row.trace2_pass_calls.to_string().into(),
            format!("{:.2}", row.trace1_us_per_call).into(),
            format!("{:.2}", row.trace2_us_per_call).into(),
            per_call(row).into(),
            format!("{:.3}", row.trace1_per_pass_ms).into(),
            format!("{:.3}", row.trace2_per_pass_ms).into(),
            gap,
            sign,
            share,
            bar,
        ];
        cells.push(verdict.map(words).unwrap_or_default().into());
        table.push(cells);
    }
    let small = sorted.get(limit..).unwrap_or_default();
    if !small.is_empty() {
        let sum = |time: fn(&OperationRow) -> f64| small.iter().map(|row| time(row)).sum::<f64>();
        let (first, second) = (sum(|row| row.trace1_per_pass_ms), sum(|row| row.trace2_per_pass_ms));
        let [gap, sign, share, bar] = tones(second - first, "");
        let mut cells = vec![Cell::from(format!("({} smaller)", small.len()))];
        cells.resize(6, Cell::default());
        cells.extend([format!("{first:.3}").into(), format!("{second:.3}").into(), gap, sign, share, bar]);
        table.push(cells);
    }
    out.push_str(&table.text(layout));
}

/// Time per call of trace 2 by that of trace 1.
fn per_call(row: &OperationRow) -> String {
    if row.trace1_us_per_call > 0.0 {
        format!("{:.3}", row.trace2_us_per_call / row.trace1_us_per_call)
    } else {
        "-".to_owned()
    }
}

fn unmatched(out: &mut String, comparison: &Comparison, elapsed: Option<&ElapsedReport>, layout: Layout) {
    let rows = &comparison.unmatched_operations;
    if rows.is_empty() {
        return;
    }
    let basis = elapsed.map_or(Basis::Whole, |elapsed| elapsed.elapsed.basis);
    let _ = writeln!(out, "\nOPERATIONS OF ONE TRACE, ms of kernels{}: {}", per(basis), rows.len());
    let mut table = Table::new([
        operation_column(),
        Column::number("trace").at_least(5).gap(1),
        Column::number("calls").at_least(8).optional(2),
        Column::number("us/call").at_least(10).optional(1),
        Column::number("ms").at_least(11),
        Column::name("kernel"),
    ]);
    for row in rows {
        table.push([
            Cell::from(layout.name(&row.operation, OPERATION, 0)),
            row.trace.to_string().into(),
            row.count.to_string().into(),
            format!("{:.2}", row.avg_us).into(),
            format!("{:.3}", row.per_pass_ms).into(),
            layout.name(&row.kernel, KERNEL, 0).into(),
        ]);
    }
    out.push_str(&table.text(layout));
}

fn kernels(out: &mut String, row: &OperationRow, show_all: bool, layout: Layout) {
    let _ = writeln!(out, "\nKERNELS OF {}", row.operation);
    let sides = [(&row.trace1_kernels, &row.trace1_cpu_op), (&row.trace2_kernels, &row.trace2_cpu_op)];
    for (number, (kernels, operator)) in (1..).zip(sides) {
        let kernels = kernels.as_deref().unwrap_or_default();
        let shown = if show_all { kernels.len() } else { kernels.len().min(10) };
        let operator = operator.as_deref().unwrap_or("-");
        let _ = writeln!(out, "  trace {number}: {shown} of {} kernels; cpu op: {operator}", kernels.len());
        for kernel in &kernels[..shown] {
            let times = format!("    {:>14.3} us {:>10} x {:>12.3} us  ", kernel.total_us, kernel.count, kernel.avg_us);
            let _ = writeln!(out, "{times}{}", layout.name(&kernel.name, 80, times.chars().count()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracediff::twice_as_long;

    #[test]
    fn the_mark_of_a_verdict_is_there_at_every_width() {
        let document = twice_as_long().expect("a comparison").document;
        for columns in [None, Some(60), Some(80), Some(120), Some(200)] {
            let layout = Layout { columns, ..Layout::default() };
            let report = text(&document, &TextOptions { layout, ..TextOptions::default() });
            let row = report.lines().find(|line| line.starts_with("Dense GEMM")).expect("a row");
            assert!(row.contains(" slow"), "{columns:?}: {row}");
            assert_eq!(columns.is_none_or(|columns| columns > 150), row.contains("slower by"), "{columns:?}: {row}");
        }
    }
}
