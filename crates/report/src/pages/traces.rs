//! The page of two GPU or NPU traces.

mod kernels;
mod rooflines;

use super::share;
use crate::page::number::{grouped, in_ms, percent, signed, signed_percent};
use crate::page::{
    Accuracy, AccuracyPoint, Block, Chart, Column, KeyFigure, Page, Part, Provenance, StackedBar, StackedBars, Step,
    StripKernel, Strips, Table, Trust, TrustLevel, Waterfall,
};
use crate::tracediff::{is_known, layers_are_certain, of_operation, per_what, runs, words};
use kernels::{KERNELS, Kernels};
use perfdb_tracediff::{
    Basis, Comparison, Confidence, Details, Document, ElapsedReport, GroupRow, LayerRow, OperationRow, Overview,
    PartsMs, Strip, StripRow, TraceTrust, Trust as TraceTrusts, Verdict, WaterfallRow,
};

/// Steps of the waterfall.
const STEPS: usize = 16;
/// Families of a layer that have a colour of their own.
const COLOURS: usize = 8;

/// The page of a comparison of operations; nothing for documents that have none (alignments, launch counts, old rules).
pub fn traces_page(document: &Document, provenance: Provenance) -> Option<Page> {
    let part = part(&document.overview()?);
    Some(Page { title: "Two traces compared".to_owned(), parts: vec![part], provenance })
}

fn part(found: &Overview<'_>) -> Part {
    let Overview { comparison, trust, details } = *found;
    let Details { confidence, elapsed, groups, strips, roofline, .. } = details;
    let (confidence, elapsed, roofline) = (confidence.as_ref(), elapsed.as_ref(), roofline.as_ref());
    let mut blocks = Vec::new();
    if let Some(elapsed) = elapsed {
        blocks.push(Block::Chart(waterfall(elapsed)));
        if !elapsed.next_steps.is_empty() {
            blocks.push(Block::Table(next_steps(elapsed)));
        }
    }
    blocks.push(Block::Chart(operations_chart(&comparison.operations)));
    if let Some(elapsed) = elapsed {
        blocks.push(Block::Chart(parts_of_time(elapsed)));
    }
    blocks.extend(strips.first().map(|strip| Block::Chart(typical_layer(strip))));
    if let Some(found) = roofline.filter(|found| !found.operations.is_empty()) {
        blocks.push(Block::Chart(rooflines::chart(found)));
        blocks.push(Block::Table(rooflines::table(found)));
    }
    if !groups.is_empty() {
        blocks.push(Block::Table(group_table(groups, &Kernels::of(comparison))));
    }
    let kernels = Kernels::of(comparison);
    let basis = elapsed.map_or(Basis::Whole, |found| found.elapsed.basis);
    blocks.push(Block::Table(operation_table(&comparison.operations, confidence, &kernels, basis)));
    if !comparison.unmatched_operations.is_empty() {
        blocks.push(Block::Table(unmatched_table(comparison, &kernels)));
    }
    if !kernels.is_empty() {
        blocks.push(Block::Table(kernels.table()));
    }
    if !comparison.layers.is_empty() {
        blocks.push(Block::Table(layer_table(&comparison.layers, layers_are_certain(elapsed))));
    }
    Part {
        verdict: verdict(comparison, elapsed),
        trust: trust.map(trust_of),
        figures: figures(comparison, elapsed, confidence),
        notes: notes(comparison, trust).into_iter().chain(roofline.and_then(rooflines::note)).collect(),
        blocks,
        ..Part::default()
    }
}

fn verdict(comparison: &Comparison, elapsed: Option<&ElapsedReport>) -> String {
    match elapsed {
        Some(elapsed) => {
            let mut characters = elapsed.verdict.chars();
            let first: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
            first + characters.as_str() + "."
        }
        None => {
            let metadata = &comparison.metadata;
            let change = share(metadata.trace2_total_ms - metadata.trace1_total_ms, metadata.trace1_total_ms);
            format!("The kernels of trace 2 take {} against those of trace 1.", signed_percent(change))
        }
    }
}

