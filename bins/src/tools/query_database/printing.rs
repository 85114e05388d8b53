//! Answers as a table, as JSON lines and as CSV.

use super::Answered;
use crate::json_file::JsonFile;
use crate::{Failure, print};
use perfdb_files::escape::{one_line, spreadsheet_text};
use perfdb_files::replace::{Staged, commit};
use perfdb_pycompat::json::Style;
use perfdb_query::{Answer, Miss, answer_to_json};
use perfdb_store::table::LineEnd;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

const HEADER: [&str; 8] = ["question", "us", "source", "confidence", "kernel", "rule", "rows", "reason"];

/// What a CSV has besides where answers have intervals.
const INTERVAL_HEADER: &[&str] = &["low_us", "high_us", "class"];

/// Where answers of one form go.
pub(super) struct Form {
    pub(super) is_stdout: bool,
    pub(super) file: Option<JsonFile>,
    pub(super) text: String,
}

/// How much is gathered before it is written.
const PIECE_BYTES: usize = 64 * 1024;

impl Form {
    fn is_wanted(&self) -> bool {
        self.is_stdout || self.file.is_some()
    }

    /// Writes what was gathered.
    fn flush(&mut self) -> Result<(), Failure> {
        if self.text.is_empty() {
            return Ok(());
        }
        if self.is_stdout {
            print(&self.text)?;
        }
        if let Some(file) = &mut self.file {
            file.append(&self.text)?;
        }
        self.text.clear();
        Ok(())
    }

    /// Prints what goes to stdout; stages what goes to a file.
    fn finish(mut self) -> Result<Option<Staged>, Failure> {
        self.flush()?;
        self.file.map(JsonFile::stage_appended).transpose()
    }
}

/// Where answers go.
pub(super) struct Sink {
    json: Form,
    csv: Form,
    /// Whether answers have intervals.
    has_intervals: bool,
}

impl Sink {
    pub(super) fn open(json: Option<&OsStr>, csv: Option<&OsStr>, has_intervals: bool) -> Result<Sink, Failure> {
        let is_dash = |path: Option<&OsStr>| path.is_some_and(|path| path == "-");
        if is_dash(json) && is_dash(csv) {
            return Err(Failure::usage("--json and --csv cannot both go to stdout"));
        }
        let mut sink = Sink { json: Form::open(json)?, csv: Form::open(csv)?, has_intervals };
        if sink.csv.is_wanted() {
            let more = if has_intervals { INTERVAL_HEADER } else { &[] };
            sink.csv.text.push_str(&(HEADER.iter().chain(more).copied().collect::<Vec<_>>().join(",") + "\n"));
        }
        Ok(sink)
    }

    /// Whether people get a table on stdout.
    pub(super) fn shows_table(&self) -> bool {
        !self.json.is_stdout && !self.csv.is_stdout
    }

    pub(super) fn add(&mut self, id: &Option<Value>, name: &str, answer: &Result<Answer, Miss>) -> Result<(), Failure> {
        if self.json.is_wanted() {
            let line = json!({"id": id.as_ref().unwrap_or(&Value::Null), "answer": answer_to_json(answer)});
            self.json.text.push_str(&(perfdb_pycompat::json::to_string_with(&line, Style::ONE_LINE)? + "\n"));
        }
        if self.csv.is_wanted() {
            let mut cells = cells(name, answer).to_vec();
            if self.has_intervals {
                cells.extend(interval_cells(answer));
            }
            let mut line = Vec::new();
            perfdb_store::table::push_csv_row(&mut line, cells.iter().map(String::as_str), LineEnd::Lf);
            self.csv.text.push_str(&String::from_utf8_lossy(&line));
        }
        if self.json.text.len().max(self.csv.text.len()) >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what was gathered. Files stay out of their places until [`Self::finish`].
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.json.flush()?;
        self.csv.flush()
    }

    /// The files that are written.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.json.file.iter().chain(&self.csv.file).map(JsonFile::path)
    }

    /// Writes both files, or none.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let set = [self.json.finish()?, self.csv.finish()?];
        Ok(commit(set.into_iter().flatten().collect())?)
    }
}

