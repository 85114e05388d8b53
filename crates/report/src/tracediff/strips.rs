//! One typical layer of each trace, block by block.

use std::fmt::Write as _;

use perfdb_tracediff::{Strip, StripRow};

use super::text_parts::shortened;

/// Kinds of layers that are shown, and names per block and side.
const KINDS_SHOWN: usize = 2;
const NAMES_SHOWN: usize = 3;

/// The strips. Writing to a String cannot fail.
pub(super) fn text(out: &mut String, strips: &[Strip], show_all: bool) {
    let limit = if show_all { usize::MAX } else { KINDS_SHOWN };
    for strip in strips.iter().take(limit) {
        let _ = writeln!(
            out,
            "\nONE TYPICAL LAYER ({}), us: {} such layers in trace 1, {} in trace 2",
            strip.kind, strip.trace1_layers, strip.trace2_layers
        );
        let _ = writeln!(out, "{:<20}{:>11}{:>11}{:>11}  why", "work", "trace 1", "trace 2", "difference");
        for row in &strip.rows {
            let _ = writeln!(
                out,
                "{:<20}{:>11.2}{:>11.2}{:>+11.2}  {}",
                row.family,
                row.trace1_us,
                row.trace2_us,
                row.trace2_us - row.trace1_us,
                row.reason
            );
            names(out, row, show_all);
        }
        let sum = |time: fn(&StripRow) -> f64| strip.rows.iter().map(time).sum::<f64>();
        let (first, second) = (sum(|row| row.trace1_us), sum(|row| row.trace2_us));
        let _ = writeln!(out, "{:<20}{first:>11.2}{second:>11.2}{:>+11.2}", "layer", second - first);
    }
    if strips.len() > limit {
        let _ = writeln!(out, "  ... {} more kinds of layers", strips.len() - limit);
    }
}

fn names(out: &mut String, row: &StripRow, show_all: bool) {
    let sides = [(&row.trace1_names, row.trace1_kernels), (&row.trace2_names, row.trace2_kernels)];
    for (number, (names, kernels)) in (1..).zip(sides) {
        let limit = if show_all { names.len() } else { NAMES_SHOWN.min(names.len()) };
        let shown: Vec<String> = names[..limit].iter().map(|name| shortened(name, 60)).collect();
        let more = if limit < names.len() { format!(" + {} more names", names.len() - limit) } else { String::new() };
        let several = if kernels > 1 { format!(" ({kernels} kernels)") } else { String::new() };
        if kernels > 0 {
            let _ = writeln!(out, "    {number}: {}{more}{several}", shown.join(" + "));
        }
    }
}