fn trust_of(trust: &TraceTrusts) -> Trust {
    let level = |side: &TraceTrust| match side.trust {
        "high" => TrustLevel::High,
        "low" => TrustLevel::Low,
        _ => TrustLevel::Limited,
    };
    let sides = [(1, &trust.trace1), (2, &trust.trace2)];
    let said = sides.map(|(number, side)| {
        if side.trust_reasons.is_empty() {
            format!("trace {number} {}", side.trust)
        } else {
            format!("trace {number} {} ({})", side.trust, side.trust_reasons.join(", "))
        }
    });
    let level = match (level(&trust.trace1), level(&trust.trace2)) {
        (TrustLevel::Low, _) | (_, TrustLevel::Low) => TrustLevel::Low,
        (TrustLevel::High, TrustLevel::High) => TrustLevel::High,
        _ => TrustLevel::Limited,
    };
    Trust { level, reason: said.join("; ") }
}

fn per(basis: Basis) -> &'static str {
    match basis {
        Basis::Pass => "per forward pass",
        Basis::Step => "per step",
        Basis::Whole => "of the whole",
    }
}

fn figures(
    comparison: &Comparison,
    elapsed: Option<&ElapsedReport>,
    confidence: Option<&Confidence>,
) -> Vec<KeyFigure> {
    let metadata = &comparison.metadata;
    let mut figures = Vec::new();
    if let Some(found) = elapsed {
        let elapsed = &found.elapsed;
        let (first, second) = (elapsed.trace1.per_pass_ms, elapsed.trace2.per_pass_ms);
        let ratio = elapsed.ratio.unwrap_or(f64::NAN);
        figures.push(KeyFigure::new("Trace 1", format!("{} ms", grouped(first, 3))).note(per(elapsed.basis)));
        figures.push(KeyFigure::new("Trace 2", format!("{} ms", grouped(second, 3))).note(per(elapsed.basis)));
        figures.push(KeyFigure::new("Trace 2 ÷ trace 1", grouped(ratio, 3)).note("below 1: trace 2 is faster"));
        figures.push(
            KeyFigure::new("Difference", format!("{} ms", signed(second - first, 3)))
                .note(format!("{} of trace 1", signed_percent(share(second - first, first)))),
        );
    }
    if let Some(whole) = confidence.map(|confidence| &confidence.whole).filter(|whole| is_known(whole)) {
        figures.push(KeyFigure::new("Confidence", confidence_of(whole)).note(words(whole)));
    }
    let compared = share(
        metadata.trace1_compared_ms + metadata.trace2_compared_ms,
        metadata.trace1_total_ms + metadata.trace2_total_ms,
    );
    figures.push(KeyFigure::new("In both traces", percent(compared)).note("of the kernel time, by operation"));
    figures
}

/// `99.8 %`, or that there is none.
fn confidence_of(whole: &Verdict) -> String {
    match whole.confidence.filter(|_| whole.verdict != "cannot tell") {
        Some(level) => format!("{:.1} %", 100.0 * level),
        None => "inconclusive".to_owned(),
    }
}

fn notes(comparison: &Comparison, trust: Option<&TraceTrusts>) -> Vec<String> {
    let metadata = &comparison.metadata;
    let mut notes = vec![format!(
        "Trace 1: {}, {}, {} kernels. Trace 2: {}, {}, {} kernels. Phase: {}.",
        metadata.trace1_name,
        metadata.trace1_gpu_inferred,
        grouped(metadata.trace1_kernels as f64, 0),
        metadata.trace2_name,
        metadata.trace2_gpu_inferred,
        grouped(metadata.trace2_kernels as f64, 0),
        metadata.phase
    )];
    if trust.is_some_and(|trust| trust.trace1.names_not_trusted || trust.trace2.names_not_trusted) {
        notes.push(
            "Kernel names are shifted against durations: elapsed time and its parts are reliable, rows of operations, layers and kernels are not."
                .to_owned(),
        );
    }
    notes.extend(comparison.warnings.iter().map(|warning| {
        let whose = warning.trace.map_or_else(|| "Both traces".to_owned(), |trace| format!("Trace {trace}"));
        format!("{whose}: {} ({}).", in_ms(warning.message.trim_end_matches('.')), warning.code)
    }));
    notes
}

