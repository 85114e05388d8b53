//! Answers as JSON lines and as CSV.

use crate::json_file::JsonFile;
use crate::{Failure, print, quiet};
use perfdb_files::replace::{Staged, commit};
use perfdb_pycompat::json::Style;
use perfdb_query::answer_to_json;
use perfdb_report::answers::{HEADER, INTERVAL_HEADER, Named, csv_cells, interval_cells};
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

/// Where answers go.
pub(super) struct Sink {
    json: Form,
    csv: Form,
    columns: Columns,
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
    pub(super) fn open(json: Option<&OsStr>, csv: Option<&OsStr>, columns: Columns) -> Result<Sink, Failure> {
        let is_dash = |path: Option<&OsStr>| path.is_some_and(|path| path == "-");
        if is_dash(json) && is_dash(csv) {
            return Err(Failure::usage("--json and --csv cannot both go to stdout"));
        }
        let mut sink = Sink { json: Form::open(json)?, csv: Form::open(csv)?, columns };
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
        self.json.is_wanted() || self.csv.is_wanted()
    }

    pub(super) fn add(
        &mut self,
        id: &Option<Value>,
        (name, answer): Named<'_>,
        call: Option<Call<'_>>,
    ) -> Result<(), Failure> {
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
        self.json.file.iter().chain(&self.csv.file).map(JsonFile::path)
    }

    /// Writes both files, or none.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let set = [self.json.finish()?, self.csv.finish()?];
        Ok(commit(set.into_iter().flatten().collect())?)
    }
}
