//! The report for people.

use std::fmt::Write as _;

use perfdb_tracediff::{
    Comparison, Document, ElapsedReport, Metadata, OperationRow, Platform, Status, UnmatchedOperation,
};

use super::explanation;
use super::text_parts::{general, layers, python_stacks, ratio, shortened, warnings};

/// Characters of an operation's name in its column.
const OPERATION: usize = 25;

/// How much the text report shows.
#[derive(Debug, Clone, PartialEq)]
pub struct TextOptions {
    /// Whether nothing is cut.
    pub show_all: bool,
    /// Whether Python stacks are shown.
    pub stack_traces: bool,
    /// Whether layers are shown.
    pub layers: bool,
    /// Gap in ms beyond which an operation is slower or faster.
    pub threshold_ms: f64,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions { show_all: false, stack_traces: false, layers: false, threshold_ms: 5.0 }
    }
}

/// The report of a comparison; empty for documents that have none (alignments, launch counts, legacy rules).
pub fn text(document: &Document, options: &TextOptions) -> String {
    match document {
        Document::Plain(plain) => {
            let mut out = report(&plain.comparison, plain.elapsed.as_ref(), options);
            if let Some(found) = &plain.explanation {
                out.push_str(&explanation::text(found));
            }
            out
        }
        Document::Full(full) => report(&full.comparison, full.elapsed.as_ref(), options),
        Document::Aligned(_)
        | Document::LaunchCounts(_)
        | Document::Legacy(_)
        | Document::LegacyAligned(_)
        | Document::LegacyFull(_) => String::new(),
    }
}

// Writing to a String cannot fail: results of `write!` are dropped throughout.
fn report(comparison: &Comparison, elapsed: Option<&ElapsedReport>, options: &TextOptions) -> String {
    let mut out = String::new();
    if let Some(elapsed) = elapsed {
        super::elapsed::text(&mut out, elapsed, options.show_all);
    }
    head(&mut out, &comparison.metadata);
    operations(&mut out, &comparison.operations, options.threshold_ms);
    unmatched(&mut out, &comparison.unmatched_operations);
    let limit = if options.show_all { usize::MAX } else { 3 };
    for row in comparison.operations.iter().filter(|row| row.status != Status::Similar).take(limit) {
        kernels(&mut out, row, options.show_all);
    }
    if options.stack_traces {
        python_stacks(&mut out, &comparison.operations, options.show_all);
    }
    if options.layers {
        layers(&mut out, &comparison.layers, options.show_all);
    }
    warnings(&mut out, &comparison.warnings);
    out
}

fn head(out: &mut String, metadata: &Metadata) {
    let phase = if metadata.phase == "all" { String::new() } else { format!(" (phase: {})", metadata.phase) };
    let _ = writeln!(out, "GPU TRACE COMPARISON{phase}\n{}", "=".repeat(132));
    let sides = [
        (
            &metadata.trace1_name,
            metadata.trace1_platform,
            &metadata.trace1_gpu,
            &metadata.trace1_device,
            metadata.trace1_kernels,
            [metadata.trace1_total_ms, metadata.trace1_busy_ms, metadata.trace1_compared_ms],
            metadata.trace1_layers,
            metadata.trace1_passes,
        ),
        (
            &metadata.trace2_name,
            metadata.trace2_platform,
            &metadata.trace2_gpu,
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
    let totals = ratio(total_ratio(metadata.trace1_total_ms, metadata.trace2_total_ms));
    let _ = writeln!(out, "summed kernel time, trace 1 / trace 2: {totals}");
}

/// The name of a GPU behind its vendor, which it may begin with.
fn with_platform(platform: Platform, gpu: &str) -> String {
    match gpu.to_lowercase().starts_with(&platform.name().to_lowercase()) {
        true => gpu.to_owned(),
        false => format!("{} {gpu}", platform.name()),
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn total_ratio(first: f64, second: f64) -> Option<f64> {
    if second > 0.0 {
        Some(first / second)
    } else if first > 0.0 {
        None
    } else {
        Some(1.0)
    }
}

fn operations(out: &mut String, rows: &[OperationRow], threshold_ms: f64) {
    let count = |status| rows.iter().filter(|row| row.status == status).count();
    let _ = writeln!(
        out,
        "\nOPERATIONS: {} compared; trace 1 slower {}, faster {}, similar {} (threshold {} ms)",
        rows.len(),
        count(Status::Slower),
        count(Status::Faster),
        count(Status::Similar),
        general(threshold_ms),
    );
    let _ = writeln!(
        out,
        "{:<26}{:<8}{:>10}{:>10}{:>12}{:>12}{:>13}{:>13}{:>9}{:>9}{:>10}",
        "operation",
        "status",
        "count 1",
        "count 2",
        "avg 1 us",
        "avg 2 us",
        "total 1 ms",
        "total 2 ms",
        "ratio",
        "avg rat.",
        "gap ms"
    );
    for row in rows {
        let _ = writeln!(
            out,
            "{:<26}{:<8}{:>10}{:>10}{:>12.2}{:>12.2}{:>13.3}{:>13.3}{:>9}{:>9}{:>+10.3}",
            shortened(&row.operation, OPERATION),
            row.status.name(),
            row.trace1_count,
            row.trace2_count,
            row.trace1_avg_us,
            row.trace2_avg_us,
            row.trace1_total_ms,
            row.trace2_total_ms,
            ratio(row.ratio),
            ratio(row.avg_ratio),
            row.gap_ms,
        );
    }
}

fn unmatched(out: &mut String, rows: &[UnmatchedOperation]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nONLY IN ONE TRACE: {}", rows.len());
    let _ = writeln!(out, "{:<26}{:>6}{:>10}{:>12}{:>13}  kernel", "operation", "trace", "count", "avg us", "total ms");
    for row in rows {
        let _ = writeln!(
            out,
            "{:<26}{:>6}{:>10}{:>12.2}{:>13.3}  {}",
            shortened(&row.operation, OPERATION),
            row.trace,
            row.count,
            row.avg_us,
            row.total_ms,
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
