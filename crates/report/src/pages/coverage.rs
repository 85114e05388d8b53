//! How much of a forward pass a database covers.

use super::share;
use crate::page::number::{grouped, micros, percent};
use crate::page::{
    Block, Chart, ChartWidth, Column, HeatCell, HeatMap, KeyFigure, Page, Part, Provenance, StackedBar, StackedBars,
    Table, Trust,
};
use perfdb_audit::coverage::{AnswerSource, Asked, Audit, KernelAudit, Suggestions, WorkloadAudit};

/// Kernels of the heat map.
const KERNELS_DRAWN: usize = 24;
/// Shares of the time based on rows from which on trust is high, or limited.
const MOST: f64 = 0.95;
const MANY: f64 = 0.8;

/// The page of an audit: a part per workload, then the kernels of all.
pub fn coverage_page(audit: &Audit, suggestions: Option<&Suggestions>, provenance: Provenance) -> Page {
    let mut parts: Vec<Part> = audit.workloads.iter().map(workload).collect();
    let mut kernels = Part {
        name: "Kernels of all workloads".to_owned(),
        verdict: kernels_verdict(&audit.kernels),
        blocks: vec![Block::Chart(heat_map(&audit.kernels)), Block::Table(kernel_table(&audit.kernels))],
        ..Part::default()
    };
    kernels
        .blocks
        .extend(suggestions.filter(|found| !found.rows.is_empty()).map(|found| Block::Table(suggested(found))));
    parts.push(kernels);
    Page { title: "How much of a forward pass the database covers".to_owned(), parts, provenance }
}

fn workload(one: &WorkloadAudit) -> Part {
    let shares = &one.shares;
    // Where nothing tells how long calls take, their number has to do.
    let what = if shares.has_time() { "time" } else { "calls" };
    let of = |source| if shares.has_time() { shares.of_time(source) } else { shares.of_calls(source) };
    let answered = |source: &AnswerSource| {
        matches!(source, AnswerSource::Exact | AnswerSource::Padded | AnswerSource::Interpolated)
    };
    let on_rows: f64 = AnswerSource::ALL.into_iter().filter(answered).map(of).sum();
    let exact = of(AnswerSource::Exact);
    let reason = format!(
        "{} of the {what} is based on exact matches or rows around them; {} on predictions alone, {} is partial, {} is missing",
        percent(100.0 * on_rows),
        percent(100.0 * of(AnswerSource::Beyond)),
        percent(100.0 * of(AnswerSource::Partial)),
        percent(100.0 * of(AnswerSource::Missing))
    );
    let trust = Trust::of_share(on_rows, [MOST, MANY], reason);
    let total = shares.total();
    let unknown = match shares.without_time {
        0 => String::new(),
        1 => " The time of 1 call is unknown.".to_owned(),
        calls => format!(" The time of {} calls is unknown.", grouped(calls as f64, 0)),
    };
    Part {
        name: one.name.clone(),
        verdict: format!(
            "{}{} of the calls have an exact match.{unknown}",
            if shares.has_time() { format!("{} of the time and ", percent(100.0 * exact)) } else { String::new() },
            percent(100.0 * shares.of_calls(AnswerSource::Exact))
        ),
        trust: Some(trust),
        figures: vec![
            KeyFigure::new("Calls", grouped(total.calls as f64, 0)),
            KeyFigure::new("Time", micros(total.time_us)).note("where known"),
            KeyFigure::new("Exact", percent(100.0 * exact)).note(format!("of the {what}")),
            KeyFigure::new("Interpolated", percent(100.0 * of(AnswerSource::Interpolated)))
                .note(format!("of the {what}")),
            KeyFigure::new(
                "Without an answer",
                percent(100.0 * (shares.of_calls(AnswerSource::Beyond) + shares.of_calls(AnswerSource::Missing))),
            )
            .note("of the calls"),
        ],
        notes: Vec::new(),
        blocks: vec![Block::Chart(sources(one)), Block::Table(questions(one))],
    }
}

fn sources(one: &WorkloadAudit) -> Chart {
    let total = one.shares.total();
    let part = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    let calls = AnswerSource::ALL.map(|source| part(one.shares.of(source).calls as f64, total.calls as f64)).to_vec();
    let times = AnswerSource::ALL.map(|source| part(one.shares.of(source).time_us, total.time_us)).to_vec();
    StackedBars {
        parts: AnswerSource::ALL.map(AnswerSource::name).to_vec(),
        bars: vec![StackedBar { name: "calls", values: calls }, StackedBar { name: "time", values: times }],
        unit: "%",
    }
    .chart("What the results are based on")
    .width(ChartWidth::Whole)
}