/// The interval of an answer and its class.
fn interval_cells(answer: &Result<Answer, Miss>) -> [String; 3] {
    match answer.as_ref().ok().and_then(Answer::prediction) {
        Some(prediction) => {
            [prediction.low_us.to_string(), prediction.high_us.to_string(), prediction.class.name().to_owned()]
        }
        None => Default::default(),
    }
}

fn cells(name: &str, answer: &Result<Answer, Miss>) -> [String; 8] {
    match answer {
        Ok(answer) => [
            spreadsheet_text(name).into_owned(),
            format!("{}", answer.duration_us),
            answer.source.name().to_owned(),
            format!("{}", answer.confidence),
            answer.kernel_type().map(|kernel| spreadsheet_text(&kernel).into_owned()).unwrap_or_default(),
            answer.rule.unwrap_or_default().to_owned(),
            rows(answer),
            if answer.is_of_other_version() { "other version".to_owned() } else { String::new() },
        ],
        Err(miss) => {
            let mut cells: [String; 8] = Default::default();
            cells[0] = spreadsheet_text(name).into_owned();
            cells[7] = spreadsheet_text(&miss.to_string()).into_owned();
            cells
        }
    }
}

fn rows(answer: &Answer) -> String {
    answer.rows.iter().map(|row| row.to_string()).collect::<Vec<_>>().join(" ")
}

/// Answers as columns for people.
pub(super) fn table(answered: &[Answered]) -> String {
    let head = ["question", "us", "source", "confidence", "kernel", "rule", "rows"].map(str::to_owned);
    let columns = head.len();
    let mut lines: Vec<Vec<String>> = vec![head.to_vec()];
    for one in answered {
        lines.push(match &one.answer {
            Ok(answer) => vec![
                one.question.name.clone(),
                format!("{:.3}", answer.duration_us),
                answer.source.name().to_owned(),
                format!("{:.2}", answer.confidence),
                or_dash(answer.kernel_type().unwrap_or_default().into_owned()),
                answer.rule.unwrap_or("-").to_owned(),
                shortened(&rows(answer)) + if answer.is_of_other_version() { " (other version)" } else { "" },
            ],
            Err(_) => {
                let mut line = vec!["-".to_owned(); columns];
                line[0].clone_from(&one.question.name);
                "no answer".clone_into(&mut line[2]);
                line
            }
        });
    }
    aligned(&lines)
}

/// The sentences of answers that have one.
pub(super) fn sentences(answered: &[Answered]) -> String {
    let mut text = String::new();
    for one in answered {
        if let Some(prediction) = one.answer.as_ref().ok().and_then(Answer::prediction) {
            let name = one_line(&one.question.name);
            let _ = writeln!(text, "\n{name}\n  {}", prediction.sentence);
        }
    }
    text
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

fn shortened(rows: &str) -> String {
    let all: Vec<&str> = rows.split(' ').filter(|row| !row.is_empty()).collect();
    match all.len() {
        0 => "-".to_owned(),
        1..=4 => all.join(" "),
        count => format!("{} and {} more", all[..3].join(" "), count - 3),
    }
}

/// Columns of equal width; numbers stand on the right.
pub(super) fn aligned(lines: &[Vec<String>]) -> String {
    let lines: Vec<Vec<String>> = lines.iter().map(|line| line.iter().map(|cell| one_line(cell)).collect()).collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        let mut shown = String::new();
        for (at, cell) in line.iter().enumerate() {
            let width = widths[at];
            let is_number = cell.parse::<f64>().is_ok();
            let padded = if is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") };
            shown.push_str(&padded);
            shown.push_str("  ");
        }
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    text
}

/// The parts of an answer and the places between which it lies.
pub(super) fn details(answer: &Answer) -> String {
    let mut text = String::new();
    for part in answer.parts() {
        let _ = writeln!(
            text,
            "  part {} {:.3} us {} {}",
            part.kernel_type,
            part.duration_us,
            part.source.name(),
            part.rule
        );
    }
    for missed in answer.missed_kernels() {
        let _ = writeln!(text, "  part {missed}: nothing known");
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
