//! Where the time of one trace goes.

use super::{counted, sentence, share};
use crate::one_trace::layers_and_runs;
use crate::page::number::{grouped, in_ms, percent};
use crate::page::{
    Block, Chart, ChartWidth, Column, KeyFigure, Page, Part, Provenance, StackedBar, StackedBars, Table, Trust,
    TrustLevel,
};
use perfdb_tracediff::{KindOfStep, OneTrace, PartsMs, StepRow, kinds};

/// Bars of the chart of steps at most.
const BARS: usize = 40;
/// Rows of steps that can be read without a script.
const PLAIN_STEPS: usize = 2000;

/// The page about all steps of a trace.
pub fn one_trace_page(one: &OneTrace, provenance: Provenance) -> Page {
    let kinds = kinds(one);
    let mut blocks = vec![Block::Chart(parts_of_kinds(one, &kinds))];
    if one.step_count > 0 && one.steps.len() > 1 {
        blocks.push(Block::Chart(parts_of_steps(one)));
    }
    if !one.next.is_empty() {
        blocks.push(Block::Table(next(one)));
    }
    blocks.push(Block::Table(classes(one)));
    if !one.operators.is_empty() {
        blocks.push(Block::Table(operators(one)));
    }
    blocks.extend(layers(one).map(Block::Table));
    blocks.push(Block::Table(kernels(one)));
    if one.step_count > 0 {
        blocks.push(Block::Table(steps(one)));
    }
    let part = Part {
        verdict: sentence(&one.verdict),
        trust: Some(trust(one)),
        figures: figures(one),
        notes: notes(one),
        blocks,
        ..Part::default()
    };
    Page { title: "Where the time of a step goes".to_owned(), parts: vec![part], provenance }
}

fn trust(one: &OneTrace) -> Trust {
    let level = match one.trust {
        "high" => TrustLevel::High,
        "low" => TrustLevel::Low,
        _ => TrustLevel::Limited,
    };
    let reason = match one.trust_reasons.as_slice() {
        [] => "check-trace found nothing".to_owned(),
        codes => codes.join(", "),
    };
    Trust { level, reason }
}

/// Steps, times devices.
fn per_step(one: &OneTrace) -> f64 {
    (one.step_count.max(1) * one.devices) as f64
}

fn figures(one: &OneTrace) -> Vec<KeyFigure> {
    let what = if one.step_count == 0 { "the whole trace" } else { "mean over steps and devices" };
    let steps = match one.step_count {
        0 => "none".to_owned(),
        steps => grouped(steps as f64, 0),
    };
    vec![
        KeyFigure::new("Time per step", format!("{} ms", grouped(one.per_step_ms, 3))).note(what),
        KeyFigure::new("Steps", steps).note(format!("on {}", counted(one.devices as usize, "device", "devices"))),
        KeyFigure::new("Busy", percent(share(one.busy_ms, one.elapsed_ms))).note("of the time, kernels or copies run"),
        KeyFigure::new("Kernels", grouped(one.kernel_count as f64 / per_step(one), 0)).note("per step and device"),
        KeyFigure::new("Distinct kernels", grouped(one.distinct_names as f64, 0)).note("by name"),
    ]
}

fn notes(one: &OneTrace) -> Vec<String> {
    let mut notes = vec![format!("{} ({}).", one.device, one.file)];
    let lead = &one.lead;
    if lead.kernels > 0 {
        notes.push(format!(
            "Left out of all sums: {} ({} ms) of the step before, launched before the first step.",
            counted(lead.kernels as usize, "kernel", "kernels"),
            grouped(lead.kernel_ms, 3)
        ));
    }
    if !one.times_not_trusted.is_empty() {
        notes.push(format!("Times between events are not trusted: {}.", one.times_not_trusted.join(", ")));
    }
    notes
}

const PARTS: [&str; 5] = ["compute", "exposed communication", "exposed copies", "host late", "device idle"];

fn values(parts: &PartsMs) -> Vec<f64> {
    vec![
        parts.compute_ms,
        parts.exposed_communication_ms,
        parts.exposed_copies_ms,
        parts.host_late_ms,
        parts.device_idle_ms,
    ]
}

