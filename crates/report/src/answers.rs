//! Answers of a database: a table for people, cells for programs.

use crate::layout::{Cell, Column, Layout, Table};
use perfdb_files::escape::{one_line, spreadsheet_text};
use perfdb_query::{Answer, Miss, Query, Reader};
use std::fmt::Write as _;

/// What a question is called, and its answer.
pub type Named<'a> = (&'a str, &'a Result<Answer, Miss>);

/// The columns of a CSV of answers.
pub const HEADER: [&str; 8] = ["question", "us", "source", "confidence", "kernel", "rule", "rows", "reason"];

/// What the CSV has besides where answers have intervals.
pub const INTERVAL_HEADER: [&str; 3] = ["low_us", "high_us", "class"];

/// The cells of [`HEADER`]. Texts that a spreadsheet would compute have an apostrophe in front.
pub fn csv_cells((name, answer): Named<'_>) -> [String; 8] {
    let name = spreadsheet_text(name).into_owned();
    match answer {
        Ok(answer) => [
            name,
            answer.duration_us.to_string(),
            answer.source.name().to_owned(),
            answer.confidence.to_string(),
            answer.kernel_type().map(|kernel| spreadsheet_text(&kernel).into_owned()).unwrap_or_default(),
            answer.rule.unwrap_or_default().to_owned(),
            rows(answer).join(" "),
            if answer.is_of_other_version() { "other version".to_owned() } else { String::new() },
        ],
        Err(miss) => {
            let [source, confidence, kernel, rule, rows, us] = Default::default();
            [name, us, source, confidence, kernel, rule, rows, spreadsheet_text(&miss.to_string()).into_owned()]
        }
    }
}

/// The cells of [`INTERVAL_HEADER`]; empty where an answer has no interval.
pub fn interval_cells(answer: &Result<Answer, Miss>) -> [String; 3] {
    match answer.as_ref().ok().and_then(Answer::prediction) {
        Some(prediction) => {
            [prediction.low_us.to_string(), prediction.high_us.to_string(), prediction.class.name().to_owned()]
        }
        None => Default::default(),
    }
}

fn rows(answer: &Answer) -> Vec<String> {
    answer.rows.iter().map(ToString::to_string).collect()
}

/// The table for people, a row for each answer.
pub fn table<'a>(answers: impl IntoIterator<Item = Named<'a>>, layout: Layout) -> String {
    let mut table = Table::new([
        Column::name("question"),
        Column::number("us"),
        Column::name("source"),
        Column::number("confidence").optional(3),
        Column::name("kernel"),
        Column::name("rule").optional(1),
        Column::name("rows").optional(2),
    ]);
    let dash = |text: &str| Cell::from(if text.is_empty() { "-" } else { text });
    for (name, answer) in answers {
        table.push(match answer {
            Ok(answer) => [
                name.into(),
                format!("{:.3}", answer.duration_us).into(),
                answer.source.name().into(),
                format!("{:.2}", answer.confidence).into(),
                dash(&answer.kernel_type().unwrap_or_default()),
                dash(answer.rule.unwrap_or_default()),
                dash(&rows_of(answer)),
            ],
            Err(_) => [name.into(), dash(""), "no answer".into(), dash(""), dash(""), dash(""), dash("")],
        });
    }
    table.text(layout)
}

/// The first rows, and whether they are of another version of the software.
fn rows_of(answer: &Answer) -> String {
    let other = if answer.is_of_other_version() { " (other version)" } else { "" };
    shortened(&rows(answer)) + other
}

fn shortened(rows: &[String]) -> String {
    match rows {
        [first, second, third, _, _, ..] => format!("{first} {second} {third} and {} more", rows.len() - 3),
        rows => rows.join(" "),
    }
}

/// The sentences of answers that have one.
pub fn sentences<'a>(answers: impl IntoIterator<Item = Named<'a>>, layout: Layout) -> String {
    let mut text = String::new();
    for (name, answer) in answers {
        if let Some(prediction) = answer.as_ref().ok().and_then(Answer::prediction) {
            let _ = writeln!(text, "\n{}\n  {}", one_line(name), layout.wrapped(&one_line(&prediction.sentence), 2));
        }
    }
    text
}

/// What is told about an answer besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Details {
    /// What was tried, table by table.
    pub explained: bool,
    /// So many of the nearest rows; one for a question without an answer, though none are wanted.
    pub nearest: usize,
}

/// Why there is no answer, how it was found, and the nearest rows.
pub fn details(reader: &Reader, query: &Query, (name, answer): Named<'_>, wanted: Details, layout: Layout) -> String {
    let name = one_line(name);
    let mut text = String::new();
    if let Err(miss) = answer {
        let reason = one_line(&miss.to_string());
        let _ = writeln!(text, "\nno answer to {name}: {} ({reason})", miss.reason.meaning());
    }
    if wanted.explained {
        let (answer, explanation) = reader.explain(query);
        let _ = writeln!(text, "\nhow {name} was looked up");
        for line in &explanation.lines {
            let _ = writeln!(text, "  {}", one_line(line));
        }
        if let Ok(answer) = &answer {
            text.push_str(&parts_and_places(answer));
        }
    }
    let count = if answer.is_err() { wanted.nearest.max(1) } else { wanted.nearest };
    let nearest = reader.nearest(query, count);
    if !nearest.is_empty() {
        let _ = writeln!(text, "\nnearest rows to {name}");
    }
    for near in nearest {
        let why = if near.difference.is_empty() { "fits" } else { &near.difference };
        let line = format!("{}  {}  {} us  {why}", near.row, near.inputs, near.duration_us);
        let _ = writeln!(text, "  {}", one_line(&line));
    }
    layout.wrapped_lines(&text)
}

/// The parts of an answer and the places between which it lies.
fn parts_and_places(answer: &Answer) -> String {
    let mut text = String::new();
    for part in answer.parts() {
        let (kernel, source) = (one_line(&part.kernel_type), part.source.name());
        let _ = writeln!(text, "  part {kernel} {:.3} us {source} {}", part.duration_us, part.rule);
    }
    for missed in answer.missed_kernels() {
        let _ = writeln!(text, "  part {}: nothing known", one_line(missed.as_ref()));
    }
    if let Some(between) = answer.interpolation() {
        let at = |coordinates: &[f64]| {
            let named = between.axes.iter().zip(coordinates).map(|(axis, x)| format!("{axis} {x}"));
            named.collect::<Vec<_>>().join(", ")
        };
        let _ = writeln!(text, "  at {} ({}, {} rows)", at(&between.target), between.method, between.candidate_count);
        for place in &between.points {
            let percent = place.weight * 100.0;
            let _ = writeln!(text, "    {}: {:.3} us, {percent:.1} %", at(&place.coordinates), place.duration_us);
        }
    }
    text
}
