//! Smaller parts of the text report.

use std::fmt::Write as _;

use super::wording::ratio;
use crate::layout::{Cell, Column, Layout, Table, Tone};
use perfdb_tracediff::{LayerRow, OperationRow, Status, UnknownKernel, Warning};

/// Python stacks of the first ten operations that have some, or of all.
pub(super) fn python_stacks(out: &mut String, rows: &[OperationRow], show_all: bool) {
    let limit = if show_all { usize::MAX } else { 10 };
    let with_stacks =
        rows.iter().filter(|row| !row.trace1_python_stacks.is_empty() || !row.trace2_python_stacks.is_empty());
    for row in with_stacks.take(limit) {
        let _ = writeln!(out, "\nPYTHON STACKS OF {}", row.operation);
        for (trace, stacks) in (1..).zip([&row.trace1_python_stacks, &row.trace2_python_stacks]) {
            for (number, stack) in (1..).zip(stacks) {
                let _ = writeln!(out, "  trace {trace}, stack {number}:");
                for frame in stack {
                    let _ = writeln!(out, "    {frame}");
                }
            }
        }
    }
}

/// Layers that a report shows.
const LAYERS_SHOWN: usize = 20;

/// The layer table.
pub(super) fn layers(out: &mut String, rows: &[LayerRow], are_certain: bool, show_all: bool, layout: Layout) {
    let count = |status| rows.iter().filter(|row| row.status == status).count();
    let heading = format!(
        "\n{}: {} in both; trace 2 slower {}, faster {}, similar {}; only in trace 1 {}, only in trace 2 {}\n",
        if are_certain { "LAYERS" } else { "STRETCHES THAT REPEAT (layers not certain)" },
        rows.iter().filter(|row| row.in_both).count(),
        count(Status::Slower),
        count(Status::Faster),
        count(Status::Similar),
        count(Status::Trace1Only),
        count(Status::Trace2Only),
    );
    out.push_str(&layout.wrapped_lines(&heading));
    let shown = if show_all { rows.len() } else { rows.len().min(LAYERS_SHOWN) };
    let mut table = Table::new([
        Column::number("layer").at_least(6),
        Column::name("status").at_least(12).gap(1),
        Column::number("kernels 1").at_least(9).optional(2),
        Column::number("kernels 2").at_least(9).optional(1),
        Column::number("total 1 ms").at_least(11).optional(4),
        Column::number("total 2 ms").at_least(11).optional(3),
        Column::number("2 / 1").at_least(7),
        Column::number("difference").at_least(11),
    ]);
    for row in &rows[..shown] {
        let tone = match row.status {
            Status::Slower => Tone::TooMuch,
            Status::Faster => Tone::TooLittle,
            _ => Tone::Plain,
        };
        table.push([
            Cell::from(row.layer.to_string()),
            row.status.name().into(),
            row.trace1_kernels.to_string().into(),
            row.trace2_kernels.to_string().into(),
            format!("{:.3}", row.trace1_total_ms).into(),
            format!("{:.3}", row.trace2_total_ms).into(),
            ratio(row.trace2_over_trace1).into(),
            Cell::from(format!("{:+.3}", row.difference_ms)).toned(tone),
        ]);
    }
    out.push_str(&table.text(layout));
    if shown < rows.len() {
        let _ = writeln!(out, "  ... {} more", rows.len() - shown);
    }
}

/// Unknown kernels of at least this share are shown.
const UNKNOWN_SHARE: f64 = 0.005;

/// Kernels that no rule knows, as a file of patterns that only lacks their classes. A name of both traces stands once.
pub(super) fn unknown(out: &mut String, rows: &[UnknownKernel], show_all: bool) {
    let matters = |row: &&UnknownKernel| show_all || row.share.is_some_and(|share| share >= UNKNOWN_SHARE);
    let shown: Vec<&UnknownKernel> = rows.iter().filter(matters).collect();
    if shown.is_empty() {
        return;
    }
    let share = |trace: u8| -> f64 {
        100.0 * rows.iter().filter(|row| row.trace == trace).filter_map(|row| row.share).sum::<f64>()
    };
    let _ = writeln!(
        out,
        "\nUNKNOWN KERNELS: {:.1} % of the kernel time of trace 1, {:.1} % of trace 2. Give them a class in a file for --registry:\nrules:",
        share(1),
        share(2)
    );
    let mut said: Vec<&str> = Vec::new();
    for row in &shown {
        if said.contains(&row.name.as_str()) {
            continue;
        }
        said.push(&row.name);
        let shares: Vec<String> = shown
            .iter()
            .filter(|other| other.name == row.name)
            .map(|other| format!("{:.1} % of trace {}", 100.0 * other.share.unwrap_or(0.0), other.trace))
            .collect();
        // A text of JSON is one of YAML.
        let pattern = serde_json::Value::from(row.name.as_str());
        let _ = writeln!(out, "  - {{pattern: {pattern}, op: \"?\"}} # {}", shares.join(", "));
    }
}

/// Warnings that are shown.
const WARNINGS_SHOWN: usize = 3;

pub(super) fn warnings(out: &mut String, warnings: &[Warning], show_all: bool, layout: Layout) {
    if warnings.is_empty() {
        return;
    }
    let shown = if show_all { warnings.len() } else { warnings.len().min(WARNINGS_SHOWN) };
    let more =
        if shown < warnings.len() { format!(" ({} more: --all)", warnings.len() - shown) } else { String::new() };
    let _ = writeln!(out, "\nWARNINGS{more}");
    for warning in &warnings[..shown] {
        let whose = warning.trace.map_or_else(|| "pair".to_owned(), |trace| format!("trace {trace}"));
        let line = format!("{}: {whose}: {} ({})", warning.severity, warning.message, warning.code);
        let _ = writeln!(out, "  {}", layout.wrapped(&line, 2));
    }
}
