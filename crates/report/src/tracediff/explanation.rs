//! Why the times differ, as text and as CSV.

use std::fmt::Write as _;

use perfdb_pycompat::format::fixed;
use perfdb_tracediff::{Difference, Explanation, FamilyDifference, Parts, Share};

use super::records::{push_record, text_cell};
use super::wording::{KERNEL, OPERATION, escaped, per};
use crate::layout::{Cell, Column, Layout, Table, Tone};

/// What the parts of a difference are, in words.
const PARTS: [(&str, &str); 8] = [
    ("calls", "more or fewer calls"),
    ("speed", "slower or faster calls"),
    ("fusion", "calls of more or fewer kernels"),
    ("one_sided", "work in one trace only"),
    ("overlap", "kernels at the same time"),
    ("exposed_copies", "exposed copies"),
    ("host_late", "host late"),
    ("device_idle", "device idle"),
];

fn coverage_rows(explanation: &Explanation) -> [(&'static str, &'static str, Share); 5] {
    let coverage = &explanation.coverage;
    [
        ("classified", "in a known class", coverage.classified),
        ("host_operator", "with a host operator", coverage.host_operator),
        ("python_stack", "with a Python stack", coverage.python_stack),
        ("layered", "in a layer", coverage.layered),
        ("compared", "compared", coverage.compared),
    ]
}

/// The two sections of the text report.
pub(super) fn text(explanation: &Explanation, layout: Layout) -> String {
    let mut out = String::new();
    escaped(&mut out, layout, |out| coverage_text(out, explanation, layout));
    if let Some(difference) = &explanation.difference {
        difference_text(&mut out, difference, layout);
    }
    out
}

fn coverage_text(out: &mut String, explanation: &Explanation, layout: Layout) {
    let _ = writeln!(out, "\nCOVERAGE: kernel time");
    let _ = writeln!(out, "{:<26}{:>13}{:>8}{:>13}{:>8}", "", "trace 1 ms", "%", "trace 2 ms", "%");
    for (_, name, share) in coverage_rows(explanation) {
        let _ = writeln!(
            out,
            "{name:<26}{:>13.3}{:>8}{:>13.3}{:>8}",
            share.trace1_ms,
            percent(share.trace1_percent),
            share.trace2_ms,
            percent(share.trace2_percent)
        );
    }
    if !explanation.coverage.top_unmatched.is_empty() {
        let _ = writeln!(out, "  longest kernels without a counterpart:");
    }
    for kernel in &explanation.coverage.top_unmatched {
        let share = percent(kernel.percent);
        let times =
            format!("    trace {} {:>12.3} ms {share:>7}% {:>10} x  ", kernel.trace, kernel.total_ms, kernel.count);
        let used = times.chars().count() + kernel.operation.chars().count() + 3;
        let name = layout.name(&kernel.kernel, KERNEL, used);
        let _ = writeln!(out, "{times}{name} ({})", kernel.operation);
    }
}

fn difference_text(out: &mut String, difference: &Difference, layout: Layout) {
    let _ = writeln!(
        out,
        "\nWHAT CHANGED, ms{}: {:.3} - {:.3} = {:+.3}",
        per(difference.basis),
        difference.trace2_elapsed_ms,
        difference.trace1_elapsed_ms,
        difference.elapsed_ms
    );
    let _ = writeln!(out, "{:<34}{:>13}{:>9}", "", "ms", "share %");
    let shares = difference.shares_percent.as_ref().map(Parts::named);
    for (at, ((_, name), (_, value))) in PARTS.iter().zip(difference.parts.named()).enumerate() {
        let share = shares.map(|shares| shares[at].1);
        let _ = writeln!(out, "  {name:<32}{value:>+13.3}{:>9}", signed(share));
    }
    let all = shares.map(|shares| shares.iter().map(|(_, share)| share).sum());
    let _ = writeln!(out, "  {:<32}{:>+13.3}{:>9}", "all", difference.elapsed_ms, signed(all));
    let number = |heading: &str| Column::number(heading).at_least(11);
    let mut table = Table::new([
        Column::name("family").at_least(26),
        number("trace 1").optional(2),
        number("trace 2").optional(1),
        number("difference"),
        number("calls").optional(3),
        number("speed").optional(4),
        number("fusion").optional(5),
        number("one-sided").optional(6),
        number("overlap").optional(7),
    ]);
    for row in &difference.families {
        let mut cells = vec![Cell::from(layout.name(&row.family, OPERATION, 0))];
        cells.extend([row.trace1_ms, row.trace2_ms].map(|ms| Cell::from(format!("{ms:.3}"))));
        cells.push(Cell::from(signed_ms(row.difference_ms)).toned(Tone::of_difference(row.difference_ms)));
        let parts = [row.calls_ms, row.speed_ms, row.fusion_ms, row.one_sided_ms, row.overlap_ms];
        cells.extend(parts.map(|ms| Cell::from(signed_ms(ms))));
        table.push(cells);
    }
    out.push_str(&table.text(layout));
}