/// One bar per kind of step: the mean over its steps.
fn parts_of_kinds(one: &OneTrace, kinds: &[KindOfStep]) -> Chart {
    let name = |kind: &KindOfStep| {
        let what = kind.phase.map_or_else(String::new, |phase| format!("{phase}, "));
        format!("{what}mean of {}", counted(kind.rows.len(), "step", "steps"))
    };
    let mean = |kind: &KindOfStep| -> Vec<f64> {
        let mut sums = vec![0.0; PARTS.len()];
        for row in kind.rows.iter().filter_map(|row| one.steps.get(*row)) {
            sums.iter_mut().zip(values(&row.parts_ms)).for_each(|(sum, value)| *sum += value);
        }
        sums.iter().map(|sum| sum / kind.rows.len().max(1) as f64).collect()
    };
    let mut bars: Vec<(String, Vec<f64>)> = kinds.iter().map(|kind| (name(kind), mean(kind))).collect();
    if bars.is_empty() {
        let whole = values(&one.parts_ms).iter().map(|value| value / per_step(one)).collect();
        bars.push(("whole trace".to_owned(), whole));
    }
    stacked(&bars).chart("Where the time goes").width(ChartWidth::Whole)
}

fn parts_of_steps(one: &OneTrace) -> Chart {
    let name = |(at, step): (usize, &StepRow)| {
        let name = step.name.clone().unwrap_or_else(|| format!("step {at}"));
        if one.devices > 1 { format!("{name}, device {}", step.device) } else { name }
    };
    let rows = one.steps.iter().enumerate().take(BARS);
    let bars: Vec<(String, Vec<f64>)> = rows.map(|(at, step)| (name((at, step)), values(&step.parts_ms))).collect();
    let chart = stacked(&bars).chart("Each step").width(ChartWidth::Whole).leads_to("steps");
    match one.steps.len() {
        count if count > BARS => chart.note(format!("The first {BARS} of {count}; the table has all.")),
        _ => chart,
    }
}

fn stacked(bars: &[(String, Vec<f64>)]) -> StackedBars<'_> {
    StackedBars {
        parts: PARTS.to_vec(),
        bars: bars.iter().map(|(name, values)| StackedBar { name, values: values.clone() }).collect(),
        unit: "ms",
    }
}

fn next(one: &OneTrace) -> Table {
    let rows = &one.next;
    Table::new(
        "next",
        "What to do next",
        vec![
            Column::decimal("Saves at most", rows.iter().map(|row| row.saves_at_most_ms.unwrap_or(f64::NAN)), 3)
                .unit("ms"),
            Column::text("Code", rows.iter().map(|row| row.code)),
            Column::text("What", rows.iter().map(|row| in_ms(&row.text))).whole_text(),
        ],
    )
    .note("Per step and device.")
}

fn classes(one: &OneTrace) -> Table {
    let (rows, steps) = (&one.classes, per_step(one));
    Table::new(
        "classes",
        "Kernels by class",
        vec![
            Column::text("Class", rows.iter().map(|row| row.class.as_str())),
            Column::decimal("Own time", rows.iter().map(|row| row.own_ms / steps), 3).unit("ms"),
            Column::share_percent("Share", rows.iter().map(|row| share(row.own_ms, one.elapsed_ms))),
            Column::decimal("Kernel time", rows.iter().map(|row| row.total_ms / steps), 3).unit("ms"),
            Column::decimal("Kernels", rows.iter().map(|row| row.kernels as f64 / steps), 1),
        ],
    )
    .note("Per step and device. Own times add up to compute and exposed communication.")
}

