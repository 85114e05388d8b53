//! One typical layer of each trace, block by block.

use std::fmt::Write as _;

use perfdb_tracediff::{Basis, Strip, StripRow};

use super::wording::{KERNEL, escaped};
use crate::layout::{Cell, Column, Layout, Table, Tone};

/// Kinds of layers that are shown, and names per block and side.
const KINDS_SHOWN: usize = 2;
const NAMES_SHOWN: usize = 3;

/// The strips. Writing to a String cannot fail.
pub(super) fn text(out: &mut String, strips: &[Strip], basis: Basis, show_all: bool, layout: Layout) {
    let limit = if show_all { usize::MAX } else { KINDS_SHOWN };
    let per = match basis {
        Basis::Pass => " per forward pass",
        Basis::Step => " per step",
        Basis::Whole => "",
    };
    for strip in strips.iter().take(limit) {
        let heading = format!(
            "\nONE TYPICAL LAYER ({}), us: {} of this kind{per} in trace 1, {} in trace 2\n",
            strip.kind,
            runs(strip.trace1_per_pass),
            runs(strip.trace2_per_pass)
        );
        out.push_str(&layout.wrapped_lines(&heading));
        let layer = |time: fn(&StripRow) -> f64| strip.rows.iter().map(time).sum::<f64>();
        let (first, second) = (layer(|row| row.trace1_us), layer(|row| row.trace2_us));
        let mut table = table();
        for row in &strip.rows {
            push(&mut table, row.family, [row.trace1_us, row.trace2_us], &row.reason);
        }
        push(&mut table, "layer", [first, second], "");
        // Below each line of the table stand the names of its kernels.
        let text = table.text(layout);
        let mut lines = text.lines();
        let _ = writeln!(out, "{}", lines.next().unwrap_or_default());
        for row in &strip.rows {
            let _ = writeln!(out, "{}", lines.next().unwrap_or_default());
            escaped(out, layout, |out| names(out, row, show_all, layout));
        }
        lines.for_each(|line| out.extend([line, "\n"]));
    }
    if strips.len() > limit {
        let _ = writeln!(out, "  ... {} more kinds of layers", strips.len() - limit);
    }
}

/// A number of layers per pass; passes of which some lack layers have no whole number.
pub(crate) fn runs(per_pass: f64) -> String {
    if per_pass.fract() == 0.0 { format!("{per_pass}") } else { format!("{per_pass:.1}") }
}

fn table() -> Table {
    Table::new([
        Column::name("work").at_least(20),
        Column::number("trace 1").at_least(9),
        Column::number("trace 2").at_least(9),
        Column::number("difference").at_least(10).gap(1),
        Column::name("why"),
    ])
}

fn push(table: &mut Table, work: &str, [first, second]: [f64; 2], why: &str) {
    let difference = second - first;
    table.push([
        work.into(),
        format!("{first:.2}").into(),
        format!("{second:.2}").into(),
        Cell::from(format!("{difference:+.2}")).toned(Tone::of_difference(difference)),
        why.into(),
    ]);
}

fn names(out: &mut String, row: &StripRow, show_all: bool, layout: Layout) {
    let sides = [(&row.trace1_names, row.trace1_kernels), (&row.trace2_names, row.trace2_kernels)];
    for (number, (names, kernels)) in (1..).zip(sides) {
        let limit = if show_all { names.len() } else { NAMES_SHOWN.min(names.len()) };
        // Several names share the line.
        let used = layout.columns.map_or(0, |columns| columns - columns.saturating_sub(7) / limit.max(1));
        let shown: Vec<String> = names[..limit].iter().map(|name| layout.name(name, KERNEL, used)).collect();
        let more = if limit < names.len() { format!(" + {} more names", names.len() - limit) } else { String::new() };
        let several = if kernels > 1 { format!(" ({kernels} kernels)") } else { String::new() };
        if kernels > 0 {
            let _ = writeln!(out, "    {number}: {}{more}{several}", shown.join(" + "));
        }
    }
}
