//! The headline of the text report: elapsed time, and what makes it differ.

use std::fmt::Write as _;

use perfdb_tracediff::{Basis, Elapsed, ElapsedReport, TraceElapsed, WaterfallRow};

use super::text_parts::shortened;

/// Share of the time of trace 1 below which a row is one of the smaller ones.
const SMALL_SHARE: f64 = 0.01;

/// The first lines of the report. Writing to a String cannot fail.
pub(super) fn text(out: &mut String, report: &ElapsedReport, show_all: bool) {
    let Elapsed { trace1, trace2, ratio, basis } = &report.elapsed;
    let (per, counted) = match basis {
        Basis::Pass => (" per forward pass", "pass"),
        Basis::Step => (" per step", "step"),
        Basis::Whole => (" of the whole", ""),
    };
    let ratio = ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
    let _ = write!(
        out,
        "elapsed{per}, trace 2 / trace 1: {ratio} ({:.3} ms / {:.3} ms",
        trace2.per_pass_ms, trace1.per_pass_ms
    );
    let _ = match basis {
        Basis::Whole => writeln!(out, "; nothing tells forward passes apart)"),
        Basis::Pass | Basis::Step => writeln!(out, "; {}", passes(trace1, trace2, counted)),
    };
    let _ = writeln!(out, "{}", report.verdict);
    let _ = writeln!(
        out,
        "\nFROM TRACE 1 TO TRACE 2, ms{per}\n{:<26}{:>13}{:>13}{:>13}{:>9}",
        "", "trace 1", "trace 2", "difference", "share %"
    );
    let is_small = |row: &&WaterfallRow| !show_all && row.share.is_some_and(|share| share.abs() < SMALL_SHARE);
    let shown = report.waterfall.iter().filter(|row| !is_small(row));
    shown.for_each(|row| line(out, &row.row, row.trace1_ms, row.trace2_ms, trace1));
    let small: Vec<&WaterfallRow> = report.waterfall.iter().filter(is_small).collect();
    if !small.is_empty() {
        let sum = |time: fn(&WaterfallRow) -> f64| small.iter().map(|row| time(row)).sum();
        line(out, &format!("({} smaller)", small.len()), sum(|row| row.trace1_ms), sum(|row| row.trace2_ms), trace1);
    }
    line(out, "elapsed", trace1.per_pass_ms, trace2.per_pass_ms, trace1);
    for (number, trace) in (1..).zip([trace1, trace2]) {
        for copies in &trace.copies {
            let speed = copies.gb_per_s.map_or_else(String::new, |speed| format!(", {speed:.1} GB/s"));
            let _ = writeln!(
                out,
                "copies of trace {number}, {}: {}, {:.3} ms, {:.3} ms exposed{speed}",
                copies.kind, copies.count, copies.total_ms, copies.exposed_ms
            );
        }
    }
    out.push('\n');
}

fn passes(trace1: &TraceElapsed, trace2: &TraceElapsed, counted: &str) -> String {
    let plural = if counted == "pass" { "passes" } else { "steps" };
    let many = |count: u64| if count == 1 { counted } else { plural };
    if trace1.passes == trace2.passes {
        return format!("{} {} each)", trace1.passes, many(trace1.passes));
    }
    format!("{} and {} {plural})", trace1.passes, trace2.passes)
}

fn line(out: &mut String, name: &str, first: f64, second: f64, trace1: &TraceElapsed) {
    let difference = second - first;
    let share = match trace1.per_pass_ms > 0.0 {
        true => format!("{:+.1}", 100.0 * difference / trace1.per_pass_ms),
        false => "-".to_owned(),
    };
    let _ = writeln!(out, "{:<26}{first:>13.3}{second:>13.3}{difference:>+13.3}{share:>9}", shortened(name, 25));
}