fn waterfall(report: &ElapsedReport) -> Chart {
    let elapsed = &report.elapsed;
    let mut rows: Vec<&WaterfallRow> = report.waterfall.iter().filter(|row| row.difference_ms != 0.0).collect();
    let rest = rows.split_off(STEPS.min(rows.len()));
    let step = |row: &&WaterfallRow| {
        let mut what = format!("{} → {} ms", grouped(row.trace1_ms, 3), grouped(row.trace2_ms, 3));
        if let Some(noise) = row.noise_ms.filter(|noise| *noise >= row.difference_ms.abs()) {
            what += &format!(", within the noise of {} ms", grouped(noise, 3));
        }
        Step { why: row.row.clone(), what, value: row.difference_ms }
    };
    let mut steps: Vec<Step> = rows.iter().map(step).collect();
    if !rest.is_empty() {
        let value = rest.iter().map(|row| row.difference_ms).sum();
        steps.push(Step { why: format!("{} smaller", rest.len()), what: String::new(), value });
    }
    let ends = (elapsed.trace1.per_pass_ms, elapsed.trace2.per_pass_ms);
    Waterfall { from: ("trace 1", ends.0), steps, to: ("trace 2", ends.1), unit: "ms" }
        .chart(&format!("From trace 1 to trace 2, {}", per(elapsed.basis)))
        .note("Red: trace 2 takes longer. Blue: trace 1 does. The bars add up to the difference of the elapsed times.")
}

fn next_steps(report: &ElapsedReport) -> Table {
    let steps = &report.next_steps;
    Table::new(
        "steps",
        "What to do next",
        vec![
            Column::decimal("To be had", steps.iter().map(|step| step.excess_ms), 3).unit("ms"),
            Column::whole("Trace", steps.iter().map(|step| f64::from(step.trace))),
            Column::text("Takes longer in", steps.iter().map(|step| step.row.as_str())),
            Column::text("Advice", steps.iter().map(|step| in_ms(&step.advice))).whole_text(),
        ],
    )
}

fn operations_chart(rows: &[OperationRow]) -> Chart {
    let points = rows.iter().enumerate().map(|(row, of)| AccuracyPoint {
        name: &of.operation,
        predicted_us: 1e3 * of.trace2_per_pass_ms,
        measured_us: 1e3 * of.trace1_per_pass_ms,
        class: 0,
        row,
    });
    Accuracy { classes: Vec::new(), points: points.collect(), sides: ("Trace 2", "Trace 1") }
        .chart_in_ms("Operations, trace 2 against trace 1")
        .leads_to("operations")
}

fn parts_of_time(report: &ElapsedReport) -> Chart {
    let values = |parts: &PartsMs, passes: u64| -> Vec<f64> {
        let all = [
            parts.compute_ms,
            parts.exposed_communication_ms,
            parts.exposed_copies_ms,
            parts.host_late_ms,
            parts.device_idle_ms,
        ];
        all.map(|part| part / passes.max(1) as f64).to_vec()
    };
    let elapsed = &report.elapsed;
    StackedBars {
        parts: vec!["compute", "exposed communication", "exposed copies", "host late", "device idle"],
        bars: vec![
            StackedBar { name: "trace 1", values: values(&elapsed.trace1.parts_ms, elapsed.trace1.passes) },
            StackedBar { name: "trace 2", values: values(&elapsed.trace2.parts_ms, elapsed.trace2.passes) },
        ],
        unit: "ms",
    }
    .chart(&format!("Parts of the elapsed time, {}", per(elapsed.basis)))
}

