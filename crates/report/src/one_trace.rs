//! Where the time of one trace goes: text, Markdown, CSV and bounded JSON.

use std::fmt::Write as _;

mod bounded;
mod list;
mod tracks;

pub use bounded::{bounded_csv, bounded_html, bounded_json, bounded_markdown, bounded_text};
pub use list::steps;
pub use tracks::tracks;

use crate::layout::Layout;
use crate::screen::{COLUMNS, LINES};
use crate::tracediff::{found_by, phases_of, push_record};
use perfdb_tracediff::{Advice, ClassRow, CollectiveRow, LayersRow, OneTrace, OperatorRow};

/// Classes and operators that the text lists at most.
const CLASSES: usize = 8;
const OPERATORS: usize = 8;
/// The same where the screen has no room for more: the most that fit are listed.
const FEWER: [[usize; 2]; 9] = [[8, 6], [8, 5], [7, 5], [6, 5], [6, 4], [5, 4], [5, 3], [4, 3], [4, 2]];
/// Characters of the line about the trace in Markdown.
const MARKDOWN_WIDTH: usize = 120;
/// Why no roof is known.
const NO_SHAPES: &str = "no shapes: record_shapes=True of the profiler adds them";

/// The text for one screen: the figures of a step are means over steps and devices. `lines` stand first.
pub fn text(one: &OneTrace, lines: &[String], layout: Layout) -> String {
    let width = layout.columns.unwrap_or(COLUMNS);
    let on_screen = |text: &String| text.lines().map(|line| line.chars().count().div_ceil(width).max(1)).sum::<usize>();
    let text = |[most_classes, most_operators]: [usize; 2]| with_rows(one, lines, layout, most_classes, most_operators);
    let mut shown = text([CLASSES, OPERATORS]);
    for rows in FEWER {
        if on_screen(&shown) <= LINES {
            break;
        }
        shown = text(rows);
    }
    shown
}

fn with_rows(one: &OneTrace, lines: &[String], layout: Layout, most_classes: usize, most_operators: usize) -> String {
    let width = layout.columns.unwrap_or(COLUMNS);
    let mut out: Vec<String> = lines.iter().map(|line| plain(line)).collect();
    out.push(about(one, width));
    out.extend(left_out(one));
    out.extend(found_passes(one));
    out.push(String::new());
    let what = match one.steps.len() {
        _ if one.step_count == 0 => "whole trace".to_owned(),
        1 => "step".to_owned(),
        steps => format!("step (mean of {steps})"),
    };
    out.push(format!("{:<27}{:>11}{:>9}", "WHERE THE TIME GOES", "ms", "share"));
    for (name, ms) in parts(one) {
        out.push(format!("{name:<27}{ms:>11.3}{:>7.1} %", percent(ms, one.per_step_ms)));
    }
    out.push(format!("{what:<27}{:>11.3}{:>7.1} %", one.per_step_ms, 100.0));
    out.push(String::new());
    out.push(format!("{:<27}{:>11}{:>9}{:>10}   (own time)", "BY CLASS", "ms", "share", "kernels"));
    for ClassLine { name, ms, kernels, kinds } in classes(one, most_classes) {
        let name = cut(&name, 26);
        let line = format!("{name:<27}{ms:>11.3}{:>7.1} %{:>10}", percent(ms, one.per_step_ms), count(kernels));
        out.push(if kinds.is_empty() { line } else { cut(&format!("{line}   {kinds}"), width) });
    }
    if !one.operators.is_empty() {
        out.push(String::new());
        out.extend(operators(one, width, most_operators));
    }
    out.push(String::new());
    // Words that do not fit go on below, behind the heading.
    let said = |before: &str, text: &str| {
        format!("{before}{}", layout_of(width).wrapped(&plain(text), before.chars().count()))
    };
    if let Some(layers) = &one.layers {
        let rows: Vec<String> =
            layers.rows.iter().take(4).map(|row| format!("{} {:.3}", row.family, row.us / 1e3)).collect();
        let each = format!("{:.3} ms each: {}", layers.per_layer_ms, rows.join(", "));
        out.push(said("LAYERS  ", &format!("{} of {each}", layers_and_runs(layers))));
    }
    for (number, advice) in one.next.iter().enumerate() {
        let before = format!("{}  {}. ", if number == 0 { "NEXT" } else { "    " }, number + 1);
        out.push(said(&before, &advised(advice)));
    }
    layout.wrapped_lines(&(out.join("\n") + "\n"))
}

fn layout_of(width: usize) -> Layout {
    Layout { columns: Some(width), ..Layout::default() }
}

