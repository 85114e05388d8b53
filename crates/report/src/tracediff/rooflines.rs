//! Hardware or kernel, as text and as CSV.

use std::fmt::Write as _;

use perfdb_pycompat::format::fixed;
use perfdb_tracediff::{Basis, RooflineRow, Rooflines};

use super::csv::{push_record, text_cell};
use super::elapsed::per;
use super::text_parts::shortened;

/// Rows that are shown where not all are.
const SHOWN: usize = 8;

const HEADER: &str = "operator,shapes,types,unit,bound,trace1_calls,trace2_calls,trace1_ms,trace2_ms,gflop,mib,trace1_tflop_s,\
trace2_tflop_s,trace1_tb_s,trace2_tb_s,trace1_efficiency,trace2_efficiency,roofline_ratio,efficiency_ratio,work_ms,hardware_ms,\
kernel_ms\n";

/// The section of the text report; nothing where no operator has shapes and no graph was replayed.
pub(super) fn text(out: &mut String, found: &Rooflines, basis: Basis, show_all: bool) {
    if !found.operations.is_empty() {
        operations(out, found, basis, show_all);
    }
    replays(out, found);
}

fn operations(out: &mut String, found: &Rooflines, basis: Basis, show_all: bool) {
    let _ = writeln!(
        out,
        "\nHARDWARE OR KERNEL, ms of kernels{}: shapes and peaks are known for {:.1} % and {:.1} % of the time of computing kernels",
        per(basis),
        100.0 * found.coverage_trace1,
        100.0 * found.coverage_trace2
    );
    if !found.verdict.is_empty() {
        let _ = writeln!(out, "{}", found.verdict);
    }
    let _ = writeln!(
        out,
        "{:<22}{:>8}{:>8}{:>11}{:>11}{:>12}{:>10}{:>10}{:>10}{:>9}{:>9}  {:<16} shapes",
        "operator",
        "calls 1",
        "calls 2",
        "trace 1",
        "trace 2",
        "difference",
        "work",
        "hardware",
        "kernel",
        "% peak 1",
        "% peak 2",
        "bound"
    );
    let shown = if show_all { usize::MAX } else { SHOWN };
    for row in found.operations.iter().take(shown) {
        let _ = writeln!(
            out,
            "{:<22}{:>8}{:>8}{:>11.3}{:>11.3}{:>12}{:>10}{:>10}{:>10}{:>9}{:>9}  {:<16} {}",
            shortened(&row.operator, 21),
            row.trace1_calls,
            row.trace2_calls,
            row.trace1_ms,
            row.trace2_ms,
            signed(Some(row.trace2_ms - row.trace1_ms)),
            signed(row.work_ms),
            signed(row.hardware_ms),
            signed(row.kernel_ms),
            percent(row.trace1_efficiency),
            percent(row.trace2_efficiency),
            row.bound,
            shortened(&format!("{} {}", row.shapes, row.types), 60),
        );
    }
    let rest = found.operations.get(shown.min(found.operations.len())..).unwrap_or_default();
    if !rest.is_empty() {
        let sum = |part: fn(&RooflineRow) -> f64| rest.iter().map(part).sum::<f64>();
        let (first, second) = (sum(|row| row.trace1_ms), sum(|row| row.trace2_ms));
        let part = |part: fn(&RooflineRow) -> Option<f64>| signed(Some(rest.iter().filter_map(part).sum()));
        let _ = writeln!(
            out,
            "{:<38}{first:>11.3}{second:>11.3}{:>12}{:>10}{:>10}{:>10}",
            format!("({} smaller)", rest.len()),
            signed(Some(second - first)),
            part(|row| row.work_ms),
            part(|row| row.hardware_ms),
            part(|row| row.kernel_ms)
        );
    }
    if found.time_ratio.is_some() {
        let _ = writeln!(
            out,
            "{:<60}{:>12}{:>10}{:>10}{:>10}  {} in one trace only, {} without shapes or peaks",
            "all computing kernels",
            signed(Some(found.difference_ms)),
            signed(Some(found.work_ms)),
            signed(Some(found.hardware_ms)),
            signed(Some(found.kernel_ms)),
            signed(Some(found.one_sided_ms)),
            signed(Some(found.other_ms))
        );
    }
    for row in found.too_efficient() {
        let _ = writeln!(
            out,
            "  faster than its peak allows: {} {}: a wrong peak, data from caches, or less work than its shapes say",
            row.operator, row.shapes
        );
    }
}

/// What is known of replayed graphs, and how to know more.
fn replays(out: &mut String, found: &Rooflines) {
    let sides = [(1, found.trace1_replayed, found.trace1_captured), (2, found.trace2_replayed, found.trace2_captured)];
    let replayed: Vec<_> = sides.into_iter().filter(|(_, replayed, _)| *replayed > 0.0).collect();
    if !replayed.is_empty() {
        out.push_str("\nREPLAYED GRAPHS\n");
    }
    for (number, replayed, captured) in replayed {
        let _ = match captured {
            Some(captured) => writeln!(
                out,
                "  trace {number}: {:.1} % of kernel time; the capture gave {:.1} % of these kernels their operator",
                100.0 * replayed,
                100.0 * captured
            ),
            None => writeln!(
                out,
                "  trace {number}: {:.1} % of kernel time has no operator and no shapes; --capture{number} FILE joins the trace of the capture",
                100.0 * replayed
            ),
        };
    }
}

fn signed(value: Option<f64>) -> String {
    // No negative zeros.
    value.map_or_else(|| "-".to_owned(), |value| format!("{:+.3}", if value.abs() < 5e-4 { 0.0 } else { value }))
}

fn percent(part: Option<f64>) -> String {
    part.map_or_else(|| "-".to_owned(), |part| fixed(100.0 * part, 1))
}

/// A row per operator and shapes. Times are per pass, in ms.
pub(super) fn csv(found: &Rooflines) -> String {
    let mut out = HEADER.to_owned();
    let some = |value: Option<f64>, digits: usize| value.map(|value| fixed(value, digits)).unwrap_or_default();
    for row in &found.operations {
        let cells = [
            text_cell(&row.operator),
            text_cell(&row.shapes),
            text_cell(&row.types),
            row.unit.to_owned(),
            row.bound.to_owned(),
            row.trace1_calls.to_string(),
            row.trace2_calls.to_string(),
            fixed(row.trace1_ms, 9),
            fixed(row.trace2_ms, 9),
            fixed(row.gflop, 9),
            fixed(row.mib, 9),
            some(row.trace1_tflop_s, 6),
            some(row.trace2_tflop_s, 6),
            some(row.trace1_tb_s, 6),
            some(row.trace2_tb_s, 6),
            some(row.trace1_efficiency, 6),
            some(row.trace2_efficiency, 6),
            some(row.roofline_ratio, 6),
            some(row.efficiency_ratio, 6),
            some(row.work_ms, 9),
            some(row.hardware_ms, 9),
            some(row.kernel_ms, 9),
        ];
        push_record(&mut out, &cells);
    }
    out
}
