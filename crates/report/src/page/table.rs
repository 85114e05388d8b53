//! Tables of any length.

use crate::page::markup::{embedded_json, push_escaped};
use crate::page::number::{grouped, signed};
use crate::page::terms::meaning;
use serde::Serialize;
use std::collections::HashMap;

/// Rows that stand in the document before a script shows the others.
const ROWS_WITHOUT_SCRIPT: usize = 12;

/// Texts beyond this many characters lose their middle in their cells; a click on one shows it whole.
const WIDEST: usize = 46;
/// The same of texts that are never shortened, which go on in the next line.
const WIDEST_WHOLE: usize = 60;

/// A table. Its rows are data in the page, of which those in view are shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    key: &'static str,
    title: String,
    note: String,
    columns: Vec<Column>,
    leads: Option<Leads>,
    /// Rows that are in the document before a script shows the others.
    plain_rows: usize,
}

/// Rows of another table that rows of a table lead to.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Leads {
    key: &'static str,
    rows: Vec<Option<usize>>,
}

/// A column of a [`Table`] with all its cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    title: String,
    unit: &'static str,
    cells: Cells,
    is_hidden: bool,
    is_whole: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Cells {
    Text(Vec<String>),
    Number { values: Vec<f64>, form: Form, decimals: usize },
}

/// How numbers are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    Plain,
    Signed,
    /// A percentage that stands out beyond ±10 and ±20.
    Error,
    /// A percentage with a bar.
    Share,
}

impl Column {
    pub fn text<T: Into<String>>(title: impl Into<String>, cells: impl IntoIterator<Item = T>) -> Column {
        Column::new(title, Cells::Text(cells.into_iter().map(Into::into).collect()))
    }

    /// Numbers with this number of decimals; NaN is an empty cell.
    pub fn decimal(title: impl Into<String>, values: impl IntoIterator<Item = f64>, decimals: usize) -> Column {
        Column::number(title, values, Form::Plain, decimals)
    }

