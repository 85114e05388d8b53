//! Answers of a database: a table for people, cells for programs.

mod number;
mod traced;

pub use traced::{TracedAnswer, traced};

use crate::layout::{Cell, Column, Layout, Table};
use number::microseconds;
pub(crate) use number::total;
use perfdb_files::escape::{one_line, spreadsheet_text};
use perfdb_query::{Answer, Class, LookupError, Query, Reader, Source};
use std::fmt::Write as _;

/// What a question is called, and its answer.
pub type Named<'a> = (&'a str, &'a Result<Answer, LookupError>);

/// The columns of a CSV of answers.
pub const HEADER: [&str; 8] = ["query", "duration_us", "source", "confidence", "kernel_type", "rule", "rows", "reason"];

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
pub fn interval_cells(answer: &Result<Answer, LookupError>) -> [String; 3] {
    match answer.as_ref().ok().and_then(Answer::prediction) {
        Some(prediction) => {
            [prediction.low_us.to_string(), prediction.high_us.to_string(), prediction.class.name().to_owned()]
        }
        None => Default::default(),
    }
}

pub(crate) fn rows(answer: &Answer) -> Vec<String> {
    answer.rows.iter().map(ToString::to_string).collect()
}

/// A query as people read it, with its answer.
#[derive(Debug, Clone)]
pub struct Answered {
    /// What the query is called.
    pub name: String,
    /// The shapes of its inputs.
    pub inputs: String,
    pub answer: Result<Answer, LookupError>,
    /// The 90 % interval of an answer that is not one measured row, where one is known.
    pub interval_us: Option<[f64; 2]>,
}

impl Answered {
    /// The name and the answer.
    pub fn named(&self) -> Named<'_> {
        (&self.name, &self.answer)
    }

    fn microseconds(&self, answer: &Answer) -> String {
        microseconds(answer.duration_us, self.interval_us)
    }
}

/// How many answers there are of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    measured: u64,
    other_type: u64,
    padded: u64,
    interpolated: u64,
    partial: u64,
    missed: u64,
}

impl Counts {
    /// Adds an answer that counts this many times.
    pub fn add(&mut self, answer: &Result<Answer, LookupError>, count: u64) {
        *match answer.as_ref().map(|answer| answer.source) {
            Ok(Source::Measured) if answer.as_ref().is_ok_and(Answer::is_of_other_type) => &mut self.other_type,
            Ok(Source::Measured) => &mut self.measured,
            Ok(Source::Padded) => &mut self.padded,
            Ok(Source::Interpolated) => &mut self.interpolated,
            Ok(Source::Partial) => &mut self.partial,
            Err(_) => &mut self.missed,
        } += count;
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.measured + self.other_type + self.padded + self.interpolated + self.partial + self.missed
    }