fn questions(one: &WorkloadAudit) -> Table {
    let all_us = |one: &Asked| one.duration_us().map_or(f64::NAN, |us| us * one.question.calls as f64);
    let mut asked: Vec<&Asked> = one.asked.iter().collect();
    // The most time first; what has none that is known stands last.
    asked.sort_by(|a, b| all_us(b).max(-1.0).total_cmp(&all_us(a).max(-1.0)));
    let total_us = one.shares.total().time_us;
    let times: Vec<f64> = asked.iter().map(|one| all_us(one)).collect();
    Table::new(
        "questions",
        "All queries",
        vec![
            Column::text("Query", asked.iter().map(|one| one.question.name.as_str())),
            Column::text("Inputs", asked.iter().map(|one| one.question.input_shapes())),
            Column::text("Data types", asked.iter().map(|one| one.question.input_types())),
            Column::text("Based on", asked.iter().map(|one| one.finding.source.name())),
            Column::whole("Calls", asked.iter().map(|one| one.question.calls as f64)),
            Column::decimal("One call", asked.iter().map(|one| one.duration_us().unwrap_or(f64::NAN)), 2).unit("µs"),
            Column::decimal("All calls", times.iter().copied(), 1).unit("µs"),
            Column::share_percent("Share", times.iter().map(|time| share(*time, total_us))),
            Column::text("Between rows on", asked.iter().map(|one| one.finding.axes.join(", "))),
            Column::text(
                "Kernels",
                asked.iter().map(|one| {
                    one.finding.kernels.iter().map(|(name, _, _)| name.as_str()).collect::<Vec<_>>().join(", ")
                }),
            ),
            Column::text(
                "Why not",
                asked.iter().map(|one| {
                    one.finding.reason.as_ref().map_or(String::new(), |(code, words)| format!("{code}: {words}"))
                }),
            ),
        ],
    )
}

fn kernels_verdict(kernels: &[KernelAudit]) -> String {
    match kernels.first().filter(|kernel| kernel.doubtful_us() > 0.0) {
        Some(worst) => {
            format!("{} has most time without an exact match: {}.", worst.kernel_type, micros(worst.doubtful_us()))
        }
        None => "All known time has an exact match.".to_owned(),
    }
}

fn heat_map(kernels: &[KernelAudit]) -> Chart {
    let shown = &kernels[..KERNELS_DRAWN.min(kernels.len())];
    let cell = |kernel: &KernelAudit, source: AnswerSource| {
        let calls = kernel.shares.of(source).calls;
        (calls > 0).then(|| {
            let part = kernel.shares.of_calls(source);
            let worth = match source {
                AnswerSource::Exact => 1.0,
                AnswerSource::Padded => 0.85,
                AnswerSource::Interpolated => 0.7,
                AnswerSource::Beyond => 0.4,
                AnswerSource::Partial => 0.2,
                AnswerSource::Missing | AnswerSource::Free => 0.0,
            };
            HeatCell {
                share: worth,
                text: grouped(100.0 * part, 0),
                title: format!(
                    "{}: {} calls, {} of the kernel's",
                    source.name(),
                    grouped(calls as f64, 0),
                    percent(100.0 * part)
                ),
            }
        })
    };
    HeatMap {
        down: "Kernel",
        across: "based on",
        rows: shown.iter().map(|kernel| kernel.kernel_type.clone()).collect(),
        columns: AnswerSource::ALL.map(|source| source.name().to_owned()).to_vec(),
        cells: shown.iter().flat_map(|kernel| AnswerSource::ALL.map(|source| cell(kernel, source))).collect(),
    }
    .chart("What the calls of each kernel are based on, % of its calls")
    .note("Green is based on rows, red on nothing. Kernels with most time without an exact match first.")
}

fn kernel_table(kernels: &[KernelAudit]) -> Table {
    let of = |source: AnswerSource| kernels.iter().map(move |kernel| 100.0 * kernel.shares.of_calls(source));
    let p90 = |kernel: &KernelAudit| {
        let scores = kernel.trust.as_ref().map(|trust| &trust.scores);
        scores.and_then(|scores| scores.first()).map_or(f64::NAN, |score| 100.0 * score.p90)
    };
    Table::new(
        "kernels",
        "Kernels",
        vec![
            Column::text("Kernel type", kernels.iter().map(|kernel| kernel.kernel_type.as_str())),
            Column::whole("Calls", kernels.iter().map(|kernel| kernel.shares.total().calls as f64)),
            Column::decimal("Time", kernels.iter().map(|kernel| kernel.shares.total().time_us), 1).unit("µs"),
            Column::decimal("Without exact match", kernels.iter().map(KernelAudit::doubtful_us), 1).unit("µs"),
            Column::share_percent("Exact", of(AnswerSource::Exact)),
            Column::share_percent("Interpolated", of(AnswerSource::Interpolated)),
            Column::share_percent("Beyond", of(AnswerSource::Beyond)),
            Column::share_percent("Missing", of(AnswerSource::Missing)),
            Column::whole(
                "Rows of its table",
                kernels.iter().map(|kernel| kernel.trust.as_ref().map_or(f64::NAN, |trust| trust.rows as f64)),
            ),
            Column::error_percent("P90 error", kernels.iter().map(p90)),
        ],
    )
}

fn suggested(found: &Suggestions) -> Table {
    let rows = &found.rows;
    Table::new(
        "suggested",
        "What to measure next",
        vec![
            Column::text("Kernel type", rows.iter().map(|row| row.kernel_type.as_str())),
            Column::text("Inputs", rows.iter().map(|row| row.inputs.as_str())),
            Column::text("Now based on", rows.iter().map(|row| row.source.name())),
            Column::whole("Calls", rows.iter().map(|row| row.calls as f64)),
            Column::decimal("Time", rows.iter().map(|row| row.time_us), 1).unit("µs"),
        ],
    )
}