/// Milliseconds with their sign; no negative zeros.
fn signed_ms(ms: f64) -> String {
    format!("{:+.3}", ms + 0.0)
}

fn signed(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{share:+.1}"))
}

fn percent(percent: Option<f64>) -> String {
    percent.map_or_else(|| "-".to_owned(), |percent| fixed(percent, 1))
}

/// One row per number: times in ms with nine decimals (whole picoseconds), so that sums over rows are exact.
pub(super) fn csv(explanation: &Explanation) -> String {
    let mut out = "section,name,part,trace,count,trace1_ms,trace2_ms,difference_ms,trace1_percent,trace2_percent,\
                   share_percent\n"
        .to_owned();
    for (name, _, share) in coverage_rows(explanation) {
        let cells = Cells {
            times: [Some(share.trace1_ms), Some(share.trace2_ms), None],
            percents: [share.trace1_percent, share.trace2_percent, None],
            ..Cells::new("coverage", name)
        };
        cells.push(&mut out);
    }
    for kernel in &explanation.coverage.top_unmatched {
        let side = usize::from(kernel.trace == 2);
        let mut cells = Cells { part: &kernel.operation, ..Cells::new("unmatched_kernel", &kernel.kernel) };
        cells.trace = Some(kernel.trace);
        cells.count = Some(kernel.count);
        cells.times[side] = Some(kernel.total_ms);
        cells.percents[side] = kernel.percent;
        cells.push(&mut out);
    }
    let Some(difference) = &explanation.difference else { return out };
    let shares = difference.shares_percent.as_ref().map(Parts::named);
    for (at, (name, value)) in difference.parts.named().into_iter().enumerate() {
        let cells = Cells {
            part: name,
            times: [None, None, Some(value)],
            percents: [None, None, shares.map(|shares| shares[at].1)],
            ..Cells::new("difference", "all")
        };
        cells.push(&mut out);
    }
    let elapsed = [difference.trace1_elapsed_ms, difference.trace2_elapsed_ms, difference.elapsed_ms];
    let all = Cells {
        part: "total",
        times: elapsed.map(Some),
        percents: [None, None, shares.map(|shares| shares.iter().map(|(_, share)| share).sum())],
        ..Cells::new("difference", "all")
    };
    all.push(&mut out);
    difference.families.iter().for_each(|row| family(&mut out, row));
    out
}

fn family(out: &mut String, row: &FamilyDifference) {
    let parts = [
        ("calls", row.calls_ms),
        ("speed", row.speed_ms),
        ("fusion", row.fusion_ms),
        ("one_sided", row.one_sided_ms),
        ("overlap", row.overlap_ms),
    ];
    for (part, value) in parts {
        Cells { part, times: [None, None, Some(value)], ..Cells::new("family", &row.family) }.push(out);
    }
    let times = [row.trace1_ms, row.trace2_ms, row.difference_ms].map(Some);
    Cells { part: "total", times, ..Cells::new("family", &row.family) }.push(out);
}

/// One row of the CSV.
struct Cells<'a> {
    section: &'a str,
    name: &'a str,
    part: &'a str,
    trace: Option<u8>,
    count: Option<u64>,
    times: [Option<f64>; 3],
    percents: [Option<f64>; 3],
}

impl<'a> Cells<'a> {
    fn new(section: &'a str, name: &'a str) -> Cells<'a> {
        Cells { section, name, part: "", trace: None, count: None, times: [None; 3], percents: [None; 3] }
    }

    fn push(&self, out: &mut String) {
        let mut cells = vec![self.section.to_owned(), text_cell(self.name), text_cell(self.part)];
        cells.push(self.trace.map(|trace| trace.to_string()).unwrap_or_default());
        cells.push(self.count.map(|count| count.to_string()).unwrap_or_default());
        cells.extend(self.times.map(|time| time.map(|time| fixed(time, 9)).unwrap_or_default()));
        cells.extend(self.percents.map(|percent| percent.map(|percent| fixed(percent, 1)).unwrap_or_default()));
        push_record(out, &cells);
    }
}