    /// Those without an answer.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// `3 queries: 2 measured, 1 without an answer`.
    pub fn text(&self, what: &str) -> String {
        let parts = [
            (self.measured, "measured"),
            (self.other_type, "of another data type"),
            (self.padded, "padded"),
            (self.interpolated, "interpolated"),
            (self.partial, "partial"),
            (self.missed, "without an answer"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
        let all = self.all();
        let ending = match (what.strip_suffix('y'), all) {
            (_, 1) => what.to_owned(),
            (Some(stem), _) => format!("{stem}ies"),
            (None, _) => format!("{what}s"),
        };
        let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        format!("{all} {ending}{parts}")
    }
}

/// One answer: the duration first, then what it is based on.
pub fn one(answered: &Answered, layout: Layout) -> String {
    let name = one_line(&answered.name);
    let answer = match &answered.answer {
        Ok(answer) => answer,
        Err(miss) => {
            return layout.wrapped_lines(&format!("{name}: not found: {}\n", why(miss)));
        }
    };
    let us = microseconds(answer.duration_us, answered.interval_us).replacen('(', "µs (90 % interval ", 1);
    let us = if us.contains('µ') { us } else { format!("{us} µs") };
    let mut basis = Vec::new();
    basis.extend(answer.kernel_type().map(|kernel| format!("kernel {}", one_line(&kernel))));
    let rows = rows_of(answer);
    basis.extend((!rows.is_empty()).then(|| format!("rows {}", one_line(&rows))));
    basis.extend(answer.rule.map(|rule| format!("rule {rule}")));
    basis.push(format!("confidence {:.2}", answer.confidence));
    layout.wrapped_lines(&format!("{name}: {us}, {}\n  {}\n", origin(answer), basis.join(", ")))
}

/// Why there is no answer, in words: the code of the reason is in the JSON.
fn why(miss: &LookupError) -> String {
    let meaning = miss.reason.meaning();
    let text = one_line(&miss.to_string());
    match (&miss.detail, text.split_once(':')) {
        (Some(detail), _) if miss.is_unreadable() => format!("{meaning} ({})", one_line(detail)),
        (_, Some((_, about))) => format!("{meaning} ({about})"),
        _ => meaning.to_owned(),
    }
}

/// Where an answer is from, in one word. A row of another data type is an estimate, so it is not called measured.
fn source_name(answer: &Answer) -> &'static str {
    if answer.is_of_other_type() { "OTHER TYPE" } else { answer.source.name() }
}

/// How an answer comes from the measured rows.
fn origin(answer: &Answer) -> String {
    match (answer.source, answer.prediction().map(|prediction| prediction.class)) {
        (Source::Measured, _) if answer.is_of_other_type() => "measured with another data type".to_owned(),
        (Source::Padded, _) => "padded: measured for a smaller shape that the kernel rounds up".to_owned(),
        // The simulator's readers tell it by the rule alone.
        (Source::Measured, _) if answer.rule.is_some_and(|rule| rule.ends_with("padding")) => {
            "padded: measured for a smaller shape that the kernel rounds up".to_owned()
        }
        (Source::Measured, _) => "measured".to_owned(),
        (Source::Interpolated, Some(Class::Beyond)) => "extrapolated, outside the measured range".to_owned(),
        (Source::Interpolated, Some(Class::NewConfiguration)) => {
            "extrapolated, no measured row has this configuration".to_owned()
        }
        (Source::Interpolated, _) => "interpolated between measured rows".to_owned(),
        (Source::Partial, _) => {
            let missed: Vec<_> = answer.missed_kernels().iter().map(|kernel| one_line(kernel)).collect();
            format!("a part of the sum, without {}", missed.join(", "))
        }
    }
}

/// The table for people, a row for each answer.
pub fn table(answers: &[Answered], layout: Layout) -> String {
    let mut table = Table::new([
        Column::name("query"),
        Column::number("us"),
        Column::name("source"),
        Column::number("confidence").optional(3),
        Column::name("kernel"),
        Column::name("rule").optional(1),
        Column::name("rows").optional(2),
    ]);
    let dash = |text: &str| Cell::from(if text.is_empty() { "-" } else { text });
    for answered in answers {
        let name = answered.name.as_str();
        table.push(match &answered.answer {
            Ok(answer) => [
                name.into(),
                answered.microseconds(answer).into(),
                source_name(answer).into(),
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
pub fn sentences(answers: &[Answered], layout: Layout) -> String {
    let mut text = String::new();
    for Answered { name, answer, .. } in answers {
        if let Some(prediction) = answer.as_ref().ok().and_then(Answer::prediction) {
            let _ = writeln!(text, "\n{}\n  {}", one_line(name), layout.wrapped(&one_line(&prediction.sentence), 2));
        }
    }
    text
}

/// Details of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Details {
    /// What was tried, table by table.
    pub explained: bool,
    /// At most this many of the nearest rows; one for a question without an answer, though none are wanted.
    pub nearest: usize,
}

/// Why there is no answer.
pub fn reason(name: &str, miss: &LookupError, layout: Layout) -> String {
    layout.wrapped_lines(&format!("\nno answer to {}: {}\n", one_line(name), why(miss)))
}

/// How an answer was found, and the nearest rows.
pub fn details(reader: &Reader, query: &Query, (name, answer): Named<'_>, wanted: Details, layout: Layout) -> String {
    let name = one_line(name);
    let mut text = String::new();
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
        let line = format!("{}  {}  {:.3} us  {why}", near.row, near.inputs, near.duration_us);
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

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_query::{DType, Database, Tensor};

    #[test]
    fn a_table_that_cannot_be_used_is_named_with_the_reason() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join("MatMulV2.csv"))?;
        let database = Database::open(folder.path())?;
        let tensor = || Tensor::new(vec![16, 16], DType::from_database("DT_BF16").expect("a type"));
        let query = Query::kernel("MatMulV2").input(tensor()).input(tensor());
        let (name, inputs, answer) = ("MatMulV2".to_owned(), query.input_shapes(), database.lookup(&query));
        let text = one(&Answered { name, inputs, answer, interval_us: None }, Layout::default());
        let file = folder.path().join("MatMulV2.csv");
        let said =
            format!("MatMulV2: not found: a table cannot be used ({}: Is a directory (os error 21))\n", file.display());
        assert_eq!(text, said);
        Ok(())
    }
}
