//! Hardware or kernel, as text and as CSV.

use std::fmt::Write as _;

use perfdb_pycompat::format::fixed;
use perfdb_tracediff::{Basis, RooflineRow, Rooflines};

use super::records::{push_record, text_cell};
use super::wording::{counted, escaped, per};
use crate::layout::{Cell, Column, Layout, Table, Tone};

/// Rows that are shown where not all are.
const SHOWN: usize = 8;

const HEADER: &str = "operator,shapes,types,unit,bound,trace1_calls,trace2_calls,trace1_ms,trace2_ms,gflop,mib,trace1_tflop_s,\
trace2_tflop_s,trace1_tb_s,trace2_tb_s,trace1_efficiency,trace2_efficiency,roofline_ratio,efficiency_ratio,work_ms,hardware_ms,\
kernel_ms\n";

/// The section of the text report; nothing where no operator has shapes and no graph was replayed.
pub(super) fn text(out: &mut String, found: &Rooflines, basis: Basis, show_all: bool, layout: Layout) {
    if !found.operations.is_empty() {
        escaped(out, layout, |out| heading(out, found, basis));
        operations(out, found, show_all, layout);
        escaped(out, layout, |out| too_efficient(out, found));
    }
    escaped(out, layout, |out| {
        unknown_windows(out, found);
        replays(out, found);
    });
}

/// Attention that has no figures for one reason alone, and how to give it some.
fn unknown_windows(out: &mut String, found: &Rooflines) {
    let calls = found.trace1_unknown_windows + found.trace2_unknown_windows;
    if calls > 0 {
        let calls = counted(calls, "call", "calls");
        let _ = writeln!(
            out,
            "  {calls} of attention without figures: nothing says whether a window hides keys; --unwindowed says that none does"
        );
    }
}

fn heading(out: &mut String, found: &Rooflines, basis: Basis) {
    let _ = writeln!(
        out,
        "\nHARDWARE OR KERNEL, ms of kernels{}: shapes and peaks are known for {:.1} % and {:.1} % of the time of computing kernels",
        per(basis),
        100.0 * found.coverage_trace1,
        100.0 * found.coverage_trace2
    );
    for said in [&found.verdict, &found.unknown_peaks].into_iter().filter(|said| !said.is_empty()) {
        let _ = writeln!(out, "{said}");
    }
}

fn operations(out: &mut String, found: &Rooflines, show_all: bool, layout: Layout) {
    let mut table = Table::new([
        Column::name("operator").at_least(22),
        Column::number("calls 1").at_least(7).gap(1).optional(9),
        Column::number("calls 2").at_least(7).gap(1).optional(8),
        Column::number("trace 1").at_least(9).optional(7),
        Column::number("trace 2").at_least(9).optional(6),
        Column::number("difference").at_least(10),
        Column::number("work").at_least(8).optional(3),
        Column::number("hardware").at_least(8).optional(1),
        Column::number("kernel").at_least(8).optional(2),
        Column::number("% peak 1").at_least(8).gap(1).optional(5),
        Column::number("% peak 2").at_least(8).gap(1).optional(4),
        Column::name("bound").at_least(16).optional(10),
        Column::name("shapes").gap(1).optional(11),
    ]);
    let shown = if show_all { usize::MAX } else { SHOWN };
    for row in found.operations.iter().take(shown) {
        let difference_ms = row.trace2_ms - row.trace1_ms;
        table.push([
            Cell::from(layout.name(&row.operator, 21, 0)),
            row.trace1_calls.to_string().into(),
            row.trace2_calls.to_string().into(),
            format!("{:.3}", row.trace1_ms).into(),
            format!("{:.3}", row.trace2_ms).into(),
            Cell::from(signed(Some(difference_ms))).toned(Tone::of_difference(difference_ms)),
            signed(row.work_ms).into(),
            signed(row.hardware_ms).into(),
            signed(row.kernel_ms).into(),
            percent(row.trace1_efficiency).into(),
            percent(row.trace2_efficiency).into(),
            row.bound.into(),
            layout.name(&format!("{} {}", row.shapes, row.types), 60, 0).into(),
        ]);
    }
    let mut sum = |name: &str, times: [Option<String>; 2], parts: [Option<f64>; 4], shapes: String| {
        let [first, second] = times.map(|time| Cell::from(time.unwrap_or_default()));
        let [difference, work, hardware, kernel] = parts.map(|part| Cell::from(signed(part)));
        let none = Cell::default;
        let cells = [name.into(), none(), none(), first, second, difference, work, hardware, kernel];
        table.push(cells.into_iter().chain([none(), none(), none(), shapes.into()]));
    };
    let rest = found.operations.get(shown.min(found.operations.len())..).unwrap_or_default();
    if !rest.is_empty() {
        let [first, second] = [|row: &RooflineRow| row.trace1_ms, |row: &RooflineRow| row.trace2_ms]
            .map(|part| rest.iter().map(part).sum::<f64>());
        let part = |part: fn(&RooflineRow) -> Option<f64>| Some(rest.iter().filter_map(part).sum());
        let parts =
            [Some(second - first), part(|row| row.work_ms), part(|row| row.hardware_ms), part(|row| row.kernel_ms)];
        let times = [first, second].map(|ms| Some(format!("{ms:.3}")));
        sum(&format!("({} smaller)", rest.len()), times, parts, String::new());
    }
    if found.time_ratio.is_some() {
        let parts = [found.difference_ms, found.work_ms, found.hardware_ms, found.kernel_ms].map(Some);
        sum("all computing kernels", [None, None], parts, String::new());
    }
    out.push_str(&table.text(layout));
    if found.time_ratio.is_some() {
        let [one_sided, other] = [found.one_sided_ms, found.other_ms].map(|ms| signed(Some(ms)));
        let line = format!("  of these {one_sided} in one trace only, {other} without shapes or peaks\n");
        out.push_str(&layout.wrapped_lines(&line));
    }
}

fn too_efficient(out: &mut String, found: &Rooflines) {
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