    /// Whole numbers.
    pub fn whole(title: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Column {
        Column::number(title, values, Form::Plain, 0)
    }

    /// Differences: with their sign.
    pub fn signed(title: impl Into<String>, values: impl IntoIterator<Item = f64>, decimals: usize) -> Column {
        Column::number(title, values, Form::Signed, decimals)
    }

    /// Errors in percent, which stand out beyond ±10 and ±20.
    pub fn error_percent(title: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Column {
        Column::number(title, values, Form::Error, 1).unit("%")
    }

    /// Shares in percent, with a bar behind the number.
    pub(crate) fn share_percent(title: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Column {
        Column::number(title, values, Form::Share, 1).unit("%")
    }

    fn number(title: impl Into<String>, values: impl IntoIterator<Item = f64>, form: Form, decimals: usize) -> Column {
        Column::new(title, Cells::Number { values: values.into_iter().collect(), form, decimals })
    }

    fn new(title: impl Into<String>, cells: Cells) -> Column {
        Column { title: title.into(), unit: "", cells, is_hidden: false, is_whole: false }
    }

    /// The unit, in the heading.
    #[must_use]
    pub fn unit(mut self, unit: &'static str) -> Column {
        self.unit = unit;
        self
    }

    /// Never shortened: sentences, and texts that hold numbers.
    #[must_use]
    pub(crate) fn whole_text(mut self) -> Column {
        self.is_whole = true;
        self
    }

    /// Not shown until it is chosen.
    #[must_use]
    pub fn hidden(mut self) -> Column {
        self.is_hidden = true;
        self
    }

    fn len(&self) -> usize {
        match &self.cells {
            Cells::Text(texts) => texts.len(),
            Cells::Number { values, .. } => values.len(),
        }
    }

    fn is_number(&self) -> bool {
        matches!(self.cells, Cells::Number { .. })
    }

    fn cell(&self, row: usize) -> String {
        match &self.cells {
            Cells::Text(texts) => texts.get(row).cloned().unwrap_or_default(),
            Cells::Number { values, form, decimals } => {
                let value = values.get(row).copied().unwrap_or(f64::NAN);
                match form {
                    _ if value.is_nan() => String::new(),
                    Form::Plain | Form::Share => grouped(value, *decimals),
                    Form::Signed | Form::Error => signed(value, *decimals),
                }
            }
        }
    }

    /// Characters of the widest cell, or of a word of the heading.
    fn width(&self) -> usize {
        let heading = self.title.split(' ').map(|word| word.chars().count()).max().unwrap_or(0) + 2;
        let cells = match &self.cells {
            Cells::Text(texts) => texts.iter().map(|text| text.chars().count()).max().unwrap_or(0),
            Cells::Number { values, .. } => {
                let extreme = |better: fn(f64, f64) -> bool| {
                    let all = values.iter().enumerate().filter(|(_, value)| value.is_finite());
                    let best = all.reduce(|best, one| if better(*one.1, *best.1) { one } else { best });
                    best.map_or(0, |(row, _)| self.cell(row).chars().count())
                };
                extreme(|a, b| a > b).max(extreme(|a, b| a < b))
            }
        };
        cells.max(heading).clamp(5, if self.is_whole { WIDEST_WHOLE } else { WIDEST })
    }

    fn heading(&self) -> String {
        if self.unit.is_empty() { self.title.clone() } else { format!("{} {}", self.title, self.unit) }
    }
}

/// The data of a table as its script reads it.
#[derive(Serialize)]
struct Data<'t> {
    key: &'t str,
    rows: usize,
    columns: Vec<ColumnData<'t>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leads: Option<&'t Leads>,
}

#[derive(Serialize)]
struct ColumnData<'t> {
    title: &'t str,
    unit: &'t str,
    hidden: bool,
    width: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    whole: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'static str>,
    #[serde(flatten)]
    cells: CellData<'t>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum CellData<'t> {
    /// A number that is not finite becomes null.
    Number {
        form: Form,
        decimals: usize,
        values: &'t [f64],
    },
    /// Texts, each once where they repeat, and the positions of the rows' texts.
    Repeated {
        texts: Vec<&'t str>,
        at: Vec<usize>,
    },
    Text {
        texts: &'t [String],
    },
}

impl Table {
    /// More rows are in the document itself, for readers without scripts.
    #[must_use]
    pub(crate) fn plain_rows(mut self, rows: usize) -> Table {
        self.plain_rows = rows;
        self
    }

    /// A table. `key` names it for the charts that lead to it; all columns have as many cells.
    pub fn new(key: &'static str, title: impl Into<String>, columns: Vec<Column>) -> Table {
        Table { key, title: title.into(), note: String::new(), columns, leads: None, plain_rows: ROWS_WITHOUT_SCRIPT }
    }

    /// How to read it, below its title.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Table {
        self.note = note.into();
        self
    }

    /// Lets its first column lead to rows of the table `key`, a row each or none.
    #[must_use]
    pub fn leads_to(mut self, key: &'static str, rows: impl IntoIterator<Item = Option<usize>>) -> Table {
        self.leads = Some(Leads { key, rows: rows.into_iter().collect() });
        self
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.columns.iter().map(Column::len).min().unwrap_or(0)
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn to_markup(&self) -> Result<String, serde_json::Error> {
        let rows = self.len();
        let mut out = String::from("<section class=\"table\" data-table=\"");
        push_escaped(&mut out, self.key);
        out += "\"><h3>";
        push_escaped(&mut out, &self.title);
        out += &format!(
            " <span class=\"count\">{} row{}</span></h3>",
            grouped(rows as f64, 0),
            if rows == 1 { "" } else { "s" }
        );
        if !self.note.is_empty() {
            out += "<p class=\"note\">";
            push_escaped(&mut out, &self.note);
            out += "</p>";
        }
        out += "<div class=\"tools\" hidden></div><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"";
        push_escaped(&mut out, &self.title);
        out += "\"><table class=\"rows\"><thead><tr>";
        let shown = || self.columns.iter().filter(|column| !column.is_hidden);
        for column in shown() {
            out += if column.is_number() { "<th scope=\"col\" class=\"number\">" } else { "<th scope=\"col\">" };
            push_escaped(&mut out, &column.heading());
            out += "</th>";
        }
        out += "</tr></thead><tbody>";
        for row in 0..rows.min(self.plain_rows) {
            out += "<tr>";
            for column in shown() {
                out += if column.is_number() { "<td class=\"number\">" } else { "<td>" };
                push_escaped(&mut out, &column.cell(row));
                out += "</td>";
            }
            out += "</tr>";
        }
        out += "</tbody></table></div>";
        if rows > self.plain_rows {
            out += "<noscript><p class=\"note\">The other rows are in this file and need its script to be shown.</p></noscript>";
        }
        out += "<script type=\"application/json\">";
        out += &embedded_json(&serde_json::to_string(&self.data())?);
        out += "</script></section>";
        Ok(out)
    }

    fn data(&self) -> Data<'_> {
        let column = |column: &'_ Column| -> (usize, &'_ str) { (column.width(), column.unit) };
        let columns = self
            .columns
            .iter()
            .map(|one| {
                let (width, unit) = column(one);
                ColumnData {
                    title: &one.title,
                    unit,
                    hidden: one.is_hidden,
                    width,
                    whole: one.is_whole,
                    help: meaning(&one.title),
                    cells: cell_data(&one.cells),
                }
            })
            .collect();
        Data { key: self.key, rows: self.len(), columns, leads: self.leads.as_ref() }
    }
}