fn operators(one: &OneTrace) -> Table {
    let (rows, steps) = (&one.operators, per_step(one));
    let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    Table::new(
        "operators",
        "Operators by shape",
        vec![
            Column::text("Operator", rows.iter().map(|row| row.operator.as_str())),
            Column::text("Shapes", rows.iter().map(|row| text(&row.shapes))),
            Column::text("Types", rows.iter().map(|row| text(&row.types))),
            Column::decimal("Calls", rows.iter().map(|row| row.calls as f64 / steps), 1),
            Column::decimal("Time", rows.iter().map(|row| row.total_ms / steps), 3).unit("ms"),
            Column::share_percent("Share", rows.iter().map(|row| 100.0 * row.share)),
            Column::decimal("Of peak", rows.iter().map(|row| known(row.percent_of_roof)), 1).unit("%"),
            Column::text("Bound", rows.iter().map(|row| row.bound.unwrap_or_default())),
            Column::text("Python frame", rows.iter().map(|row| text(&row.frame))),
            Column::decimal("Work", rows.iter().map(|row| known(row.gflop)), 3).unit("GFLOP").hidden(),
            Column::decimal("Bytes", rows.iter().map(|row| known(row.mib)), 3).unit("MiB").hidden(),
        ],
    )
    .note("Calls and time per step and device; the share is of all kernel time.")
}

fn layers(one: &OneTrace) -> Option<Table> {
    let layers = one.layers.as_ref()?;
    let rows = &layers.rows;
    let title = format!("One of {} ({} ms)", layers_and_runs(layers), grouped(layers.per_layer_ms, 3));
    Some(Table::new(
        "layers",
        title,
        vec![
            Column::text("Family", rows.iter().map(|row| row.family.as_str())),
            Column::decimal("Time", rows.iter().map(|row| row.us / 1e3), 5).unit("ms"),
            Column::share_percent("Share", rows.iter().map(|row| share(row.us, 1e3 * layers.per_layer_ms))),
            Column::decimal("Kernels", rows.iter().map(|row| row.kernels), 1),
            Column::text("Names", rows.iter().map(|row| row.names.join(" + "))),
        ],
    ))
}

fn kernels(one: &OneTrace) -> Table {
    let (rows, steps) = (&one.top_kernels, per_step(one));
    Table::new(
        "kernels",
        "Kernels by name",
        vec![
            Column::text("Kernel", rows.iter().map(|row| row.name.as_str())),
            Column::decimal("Time", rows.iter().map(|row| row.total_ms / steps), 3).unit("ms"),
            Column::share_percent("Share", rows.iter().map(|row| share(row.total_ms, one.kernel_ms))),
            Column::decimal("Calls", rows.iter().map(|row| row.count as f64 / steps), 1),
        ],
    )
    .note("Per step and device; --top N lists more.")
}

fn steps(one: &OneTrace) -> Table {
    let rows = &one.steps;
    let parts = |at: usize| rows.iter().map(move |row| values(&row.parts_ms)[at]);
    let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
    let mut columns = vec![
        Column::text("Step", rows.iter().map(|row| row.name.clone().unwrap_or_default())),
        Column::text("Device", rows.iter().map(|row| row.device.as_str())),
        Column::text("Phase", rows.iter().map(|row| row.phase.unwrap_or_default())),
        Column::decimal("Elapsed", rows.iter().map(|row| row.elapsed_ms), 3).unit("ms"),
    ];
    let names = ["Compute", "Exposed communication", "Exposed copies", "Host late", "Device idle"];
    columns.extend(names.into_iter().enumerate().map(|(at, name)| Column::decimal(name, parts(at), 3).unit("ms")));
    columns.extend([
        Column::whole("Kernels", rows.iter().map(|row| row.kernels as f64)),
        Column::whole("Copies", rows.iter().map(|row| row.copies as f64)),
        Column::decimal("Host", rows.iter().map(|row| known(row.host_ms)), 3).unit("ms").hidden(),
        Column::decimal("First launch after", rows.iter().map(|row| known(row.first_launch_after_ms)), 3)
            .unit("ms")
            .hidden(),
        Column::decimal("First kernel after", rows.iter().map(|row| known(row.first_kernel_after_ms)), 3)
            .unit("ms")
            .hidden(),
    ]);
    Table::new("steps", "All steps", columns).plain_rows(PLAIN_STEPS)
}
