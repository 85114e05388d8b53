//! Runs before a change against runs after it: text, CSV, JSON, and Markdown for a pull request.

use std::fmt::Write as _;

use perfdb_pycompat::format::fixed;
use perfdb_pycompat::json::to_string;
use perfdb_tracediff::{LeftOutStep, RowKind, RunsReport, RunsRow};

use crate::layout::{Cell, Column, Layout, Table, Tone, cut};
use crate::tracediff::{escaped, push_record, text_cell};

/// Rows of the text.
const ROWS: usize = 24;
/// Rows of a comment that stand open, and those that are folded.
const OPEN_ROWS: usize = 8;
const FOLDED_ROWS: usize = 8;
/// Lines of a comment, and those that follow its facts or are a limit that is exceeded.
const COMMENT_LINES: usize = 40;
const AROUND_FACTS: usize = 4;
/// Steps or runs that are named.
const NAMED: usize = 3;
/// Characters of a name in a comment.
const NAME: usize = 100;

/// The JSON document, with a final newline. It holds the runs, so that it serves as a baseline.
pub fn json(report: &RunsReport) -> String {
    // Every key is a text, so it is always representable.
    to_string(report).unwrap_or_default() + "\n"
}

const HEADER: &str = "kind,name,before_ms,after_ms,difference_ms,low_ms,high_ms,percent,low_percent,high_percent,confidence,verdict,runs_needed,steps_vary_percent,runs_vary_percent\n";

/// The elapsed time and the rows that were tested.
pub fn csv(report: &RunsReport) -> String {
    let mut out = HEADER.to_owned();
    let number = |number: Option<f64>, digits| number.map_or_else(String::new, |number| fixed(number, digits));
    for row in report.elapsed.iter().chain(&report.rows) {
        let interval = row.interval_percent;
        let cells = [
            row.kind.name().to_owned(),
            text_cell(&row.name),
            fixed(row.before_ms, 6),
            fixed(row.after_ms, 6),
            fixed(row.difference_ms, 6),
            number(row.interval_ms.map(|[low, _]| low), 6),
            number(row.interval_ms.map(|[_, high]| high), 6),
            number(row.percent, 3),
            number(interval.map(|[low, _]| low), 3),
            number(interval.map(|[_, high]| high), 3),
            fixed(row.confidence, 6),
            row.verdict.to_owned(),
            row.runs_needed.map_or_else(String::new, |runs| runs.to_string()),
            number(row.steps_vary_percent, 3),
            number(row.runs_vary_percent, 3),
        ];
        push_record(&mut out, &cells);
    }
    out
}

/// The report for people.
pub fn text(report: &RunsReport, show_all: bool, layout: Layout) -> String {
    let mut out = String::new();
    escaped(&mut out, layout, |out| {
        let _ = writeln!(out, "{}", report.sentence);
        for line in facts(report) {
            let _ = writeln!(out, "{line}");
        }
    });
    let Some(elapsed) = report.elapsed.as_ref().filter(|_| report.different_workloads.is_none()) else { return out };
    let number = |heading| Column::number(heading);
    let mut table = Table::new([
        Column::name(""),
        number("before ms"),
        number("after ms"),
        number("difference"),
        number("interval").optional(1),
        Column::name("verdict"),
    ]);
    let shown = if show_all { report.rows.len() } else { ROWS };
    for row in std::iter::once(elapsed).chain(report.rows.iter().take(shown)) {
        let tone = match row.verdict {
            "slower" => Tone::TooMuch,
            "faster" => Tone::TooLittle,
            _ => Tone::Plain,
        };
        table.push([
            Cell::from(layout.name(&name(row), NAME, 60)),
            fixed(row.before_ms, 3).into(),
            fixed(row.after_ms, 3).into(),
            Cell::from(difference(row)).toned(tone),
            interval(row).into(),
            Cell::from(verdict(row, report)).toned(tone),
        ]);
    }
    out.push('\n');
    out.push_str(&table.text(layout));
    let hidden = report.rows.len().saturating_sub(shown);
    if hidden > 0 {
        let _ = writeln!(out, "… and {hidden} more rows; --all shows them");
    }
    out
}

/// A comment for a pull request, of at most 40 lines.
pub fn markdown(report: &RunsReport) -> String {
    let mut out = format!("**perfdb trace diff: {}**\n", plain(&report.sentence));
    let facts = facts(report);
    let elapsed = report.elapsed.iter().filter(|_| report.different_workloads.is_none());
    let is_found = |row: &&RunsRow| matches!(row.verdict, "slower" | "faster");
    let found = report.rows.iter().filter(is_found).count();
    let open: Vec<&RunsRow> = elapsed.chain(report.rows.iter().take(found.min(OPEN_ROWS))).collect();
    let rest: Vec<&RunsRow> = report.rows.iter().skip(found.min(OPEN_ROWS)).collect();
    if !open.is_empty() {
        rows(&mut out, &open, report);
    }
    if !rest.is_empty() {
        let shown = &rest[..rest.len().min(FOLDED_ROWS)];
        let title = if found == 0 { "No other row differs beyond the noise" } else { "Other rows" };
        let _ = write!(out, "\n<details><summary>{title}: {} of {}</summary>\n", shown.len(), rest.len());
        rows(&mut out, shown, report);
        out.push_str("\n</details>\n");
    }
    if !facts.is_empty() {
        let _ = writeln!(out, "\n<details><summary>Confidence, and what was left out</summary>\n");
        let room = COMMENT_LINES - AROUND_FACTS - out.lines().count();
        let shown = if facts.len() > room { room - 1 } else { facts.len() };
        for line in &facts[..shown] {
            let _ = writeln!(out, "- {}", plain(line));
        }
        if shown < facts.len() {
            let _ = writeln!(out, "- {} more in the text and the JSON", facts.len() - shown);
        }
        out.push_str("\n</details>\n");
    }
    out
}