fn typical_layer(strip: &Strip) -> Chart {
    let mut families: Vec<&str> = Vec::new();
    for row in &strip.rows {
        if !families.contains(&row.family) && families.len() < COLOURS {
            families.push(row.family);
        }
    }
    let names: Vec<(String, String)> =
        strip.rows.iter().map(|row| (row.trace1_names.join(" + "), row.trace2_names.join(" + "))).collect();
    let kernel = |row: &'_ StripRow| families.iter().position(|family| *family == row.family).unwrap_or(COLOURS);
    let side = |is_first: bool| -> Vec<StripKernel<'_>> {
        let rows = strip.rows.iter().zip(&names).map(|(row, (first, second))| StripKernel {
            name: &row.group,
            detail: if is_first { first } else { second },
            family: kernel(row),
            time_us: if is_first { row.trace1_us } else { row.trace2_us },
        });
        rows.filter(|kernel| kernel.time_us > 0.0).collect()
    };
    Strips { above: ("trace 1", side(true)), below: ("trace 2", side(false)), families }
        .chart_in_ms(&format!("One typical layer ({})", strip.kind))
        .note(format!(
            "{} of this kind per pass in trace 1, {} in trace 2. One real layer of each, end to end; the same work is joined.",
            runs(strip.trace1_per_pass),
            runs(strip.trace2_per_pass)
        ))
}

fn group_table(groups: &[GroupRow], kernels: &Kernels<'_>) -> Table {
    Table::new(
        "groups",
        "The same work on both sides",
        vec![
            Column::text("Work", groups.iter().map(|group| group.group.as_str())),
            Column::text("Family", groups.iter().map(|group| group.family)),
            Column::decimal("Trace 1", groups.iter().map(|group| group.trace1_ms), 3).unit("ms"),
            Column::decimal("Trace 2", groups.iter().map(|group| group.trace2_ms), 3).unit("ms"),
            Column::signed("Difference", groups.iter().map(|group| group.difference_ms), 3).unit("ms"),
            Column::signed(
                "Change",
                groups.iter().map(|group| share(group.trace2_ms - group.trace1_ms, group.trace1_ms)),
                1,
            )
            .unit("%"),
            Column::whole("Calls 1", groups.iter().map(|group| group.trace1_calls as f64)),
            Column::whole("Calls 2", groups.iter().map(|group| group.trace2_calls as f64)),
            Column::text("Why", groups.iter().map(|group| group.reason.as_str())).whole_text(),
            Column::signed("By calls", groups.iter().map(|group| group.calls_ms), 3).unit("ms").hidden(),
            Column::signed("By time per call", groups.iter().map(|group| group.per_call_ms), 3).unit("ms").hidden(),
        ],
    )
    .leads_to(KERNELS, groups.iter().map(|group| kernels.first_of_names([&group.trace1_names, &group.trace2_names])))
}

fn operation_table(
    rows: &[OperationRow],
    confidence: Option<&Confidence>,
    kernels: &Kernels<'_>,
    basis: Basis,
) -> Table {
    let sure = |row: &OperationRow| {
        let verdict = confidence.and_then(|confidence| of_operation(confidence, &row.operation));
        verdict.map(words).unwrap_or_default()
    };
    let mut columns = operation_columns(rows);
    if let Some(confidence) = confidence {
        columns.insert(5, Column::text(per_what(confidence), rows.iter().map(sure)).whole_text());
    }
    Table::new("operations", "Operations of both traces", columns)
        .note(format!("Kernel time {}; calls and time of a call over the whole trace.", per(basis)))
        .leads_to(KERNELS, rows.iter().map(|row| kernels.first_of_operation(&row.operation)))
}

fn operation_columns(rows: &[OperationRow]) -> Vec<Column> {
    vec![
        Column::text("Operation", rows.iter().map(|row| row.operation.as_str())),
        Column::decimal("Trace 1", rows.iter().map(|row| row.trace1_per_pass_ms), 3).unit("ms"),
        Column::decimal("Trace 2", rows.iter().map(|row| row.trace2_per_pass_ms), 3).unit("ms"),
        Column::signed("Difference", rows.iter().map(|row| row.trace2_per_pass_ms - row.trace1_per_pass_ms), 3)
            .unit("ms"),
        Column::signed(
            "Change",
            rows.iter().map(|row| share(row.trace2_per_pass_ms - row.trace1_per_pass_ms, row.trace1_per_pass_ms)),
            1,
        )
        .unit("%"),
        Column::whole("Calls 1", rows.iter().map(|row| row.trace1_pass_calls as f64)),
        Column::whole("Calls 2", rows.iter().map(|row| row.trace2_pass_calls as f64)),
        Column::decimal("Each 1", rows.iter().map(|row| row.trace1_us_per_call / 1e3), 5).unit("ms"),
        Column::decimal("Each 2", rows.iter().map(|row| row.trace2_us_per_call / 1e3), 5).unit("ms"),
        Column::text("Kernel of trace 1", rows.iter().map(|row| row.trace1_kernel.as_str())).hidden(),
        Column::text("Kernel of trace 2", rows.iter().map(|row| row.trace2_kernel.as_str())).hidden(),
    ]
}

