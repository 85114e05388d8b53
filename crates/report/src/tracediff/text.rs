//! The report for people.

use std::fmt::Write as _;

use perfdb_tracediff::{
    Basis, Comparison, Confidence, Document, ElapsedReport, Metadata, OperationRow, Platform, Rooflines, Status, Strip,
    Trust,
};

use super::elapsed::per;
use super::explanation;
use super::text_parts::{counted, general, layers, python_stacks, shortened, unknown, warnings};

/// Operations that are shown although they do not matter.
const OPERATIONS_SHOWN: usize = 8;
/// Operations whose kernels are shown.
const ROWS_WITH_KERNELS: usize = 5;
/// Characters of an operation's name in its column.
const OPERATION: usize = 25;

/// How much the text report shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextOptions {
    /// Whether nothing is cut.
    pub show_all: bool,
    /// Whether Python stacks are shown.
    pub stack_traces: bool,
    /// Whether layers are shown.
    pub layers: bool,
    /// Gap in ms beyond which an operation is slower or faster, if one was asked for.
    pub threshold_ms: Option<f64>,
}

/// The report of a comparison; empty for documents that have none (alignments, launch counts, legacy rules).
pub fn text(document: &Document, options: &TextOptions) -> String {
    match document {
        Document::Plain(plain) => {
            let found = Found {
                comparison: &plain.comparison,
                elapsed: plain.elapsed.as_ref(),
                confidence: plain.confidence.as_ref(),
                trust: plain.trust.as_ref(),
                strips: &plain.strips,
                roofline: plain.roofline.as_ref(),
            };
            let mut out = report(&found, options);
            if let Some(found) = &plain.explanation {
                out.push_str(&explanation::text(found));
            }
            out
        }
        Document::Full(full) => {
            let found = Found {
                comparison: &full.comparison,
                elapsed: full.elapsed.as_ref(),
                confidence: full.confidence.as_ref(),
                trust: full.trust.as_ref(),
                strips: &full.strips,
                roofline: full.roofline.as_ref(),
            };
            report(&found, options)
        }
        Document::Aligned(_)
        | Document::LaunchCounts(_)
        | Document::Legacy(_)
        | Document::LegacyAligned(_)
        | Document::LegacyFull(_) => String::new(),
    }
}

/// What a report is made of.
struct Found<'a> {
    comparison: &'a Comparison,
    elapsed: Option<&'a ElapsedReport>,
    confidence: Option<&'a Confidence>,
    trust: Option<&'a Trust>,
    strips: &'a [Strip],
    roofline: Option<&'a Rooflines>,
}

// Writing to a String cannot fail: results of `write!` are dropped throughout.
fn report(found: &Found<'_>, options: &TextOptions) -> String {
    let Found { comparison, elapsed, confidence, trust, strips, roofline } = *found;
    let mut out = String::new();
    if let Some(trust) = trust {
        super::elapsed::trust(&mut out, trust);
    }
    if let Some(elapsed) = elapsed {
        super::elapsed::text(&mut out, elapsed, confidence, trust, options.show_all);
    }
    head(&mut out, &comparison.metadata);
    operations(&mut out, comparison, elapsed, confidence, options);
    unmatched(&mut out, comparison, elapsed);
    if let Some(roofline) = roofline {
        let basis = elapsed.map_or(Basis::Whole, |elapsed| elapsed.elapsed.basis);
        super::rooflines::text(&mut out, roofline, basis, options.show_all);
    }
    super::strips::text(&mut out, strips, options.show_all);
    for row in rows_that_matter(&comparison.operations, options.show_all) {
        kernels(&mut out, row, options.show_all);
    }
    if options.stack_traces {
        python_stacks(&mut out, &comparison.operations, options.show_all);
    }
    if options.layers {
        layers(&mut out, &comparison.layers, options.show_all);
    }
    unknown(&mut out, &comparison.unknown_kernels, options.show_all);
    warnings(&mut out, &comparison.warnings);
    out
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

fn head(out: &mut String, metadata: &Metadata) {
    let phase = if metadata.phase == "all" { String::new() } else { format!(" (phase: {})", metadata.phase) };
    let _ = writeln!(out, "GPU TRACE COMPARISON{phase}\n{}", "=".repeat(132));
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
        let _ = writeln!(out, "trace {number}: {} [{name}]", with_platform(platform, gpu));
        let _ = writeln!(
            out,
            "  compute {}, {:.1} GB, {} SMs, warp {}",
            device.compute_capability, device.total_memory_gb, device.sm_count, device.warp_size
        );
        let _ = writeln!(
            out,
            "  {kernels} kernels, total {total:.3} ms, busy {busy:.3} ms, compared {compared:.3} ms, {}, {}",
            counted(layers, "layer", "layers"),
            counted(passes, "pass", "passes")
        );
    }
}

/// The name of a GPU behind its vendor, which it may begin with.
fn with_platform(platform: Platform, gpu: &str) -> String {
    match gpu.to_lowercase().starts_with(&platform.name().to_lowercase()) {
        true => gpu.to_owned(),
        false => format!("{} {gpu}", platform.name()),
    }
}