fn rows(out: &mut String, rows: &[&RunsRow], report: &RunsReport) {
    out.push_str("\n| | before ms | after ms | difference | interval | verdict |\n|---|---:|---:|---:|---:|---|\n");
    for row in rows {
        let name = plain(&cut(&name(row), NAME));
        let [before, after] = [fixed(row.before_ms, 3), fixed(row.after_ms, 3)];
        let _ = writeln!(
            out,
            "| {name} | {before} | {after} | {} | {} | {} |",
            difference(row),
            interval(row),
            verdict(row, report)
        );
    }
}

/// Text that is no markup.
fn plain(text: &str) -> String {
    let text = perfdb_files::escape::one_line(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('|', "\\|").replace('`', "'")
}

pub(crate) fn name(row: &RunsRow) -> String {
    match row.kind {
        RowKind::Elapsed => "elapsed time".to_owned(),
        RowKind::Part => format!("part: {}", row.name),
        RowKind::Class => format!("class: {}", row.name),
        RowKind::Operator => row.name.clone(),
    }
}

fn difference(row: &RunsRow) -> String {
    match row.percent {
        Some(percent) => format!("{percent:+.1} %"),
        None => format!("{:+.3} ms", row.difference_ms),
    }
}

fn interval(row: &RunsRow) -> String {
    // No minus before a zero.
    let tenths = |percent: f64| (10.0 * percent).round() / 10.0 + 0.0;
    match (row.interval_percent, row.interval_ms) {
        (Some([low, high]), _) => format!("{:+.1} to {:+.1} %", tenths(low), tenths(high)),
        (None, Some([low, high])) => format!("{low:+.3} to {high:+.3} ms"),
        (None, None) => "-".to_owned(),
    }
}

fn verdict(row: &RunsRow, report: &RunsReport) -> String {
    match (row.verdict, row.runs_needed) {
        ("inconclusive", Some(runs)) => format!("inconclusive ({runs} runs find {} %)", report.wanted_percent),
        (verdict, _) => verdict.to_owned(),
    }
}

/// What a reader has to know beside the verdict, one line each.
pub(crate) fn facts(report: &RunsReport) -> Vec<String> {
    let mut lines: Vec<String> = report.work_differs.iter().map(|line| format!("the work differs: {line}")).collect();
    lines.extend(report.not_trusted.iter().take(NAMED).map(|line| format!("times not trusted: {line}")));
    for run in report.outlier_runs.iter().take(NAMED) {
        let (path, percent, ms) = (&run.path, run.percent, run.elapsed_ms);
        let line = format!(
            "unlike the other runs of its side: {path}, {ms:.3} ms ({percent:+.1} %); it counts, record it again"
        );
        lines.push(line);
    }
    for why in ["warm-up", "held up", "not in every run"] {
        let steps: Vec<&LeftOutStep> = report.left_out.iter().filter(|step| step.why == why).collect();
        if steps.is_empty() {
            continue;
        }
        let step =
            |step: &&LeftOutStep| format!("{} step {} ({:.1} x the median)", step.path, step.step, step.of_median);
        let mut longest = steps.clone();
        longest.sort_by(|a, b| b.of_median.total_cmp(&a.of_median));
        if why == "warm-up" {
            // The same steps of every run.
            let count = 1 + steps.iter().map(|step| step.step).max().unwrap_or(0);
            let first = if count == 1 { "step".to_owned() } else { format!("{count} steps") };
            let (times, path) = (longest[0].of_median, &longest[0].path);
            lines.push(format!(
                "left out as warm-up: the first {first} of each run ({times:.1} x the median in {path})"
            ));
            continue;
        }
        let named: Vec<String> = longest.iter().take(NAMED).map(step).collect();
        let more = steps.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        lines.push(format!("left out, {why}: {}{more}", named.join(", ")));
    }
    let Some(elapsed) = report.elapsed.as_ref().filter(|_| report.different_workloads.is_none()) else { return lines };
    let steps = elapsed.steps_vary_percent.map(|percent| format!("steps of a run vary by {percent:.1} %"));
    let runs = match (elapsed.is_measured, elapsed.runs_vary_percent) {
        (true, Some(percent)) => format!("runs vary by {percent:.1} % more than their steps explain"),
        _ => format!(
            "runs are taken to vary by {} % (--run-variation): three or more of each side measure it",
            report.run_variation_percent
        ),
    };
    let common = report.common_variation.filter(|common| common.degrees_of_freedom >= 1.0).map(|common| {
        let (percent, degrees) = (common.percent, common.degrees_of_freedom);
        format!("times of kernels in a run by {percent:.1} % in common, with {degrees:.0} degrees of freedom")
    });
    lines.push(steps.into_iter().chain([runs]).chain(common).collect::<Vec<_>>().join("; "));
    let tested = report.rows.len();
    lines.push(format!(
        "{:.1} % interval of the elapsed time; {tested} rows share a level of their own (Holm); {} rows below 1 % of the time are not tested",
        100.0 * elapsed.confidence,
        report.untested_rows
    ));
    lines
}
