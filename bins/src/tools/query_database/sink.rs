//! Answers as JSON lines, as CSV, as a Parquet table and as a page.

use crate::json_file::JsonFile;
use crate::table_file::{OpenTable, TableFile};
use crate::{Failure, print, quiet};
use perfdb_files::replace::{Staged, commit};
use perfdb_files::tables::{Batch, Schema, push, schema};
use perfdb_pycompat::json::Style;
use perfdb_query::answer_to_json;
use perfdb_report::answers::{Answered, HEADER, INTERVAL_HEADER, TracedAnswer, csv_cells, interval_cells};
use perfdb_report::page::Provenance;
use perfdb_report::pages::{ANSWERS, answers_page};
use perfdb_report::tables::{AnswerRow, answer_columns};
use perfdb_store::table::LineEnd;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;

/// Every JSON line has it, as lines are read one at a time. It goes up when a key changes its meaning or goes away.
const FORMAT_VERSION: u32 = 2;

/// Where answers of one form go.
struct Form {
    is_stdout: bool,
    file: Option<JsonFile>,
    text: String,
}

/// How much is gathered before it is written.
const PIECE_BYTES: usize = 64 * 1024;

impl Form {
    /// Opens where answers of this form go.
    fn open(path: Option<&OsStr>) -> Result<Form, Failure> {
        let is_stdout = path.is_some_and(|path| path == "-");
        let file = JsonFile::open(path.filter(|_| !is_stdout))?;
        Ok(Form { is_stdout, file, text: String::new() })
    }

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

/// A Parquet table that is being written.
struct Rows {
    table: OpenTable,
    schema: Schema,
    batch: Batch,
}

/// How many rows are gathered before they are written.
const BATCH_ROWS: usize = 1 << 14;

impl Rows {
    fn open(path: Option<&OsStr>) -> Result<Option<Rows>, Failure> {
        let Some(file) = TableFile::asked(super::TOOL.name, path.map(Path::new))? else { return Ok(None) };
        let schema = schema("answers", &answer_columns());
        Ok(Some(Rows { table: file.begin(&schema)?, batch: schema.batch(), schema }))
    }

    fn add(&mut self, row: &AnswerRow<'_>) -> Result<(), Failure> {
        push(&answer_columns(), &mut self.batch, row);
        if self.batch.row_count() >= BATCH_ROWS {
            self.table.write(std::mem::replace(&mut self.batch, self.schema.batch()))?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Staged, Failure> {
        self.table.write(self.batch)?;
        Ok(self.table.finish()?)
    }
}

/// A page, and the answers that it lists.
struct Listed {
    file: JsonFile,
    answers: Vec<TracedAnswer>,
    all: u64,
}

/// Where answers go.
pub(super) struct Sink {
    json: Form,
    csv: Form,
    rows: Option<Rows>,
    page: Option<Listed>,
    columns: Columns,
}

/// The files that are asked for.
pub(super) struct Files<'a> {
    pub(super) json: Option<&'a OsStr>,
    pub(super) csv: Option<&'a OsStr>,
    pub(super) parquet: Option<&'a OsStr>,
    pub(super) html: Option<&'a OsStr>,
}

/// What answers have besides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    /// Intervals, under the rules that give them.
    pub(super) intervals: bool,
    /// How often a call of a trace occurs, and its shapes.
    pub(super) calls: bool,
}

/// A call of a trace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) count: u64,
    pub(super) inputs: &'a str,
}

/// The columns of [`Call`].
const CALL_HEADER: [&str; 2] = ["calls", "input_shapes"];

impl Sink {
    pub(super) fn open(files: &Files<'_>, columns: Columns) -> Result<Sink, Failure> {
        let is_dash = |path: Option<&OsStr>| path.is_some_and(|path| path == "-");
        if is_dash(files.json) && is_dash(files.csv) {
            return Err(Failure::usage("--json and --csv cannot both go to stdout"));
        }
        let page = JsonFile::open(files.html)?.map(|file| Listed { file, answers: Vec::new(), all: 0 });
        let (json, csv) = (Form::open(files.json)?, Form::open(files.csv)?);
        let mut sink = Sink { json, csv, rows: Rows::open(files.parquet)?, page, columns };
        if sink.csv.is_wanted() {
            let mut header = HEADER.to_vec();
            header.extend(INTERVAL_HEADER.iter().filter(|_| columns.intervals));
            header.extend(CALL_HEADER.iter().filter(|_| columns.calls));
            sink.csv.text.push_str(&(header.join(",") + "\n"));
        }
        Ok(sink)
    }