/// Rows of both traces by their difference per pass; those that do not matter stand together.
fn operations(
    out: &mut String,
    comparison: &Comparison,
    elapsed: Option<&ElapsedReport>,
    confidence: Option<&Confidence>,
    options: &TextOptions,
) {
    let rows = &comparison.operations;
    let basis = elapsed.map_or(Basis::Whole, |elapsed| elapsed.elapsed.basis);
    let whole = elapsed.map_or(0.0, |elapsed| elapsed.elapsed.trace1.per_pass_ms);
    let threshold = match (options.threshold_ms, elapsed) {
        (Some(limit), _) => format!("{} ms in all", general(limit)),
        (None, Some(elapsed)) => format!("1 % of the elapsed time of trace 1, {:.3} ms", elapsed.threshold_ms),
        (None, None) => "5 ms in all".to_owned(),
    };
    let matter = rows.iter().filter(|row| row.status != Status::Similar).count();
    let _ = writeln!(
        out,
        "\nOPERATIONS OF BOTH TRACES, ms of kernels{}: {} compared, {matter} differ by more than {threshold}",
        per(basis),
        rows.len(),
    );
    let _ = writeln!(
        out,
        "{:<26}{:>10}{:>10}{:>12}{:>12}{:>9}{:>13}{:>13}{:>13}{:>9}{}",
        "operation",
        "calls 1",
        "calls 2",
        "us/call 1",
        "us/call 2",
        "2 / 1",
        "trace 1",
        "trace 2",
        "difference",
        "share %",
        if confidence.is_some() { "  how sure" } else { "" }
    );
    let mut sorted: Vec<&OperationRow> = rows.iter().collect();
    let difference = |row: &OperationRow| row.trace2_per_pass_ms - row.trace1_per_pass_ms;
    // Stable: rows come by gap, then name.
    sorted.sort_by(|a, b| difference(b).abs().total_cmp(&difference(a).abs()));
    let share = |difference: f64| match whole > 0.0 {
        true => format!("{:+.1}", 100.0 * difference / whole),
        false => "-".to_owned(),
    };
    let limit = if options.show_all { usize::MAX } else { matter.max(OPERATIONS_SHOWN) };
    for row in sorted.iter().take(limit) {
        let verdict = confidence.and_then(|found| super::confidence::of_operation(found, &row.operation));
        let verdict = verdict.map_or_else(String::new, |verdict| format!("  {verdict}"));
        let _ = writeln!(
            out,
            "{:<26}{:>10}{:>10}{:>12.2}{:>12.2}{:>9}{:>13.3}{:>13.3}{:>+13.3}{:>9}{verdict}",
            shortened(&row.operation, OPERATION),
            row.trace1_count,
            row.trace2_count,
            row.trace1_avg_us,
            row.trace2_avg_us,
            per_call(row),
            row.trace1_per_pass_ms,
            row.trace2_per_pass_ms,
            difference(row),
            share(difference(row)),
        );
    }
    let small = sorted.get(limit..).unwrap_or_default();
    if !small.is_empty() {
        let sum = |time: fn(&OperationRow) -> f64| small.iter().map(|row| time(row)).sum::<f64>();
        let (first, second) = (sum(|row| row.trace1_per_pass_ms), sum(|row| row.trace2_per_pass_ms));
        let _ = writeln!(
            out,
            "{:<79}{first:>13.3}{second:>13.3}{:>+13.3}{:>9}",
            format!("({} smaller)", small.len()),
            second - first,
            share(second - first)
        );
    }
}

/// Time per call of trace 2 by that of trace 1.
fn per_call(row: &OperationRow) -> String {
    match row.trace1_avg_us > 0.0 {
        true => format!("{:.3}", row.trace2_avg_us / row.trace1_avg_us),
        false => "-".to_owned(),
    }
}

fn unmatched(out: &mut String, comparison: &Comparison, elapsed: Option<&ElapsedReport>) {
    let rows = &comparison.unmatched_operations;
    if rows.is_empty() {
        return;
    }
    let basis = elapsed.map_or(Basis::Whole, |elapsed| elapsed.elapsed.basis);
    let _ = writeln!(out, "\nOPERATIONS OF ONE TRACE, ms of kernels{}: {}", per(basis), rows.len());
    let _ = writeln!(out, "{:<26}{:>6}{:>10}{:>12}{:>13}  kernel", "operation", "trace", "calls", "us/call", "ms");
    for row in rows {
        let _ = writeln!(
            out,
            "{:<26}{:>6}{:>10}{:>12.2}{:>13.3}  {}",
            shortened(&row.operation, OPERATION),
            row.trace,
            row.count,
            row.avg_us,
            row.per_pass_ms,
            shortened(&row.kernel, 60)
        );
    }
}

fn kernels(out: &mut String, row: &OperationRow, show_all: bool) {
    let _ = writeln!(out, "\nKERNELS OF {}", row.operation);
    let sides = [(&row.trace1_kernels, &row.trace1_cpu_op), (&row.trace2_kernels, &row.trace2_cpu_op)];
    for (number, (kernels, operator)) in (1..).zip(sides) {
        let kernels = kernels.as_deref().unwrap_or_default();
        let shown = if show_all { kernels.len() } else { kernels.len().min(10) };
        let operator = operator.as_deref().unwrap_or("-");
        let _ = writeln!(out, "  trace {number}: {shown} of {} kernels; cpu op: {operator}", kernels.len());
        for kernel in &kernels[..shown] {
            let _ = writeln!(
                out,
                "    {:>14.3} us {:>10} x {:>12.3} us  {}",
                kernel.total_us,
                kernel.count,
                kernel.avg_us,
                shortened(&kernel.name, 80)
            );
        }
    }
}