/// The heading of operators, those that take most time, and how many others there are.
fn operators(one: &OneTrace, width: usize, most: usize) -> Vec<String> {
    let name_width = if width < COLUMNS { 23 } else { 27 };
    let heading = if has_shapes(one) { "OPERATORS BY SHAPE" } else { "OPERATORS" };
    let heading = format!("{heading:<name_width$}{:>7}{:>10}{:>8}", "calls", "ms", "share");
    let mut out = vec![if has_shapes(one) {
        format!("{heading}{:>7}  bound    shapes", "% roof")
    } else {
        format!("{heading}   ({NO_SHAPES})")
    }];
    out.extend(one.operators.iter().take(most).map(|row| cut(&operator(one, row, name_width), width)));
    match one.operators.len().saturating_sub(most) {
        0 => {}
        others => out.push(format!("… and {others} more in -o FILE.json and FILE.html")),
    }
    out
}

/// `24 layers`, or `36 layers (180 runs)` where the model runs several times in a step.
pub(crate) fn layers_and_runs(layers: &LayersRow) -> String {
    if layers.runs == layers.count {
        format!("{} layers", layers.count)
    } else {
        format!("{} layers ({} runs)", layers.count, layers.runs)
    }
}

/// The same tables for a comment on a change.
pub fn markdown(one: &OneTrace, lines: &[String]) -> String {
    let mut out = format!("**{}**\n\n{}\n", lines.join("; "), escaped(&about(one, MARKDOWN_WIDTH)));
    for line in left_out(one).into_iter().chain(found_passes(one)) {
        let _ = writeln!(out, "\n{line}");
    }
    out.push_str("\n| Where the time goes | ms | share |\n|---|---:|---:|\n");
    for (name, ms) in parts(one) {
        let _ = writeln!(out, "| {name} | {ms:.3} | {:.1} % |", percent(ms, one.per_step_ms));
    }
    out.push_str("\n| Class | ms | share | kernels |\n|---|---:|---:|---:|\n");
    for ClassLine { name, ms, kernels, kinds } in classes(one, CLASSES) {
        let share = percent(ms, one.per_step_ms);
        let name = if kinds.is_empty() { name } else { format!("{name}: {kinds}") };
        let _ = writeln!(out, "| {} | {ms:.3} | {share:.1} % | {} |", escaped(&name), count(kernels));
    }
    if !one.operators.is_empty() {
        if !has_shapes(one) {
            let _ = writeln!(out, "\n{NO_SHAPES}");
        }
        out.push_str("\n| Operator | shapes | calls | ms | % of roof |\n|---|---|---:|---:|---:|\n");
    }
    for row in one.operators.iter().take(OPERATORS) {
        let shapes = cut(row.shapes.as_deref().unwrap_or(""), 200);
        let roof = row.percent_of_roof.map_or_else(String::new, |part| format!("{part:.0}"));
        let ms = row.total_ms / per_step(one);
        let name = escaped(&row.operator);
        let calls = count(row.calls as f64 / per_step(one));
        let _ = writeln!(out, "| {name} | {} | {calls} | {ms:.3} | {roof} |", escaped(&shapes));
    }
    for (number, advice) in one.next.iter().enumerate() {
        let _ = writeln!(out, "{}{}. {}", if number == 0 { "\n" } else { "" }, number + 1, escaped(&advised(advice)));
    }
    out
}

/// A row per step and device.
pub fn csv(one: &OneTrace) -> String {
    let mut out = String::from(
        "step,device,phase,elapsed_ms,compute_ms,exposed_communication_ms,exposed_copies_ms,host_late_ms,device_idle_ms,kernels,copies\n",
    );
    for step in &one.steps {
        let parts = &step.parts_ms;
        let times = [
            step.elapsed_ms,
            parts.compute_ms,
            parts.exposed_communication_ms,
            parts.exposed_copies_ms,
            parts.host_late_ms,
            parts.device_idle_ms,
        ];
        let mut cells =
            vec![step.name.clone().unwrap_or_default(), step.device.clone(), step.phase.unwrap_or_default().to_owned()];
        cells.extend(times.iter().map(f64::to_string));
        cells.extend([step.kernels, step.copies].iter().map(u64::to_string));
        push_record(&mut out, &cells);
    }
    out
}

/// The operators that matter as JSON lines: what a bench of kernels must try.
pub fn testlist(one: &OneTrace, top: usize) -> String {
    let line = |row: &OperatorRow| {
        let shapes = serde_json::from_str::<serde_json::Value>(&row.dims).unwrap_or_default();
        let line = serde_json::json!({
            "operator": row.operator, "shapes": shapes, "types": row.types, "count": row.calls,
            "total_ms": row.total_ms, "share": row.share,
        });
        format!("{line}\n")
    };
    one.operators.iter().take(top).map(line).collect()
}

fn about(one: &OneTrace, width: usize) -> String {
    let codes = if one.trust == "high" { String::new() } else { format!(" ({})", one.trust_reasons.join(", ")) };
    let file = one.file.rsplit('/').next().unwrap_or(&one.file);
    let devices = if one.devices == 1 { String::new() } else { format!(" on {} devices", one.devices) };
    let (device, kernels, trust) = (&one.device, one.kernel_count, one.trust);
    let line = |steps: &str| format!("{file}: {device}, {steps}{devices}, {kernels} kernels; trust {trust}{codes}");
    match (one.step_count, one.steps.first().and_then(|step| step.name.as_deref())) {
        (0, _) => line("no steps"),
        (1, Some(name)) => {
            // Names of servers are long; what stands behind them has to stay on the screen.
            let room = width.saturating_sub(line("1 step ()").chars().count());
            line(&if room < 8 { "1 step".to_owned() } else { format!("1 step ({})", cut(name, room.min(40))) })
        }
        (1, None) => line("1 step"),
        (count, _) => line(&format!("{count} steps")),
    }
}