    /// Whether people get text on stdout: not where answers go there, and not with --quiet where they go to a file.
    pub(super) fn shows_table(&self) -> bool {
        let is_quiet = quiet() && self.is_for_programs();
        !self.json.is_stdout && !self.csv.is_stdout && !is_quiet
    }

    /// Whether a program reads the answers, those that are none included.
    pub(super) fn is_for_programs(&self) -> bool {
        self.json.is_wanted() || self.csv.is_wanted() || self.rows.is_some()
    }

    /// Whether the intervals of answers are shown, also under rules that give none.
    pub(super) fn wants_intervals(&self) -> bool {
        self.shows_table() || self.rows.is_some() || self.page.is_some()
    }

    pub(super) fn add(
        &mut self,
        id: &Option<Value>,
        answered: &Answered,
        call: Option<Call<'_>>,
    ) -> Result<(), Failure> {
        let Answered { name, answer, interval_us, .. } = answered;
        if let Some(rows) = &mut self.rows {
            let call = call.map(|call| (call.count, call.inputs));
            rows.add(&AnswerRow { name, answer, interval_us: *interval_us, call })?;
        }
        if let Some(page) = &mut self.page {
            page.all += 1;
            if page.answers.len() < ANSWERS {
                let calls = call.map_or(1, |call| call.count);
                page.answers.push(TracedAnswer { answered: answered.clone(), calls });
            }
        }
        if self.json.is_wanted() {
            let mut line = serde_json::Map::new();
            line.insert("id".to_owned(), id.clone().unwrap_or_default());
            line.insert("format_version".to_owned(), FORMAT_VERSION.into());
            if let Some(Call { count, inputs }) = call {
                line.insert("calls".to_owned(), count.into());
                line.insert("input_shapes".to_owned(), inputs.into());
            }
            line.insert("answer".to_owned(), answer_to_json(answer));
            let line = Value::Object(line);
            self.json.text.push_str(&(perfdb_pycompat::json::to_string_with(&line, Style::ONE_LINE)? + "\n"));
        }
        if self.csv.is_wanted() {
            let mut cells = csv_cells((name, answer)).to_vec();
            if self.columns.intervals {
                cells.extend(interval_cells(answer));
            }
            if let Some(Call { count, inputs }) = call.filter(|_| self.columns.calls) {
                cells.extend([count.to_string(), inputs.to_owned()]);
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
        let page = self.page.iter().map(|page| &page.file);
        let table = self.rows.iter().map(|rows| rows.table.path());
        self.json.file.iter().chain(&self.csv.file).chain(page).map(JsonFile::path).chain(table)
    }

    /// Writes a list instead of answers.
    pub(super) fn finish_list(mut self, list: &Value, rows: String) -> Result<(), Failure> {
        if self.json.is_wanted() {
            self.json.text = perfdb_pycompat::json::to_string(list)? + "\n";
        }
        if self.csv.is_wanted() {
            self.csv.text = rows;
        }
        Ok(commit([self.json.finish()?, self.csv.finish()?].into_iter().flatten().collect())?)
    }

    /// Writes all files, or none. `verdict` is what the text begins with.
    pub(super) fn finish(self, verdict: &str, read: Provenance) -> Result<(), Failure> {
        let mut set: Vec<Staged> = [self.json.finish()?, self.csv.finish()?].into_iter().flatten().collect();
        if let Some(rows) = self.rows {
            set.push(rows.finish()?);
        }
        if let Some(Listed { file, answers, all }) = self.page {
            set.push(file.stage_text(&answers_page(verdict, &answers, all, read).to_html()?)?);
        }
        Ok(commit(set)?)
    }
}