fn cell_data(cells: &Cells) -> CellData<'_> {
    match cells {
        Cells::Number { values, form, decimals } => CellData::Number { form: *form, decimals: *decimals, values },
        Cells::Text(texts) => {
            let mut known: HashMap<&str, usize> = HashMap::new();
            let mut distinct: Vec<&str> = Vec::new();
            let at = texts.iter().map(|text| {
                *known.entry(text).or_insert_with(|| {
                    distinct.push(text);
                    distinct.len() - 1
                })
            });
            let at: Vec<usize> = at.collect();
            if distinct.len() * 2 <= texts.len() {
                CellData::Repeated { texts: distinct, at }
            } else {
                CellData::Text { texts }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::new(
            "groups",
            "Groups",
            vec![
                Column::text("Kernel type", ["</script><script>alert(1)</script>", "Add", "Add", "Add"]),
                Column::error_percent("Error", [-12.34, f64::NAN, f64::INFINITY, 0.0]),
                Column::whole("Calls", [1.0, 2.0, 3.0, 4.0]).hidden(),
            ],
        )
    }

    #[test]
    fn the_first_rows_stand_in_the_document_and_all_in_its_data() {
        let markup = table().to_markup().unwrap();
        assert!(markup.contains("<td>Add</td><td class=\"number\"></td>"), "{markup}");
        assert!(markup.contains(">−12.3<") && !markup.contains(">Calls<"), "{markup}");
        let data = markup.split("application/json\">").nth(1).unwrap().split("</script>").next().unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["columns"][0]["texts"][0], "</script><script>alert(1)</script>");
        assert_eq!(data["columns"][0]["at"], serde_json::json!([0, 1, 1, 1]));
        assert_eq!(data["columns"][1]["values"], serde_json::json!([-12.34, null, null, 0.0]));
        assert_eq!(markup.matches("<script").count(), 1);
    }

    #[test]
    fn widths_follow_the_longest_cell() {
        assert_eq!(Column::whole("N", [1.0, -1_000_000.0]).width(), "−1,000,000".chars().count());
        assert_eq!(Column::text("Shape", ["x".repeat(500)]).width(), WIDEST);
        assert_eq!(Column::text("Shape", Vec::<String>::new()).width(), 7);
    }

    #[test]
    fn a_table_without_rows() {
        let table = Table::new("none", "Nothing", vec![Column::text("Name", Vec::<String>::new())]);
        assert!(table.is_empty());
        assert!(table.to_markup().unwrap().contains("0 rows"));
    }
}