fn unmatched_table(comparison: &Comparison, kernels: &Kernels<'_>) -> Table {
    let rows = &comparison.unmatched_operations;
    Table::new(
        "unmatched",
        "Operations of one trace alone",
        vec![
            Column::text("Operation", rows.iter().map(|row| row.operation.as_str())),
            Column::whole("Trace", rows.iter().map(|row| f64::from(row.trace))),
            Column::decimal("Time", rows.iter().map(|row| row.per_pass_ms), 3).unit("ms"),
            Column::whole("Calls", rows.iter().map(|row| row.count as f64)),
            Column::decimal("Each", rows.iter().map(|row| row.avg_us / 1e3), 5).unit("ms"),
            Column::text("Kernel", rows.iter().map(|row| row.kernel.as_str())),
        ],
    )
    .leads_to(KERNELS, rows.iter().map(|row| kernels.first_of_operation(&row.operation)))
}

fn layer_table(rows: &[LayerRow], are_certain: bool) -> Table {
    Table::new(
        "layers",
        if are_certain { "Layers" } else { "Stretches that repeat (layers not certain)" },
        vec![
            Column::whole("Layer", rows.iter().map(|row| f64::from(row.layer))),
            Column::decimal("Trace 1", rows.iter().map(|row| row.trace1_total_ms), 3).unit("ms"),
            Column::decimal("Trace 2", rows.iter().map(|row| row.trace2_total_ms), 3).unit("ms"),
            Column::signed("Difference", rows.iter().map(|row| row.trace2_total_ms - row.trace1_total_ms), 3)
                .unit("ms"),
            Column::whole("Kernels 1", rows.iter().map(|row| row.trace1_kernels as f64)),
            Column::whole("Kernels 2", rows.iter().map(|row| row.trace2_kernels as f64)),
        ],
    )
}

#[cfg(test)]
mod tests {
    use perfdb_tracediff::{AnalysisOptions, LoadOptions, Trace, analyse};

    use super::*;

    /// A trace of this number of steps with four products each.
    fn trace(us: u32, steps: u32) -> Trace {
        let step = |step: u32| {
            let begin = 2000 * step;
            let kernels = (0..4).map(|at| {
                let (start, duration) = (begin + 20 + 300 * at, us + (step * 7 + at * 3) % 5);
                format!(
                    r#"{{"ph": "X", "cat": "kernel", "name": "Cijk_A", "ts": {start}, "dur": {duration}, "args": {{}}}}"#
                )
            });
            let annotation = format!(
                r#"{{"ph": "X", "cat": "user_annotation", "name": "step[DECODE bs=8]", "ts": {begin}, "dur": 1900}}"#
            );
            kernels.chain([annotation]).collect::<Vec<_>>().join(",")
        };
        let events: Vec<String> = (0..steps).map(step).collect();
        let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
        Trace::from_reader("t.json", std::io::Cursor::new(text), &LoadOptions::default()).expect("a trace")
    }

    #[test]
    fn the_page_has_the_confidence_of_differences() {
        let page = |confidence, steps| {
            let options = AnalysisOptions { confidence, ..AnalysisOptions::default() };
            let document = analyse(&trace(100, steps), &trace(200, steps), &options).expect("a comparison").document;
            traces_page(&document, Provenance::default()).expect("a page").to_html().expect("a page")
        };
        let sure = page(true, 12);
        assert!(sure.contains("99 % interval, per pass") && sure.contains("<td>slower"), "{sure}");
        assert!(!page(false, 12).contains("99 % interval"));
        // One step tells nothing, and a reader who sees twice the time must know.
        assert!(page(true, 1).contains("within these passes"));
    }
}