fn left_out(one: &OneTrace) -> Option<String> {
    let lead = &one.lead;
    (lead.kernels > 0).then(|| {
        format!(
            "left out: {} kernels ({:.3} ms) of the step before, launched before the first step",
            lead.kernels, lead.kernel_ms
        )
    })
}

/// Passes that nobody annotated, how they were found, and where to look at them.
fn found_passes(one: &OneTrace) -> Option<String> {
    let found = one.found_passes.as_ref()?;
    let phases = match phases_of(found) {
        phases if phases.is_empty() => found.passes.to_string(),
        phases => phases,
    };
    let hint = match one.step_count {
        0 if found.decode > 0 => ": --phase decode, --step all",
        0 => ": --step all",
        _ => "",
    };
    Some(format!("{phases} passes, not annotated, found {} ({}){hint}", found_by(found), found.certainty))
}

fn per_step(one: &OneTrace) -> f64 {
    (one.step_count.max(1) * one.devices) as f64
}

fn percent(ms: f64, all: f64) -> f64 {
    if all > 0.0 { 100.0 * ms / all } else { 0.0 }
}

fn parts(one: &OneTrace) -> [(&'static str, f64); 5] {
    let parts = &one.parts_ms;
    let all = [
        ("compute", parts.compute_ms),
        ("exposed communication", parts.exposed_communication_ms),
        ("exposed copies", parts.exposed_copies_ms),
        ("host late", parts.host_late_ms),
        ("device idle", parts.device_idle_ms),
    ];
    all.map(|(name, ms)| (name, ms / per_step(one)))
}

/// What to do, and what it saves at most.
fn advised(advice: &Advice) -> String {
    match advice.saves_at_most_ms {
        Some(ms) => format!("{}; saves at most {ms:.3} ms", advice.text),
        None => advice.text.clone(),
    }
}

/// A number of kernels or calls per step.
fn count(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.1}") }
}

/// A class as it is listed, per step.
struct ClassLine {
    name: String,
    ms: f64,
    kernels: f64,
    /// Which collectives the host asked for, where kernels do not say.
    kinds: String,
}

/// Classes by own time, at most as many; the last are one line.
fn classes(one: &OneTrace, most: usize) -> Vec<ClassLine> {
    let steps = per_step(one);
    let line = |row: &ClassRow| {
        let kind = |kind: &CollectiveRow| format!("{} {}", count(kind.kernels as f64 / steps), kind.class);
        let kinds = row.collectives.iter().map(kind).collect::<Vec<_>>().join(", ");
        ClassLine { name: row.class.clone(), ms: row.own_ms / steps, kernels: row.kernels as f64 / steps, kinds }
    };
    let mut lines: Vec<ClassLine> = one.classes.iter().map(line).collect();
    lines.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    if lines.len() > most {
        let rest = lines.split_off(most - 1);
        let (ms, kernels) = rest.iter().fold((0.0, 0.0), |sum, line| (sum.0 + line.ms, sum.1 + line.kernels));
        lines.push(ClassLine { name: format!("{} others", rest.len()), ms, kernels, kinds: String::new() });
    }
    lines
}

/// Whether any operator that is shown has shapes.
fn has_shapes(one: &OneTrace) -> bool {
    one.operators.iter().take(OPERATORS).any(|row| row.shapes.is_some())
}

fn operator(one: &OneTrace, row: &OperatorRow, width: usize) -> String {
    let roof = row.percent_of_roof.map_or_else(String::new, |part| format!("{part:.0} %"));
    let ms = row.total_ms / per_step(one);
    let share = percent(ms, one.per_step_ms);
    let name = cut(&row.operator, width - 1);
    let (shapes, types) = (row.shapes.as_deref().unwrap_or(""), row.types.as_deref().unwrap_or(""));
    let bound = row.bound.unwrap_or("");
    let calls = count(row.calls as f64 / per_step(one));
    format!("{name:<width$}{calls:>7}{ms:>10.3}{share:>6.1} %{roof:>7}  {bound:<8} {shapes} {types}")
}

/// On one line.
fn plain(line: &str) -> String {
    line.trim_end().chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// At most N characters, on one line.
fn cut(line: &str, width: usize) -> String {
    let plain = plain(line);
    match plain.chars().count() {
        count if count <= width => plain,
        _ => plain.chars().take(width - 1).chain(['…']).collect(),
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '|' | '*' | '`' | '[' | ']' => {
                out.push('\\');
                out.push(letter);
            }
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
