//! Answers a task: known rows and asked ones on stdin, predictions with intervals on stdout.
//!
//! The first line is `#` and JSON: `task`, `family`, `group` (columns that must be equal), `axes`, `size_axis`, `config`,
//! `constants`. A CSV follows: `role` (`known`, `ask`), `point`, the group columns, the axes, `time_us` (empty where asked).

use perfdb_model::predict::{ColumnSet, Columns, Estimate, Point, Rows, Table, configuration};
use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, Write};

fn main() -> Result<(), Box<dyn Error>> {
    let mut input = std::io::stdin().lock();
    let mut head = String::new();
    input.read_line(&mut head)?;
    let task: Value = serde_json::from_str(head.strip_prefix('#').ok_or("the first line is no head")?)?;
    let answers = answer(&task, csv::Reader::from_reader(input))?;
    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
    writeln!(output, "task,point,predicted_us,low_us,high_us")?;
    for (point, answer) in answers {
        let Estimate { duration_us, low_us, high_us, .. } = answer;
        writeln!(
            output,
            "{},{point},{duration_us:.9},{low_us:.9},{high_us:.9}",
            task["task"].as_str().unwrap_or_default()
        )?;
    }
    Ok(output.flush()?)
}

struct Row<'r> {
    names: &'r csv::StringRecord,
    cells: &'r csv::StringRecord,
    constants: &'r Value,
}

impl Columns for Row<'_> {
    fn number(&self, column: &str) -> Option<f64> {
        self.text(column)?.parse().ok()
    }

    fn text(&self, column: &str) -> Option<&str> {
        let at = self.names.iter().position(|name| name == column);
        at.and_then(|at| self.cells.get(at)).or_else(|| self.constants[column].as_str())
    }
}

/// What the columns of a table mean.
enum Kind {
    Known(ColumnSet),
    /// Sizes of a kernel that nobody described.
    Generic(Vec<String>),
}

impl Kind {
    fn of(task: &Value, axes: Vec<String>) -> Option<Kind> {
        match task["family"].as_str()? {
            "generic" => Some(Kind::Generic(axes)),
            name => ColumnSet::named(name).map(Kind::Known),
        }
    }

    fn place(&self, row: &Row<'_>) -> Option<Point> {
        match self {
            Kind::Known(family) => family.point(row),
            Kind::Generic(axes) => {
                let sizes: Option<Vec<f64>> = axes.iter().map(|axis| row.number(axis)).collect();
                Some(Point::generic(&sizes?))
            }
        }
    }

    fn size(&self, task: &Value, known: &[Rows]) -> Option<usize> {
        match self {
            Kind::Known(family) => size_axis(task, *family, known),
            Kind::Generic(axes) => axes.iter().position(|axis| Some(axis.as_str()) == task["size_axis"].as_str()),
        }
    }
}

/// A slice of the table: the rows that are known, and the places asked for with their identifiers.
type Slice = (Option<Rows>, Vec<(String, Point)>);

/// What is asked, with its answers.
fn answer<R: std::io::Read>(task: &Value, mut rows: csv::Reader<R>) -> Result<Vec<(String, Estimate)>, Box<dyn Error>> {
    let texts = |key: &str| -> Vec<String> {
        task[key].as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let (group, config) = (texts("group"), texts("config"));
    let kind = Kind::of(task, texts("axes")).ok_or("unknown family")?;
    let names = rows.headers()?.clone();
    let mut slices: BTreeMap<Vec<String>, Slice> = BTreeMap::new();
    for (line, cells) in rows.records().enumerate() {
        let cells = cells?;
        let row = Row { names: &names, cells: &cells, constants: &task["constants"] };
        let mut place = kind.place(&row).ok_or("a row lacks a column")?;
        let values: Vec<f64> = config.iter().filter_map(|column| row.number(column)).collect();
        place.configuration = configuration(&values);
        let key = group.iter().map(|column| row.text(column).unwrap_or_default().to_owned()).collect();
        let slice = slices.entry(key).or_default();
        if &cells[0] == "known" {
            let known = slice.0.get_or_insert_with(|| Rows::new(place.axes.len()));
            known.push(line as u32, &place, row.number("time_us").ok_or("a known row without a time")?, None);
        } else {
            slice.1.push((cells[1].to_owned(), place));
        }
    }
    let (known, asked): (Vec<_>, Vec<_>) =
        slices.into_values().filter_map(|(known, asked)| Some((known?, asked))).unzip();
    let size = kind.size(task, &known);
    let table = Table::new(known, size);
    let mut answers = Vec::new();
    for (slice, asked) in asked.into_iter().enumerate() {
        for (point, place) in asked {
            answers.extend(table.predict(slice, &place).map(|answer| (point, answer)));
        }
    }
    Ok(answers)
}

/// The axis along which calls grow: where batches are mixed it depends on the table.
fn size_axis(task: &Value, family: ColumnSet, known: &[Rows]) -> Option<usize> {
    let axes: Vec<&str> = task["axes"].as_array()?.iter().filter_map(Value::as_str).collect();
    if family != ColumnSet::MixedAttention || axes.contains(&"prefill_chunk") {
        return Some(family.size());
    }
    let candidates = task["size_axis"]
        .as_str()?
        .split('|')
        .filter_map(|name| ["batch", "query_tokens", "past_tokens"].iter().position(|axis| *axis == name));
    let all: Vec<usize> = candidates.collect();
    all.iter().copied().find(|axis| known.iter().any(|rows| rows.varies(*axis))).or(all.first().copied())
}
