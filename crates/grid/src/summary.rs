//! What a run did, for people and for programs.

use std::path::{Path, PathBuf};

use num_bigint::BigInt;
use perfdb_files::escape::shown;
use perfdb_pycompat::value::Value;
use perfdb_pycompat::{format, json};

use crate::memory::Budget;
use crate::routing::NoRule;

/// What a run did to the tables of a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The folder, as it was given.
    pub directory: PathBuf,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The models by the names that were given; `None` for the full grids.
    pub models: Option<Vec<String>>,
    /// The name of the rule file.
    pub config: String,
    /// Whether an op mapping names any kernel.
    pub op_mapping: bool,
    /// The most candidates to take per file; all when not above 0.
    pub rows: BigInt,
    /// The seed of the draw; `None` without a cap, when nothing is drawn.
    pub seed: Option<BigInt>,
    /// The budget per row in GiB, as it was given.
    pub max_hbm_gib: f64,
    /// The budget per row; `None` when rows are not filtered.
    pub budget: Option<Budget>,
    /// The tables in processing order.
    pub files: Vec<FileOutcome>,
}

/// What a run did to one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOutcome {
    pub path: PathBuf,
    /// The kernel whose shapes it holds.
    pub kernel: String,
    /// The pattern that made its candidates.
    pub rule: Option<String>,
    /// How many candidates there are.
    pub candidates: u64,
    /// How many of them were drawn.
    pub drawn: u64,
    /// How many were looked at by the memory filter.
    pub looked_at: u64,
    /// How many the memory filter dropped.
    pub over_budget: u64,
    /// How many the filter of the run did not take.
    pub refused: u64,
    /// How many were there already.
    pub duplicates: u64,
    /// How many rows were appended.
    pub appended: u64,
    /// Why none were; `None` where some were.
    pub reason: Option<Reason>,
}

/// Why a table got no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No rule makes shapes for the kernel.
    NoRule(NoRule),
    /// The file is empty, or its first line is.
    NoHeader,
    /// No row to take over cells from.
    NoRows,
    /// The header lacks `Input Shapes`.
    NoInputShapes,
    /// The file is the pointer that stands in for a large file.
    LfsPointer,
    /// The rule makes no candidate for these models.
    NoCandidates,
    /// Every candidate is there already or over budget.
    NothingNew,
    /// The filter of the run took no candidate.
    Refused,
}

impl Reason {
    /// The word for programs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NoRule(_) => "no-rule",
            Self::NoHeader => "no-header",
            Self::NoRows => "no-rows",
            Self::NoInputShapes => "no-input-shapes",
            Self::LfsPointer => "lfs-pointer",
            Self::NoCandidates => "no-candidates",
            Self::NothingNew => "nothing-new",
            Self::Refused => "refused",
        }
    }

    fn explanation(self) -> &'static str {
        match self {
            Self::NoRule(NoRule::NotAssigned) => "no rule for this kernel",
            Self::NoRule(NoRule::Skipped) => "the rules skip this kernel",
            Self::NoRule(NoRule::NoTable) => "no table of the database, its folder keeps other files",
            Self::NoRule(NoRule::HasNoShapes) => "zero_cost, composite or communication in op_mapping.yaml",
            Self::NoHeader => "the file has no header",
            Self::NoRows => "no row to take the other cells from",
            Self::NoInputShapes => "no column Input Shapes",
            Self::LfsPointer => "Git LFS pointer, run git lfs pull",
            Self::NoCandidates => "the rule makes no shapes for these models",
            Self::NothingNew => "nothing new",
            Self::Refused => "op-replay can run none of the shapes",
        }
    }
}

impl FileOutcome {
    fn file_name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

impl Summary {
    /// Rows appended to all tables.
    #[must_use]
    pub fn appended(&self) -> u64 {
        self.files.iter().map(|file| file.appended).sum()
    }

    /// The report for people; a dry run ends in a line per table.
    #[must_use]
    pub fn text(&self) -> String {
        let models = match &self.models {
            None => "ALL (full grid)".to_owned(),
            Some(names) => texts(names).repr(),
        };
        let cap = if self.rows > BigInt::ZERO { self.rows.to_string() } else { "unlimited".to_owned() };
        let mapping = if self.op_mapping { "True" } else { "False" };
        let mut out = format!("Mode: theory | Target models: {models}\n");
        out.push_str(&format!("Config: {} | op_mapping: {mapping} | max_rows/csv: {cap}\n", self.config));
        if self.budget.is_some() {
            out.push_str(&format!("HBM budget: {} GiB per shape row\n", format::fixed(self.max_hbm_gib, 1)));
        }
        let verb = if self.dry_run { "Would append" } else { "Appended" };
        let (rows, files, directory) = (self.appended(), self.files.len(), self.directory.display());
        out.push_str(&format!("{verb} {rows} rows across {files} CSV files under {directory}.\n"));
        let skipped: Vec<_> = self.files.iter().filter(|file| file.appended == 0).collect();
        if !skipped.is_empty() {
            out.push_str(&format!("Skipped {} files (no theory generator):\n", skipped.len()));
            for file in skipped {
                out.push_str(&format!("  - {}\n", file.file_name()));
            }
        }
        if self.dry_run {
            for file in &self.files {
                out.push_str(&self.dry_run_line(file));
            }
        }
        out
    }

    fn dry_run_line(&self, file: &FileOutcome) -> String {
        let path = shown(file.path.strip_prefix(&self.directory).unwrap_or(&file.path));
        match file.reason {
            None => format!("{path}: {} rows\n", file.appended),
            Some(reason) => format!("{path}: no rows, {}\n", reason.explanation()),
        }
    }

    /// The tables in which the memory filter dropped something, a line each.
    pub fn memory_lines(&self) -> impl Iterator<Item = String> {
        self.files.iter().filter(|file| file.over_budget > 0).filter_map(|file| {
            let budget = self.budget?;
            let (dropped, looked_at) = (file.over_budget, file.looked_at);
            let name = file.file_name();
            Some(format!("[MEMORY] {name}: filtered {dropped}/{looked_at} rows exceeding {budget} HBM budget"))
        })
    }

    /// The tables in which the filter of the run left something out, a line each.
    pub fn refusal_lines(&self) -> impl Iterator<Item = String> {
        self.files.iter().filter(|file| file.refused > 0).map(|file| {
            format!(
                "{}: {} of {} shapes left out, op-replay cannot run them",
                file.file_name(),
                file.refused,
                file.looked_at
            )
        })
    }

    /// Warnings about tables that were left alone although somebody will want them to grow.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let pointers = self.files.iter().filter(|file| file.reason == Some(Reason::LfsPointer));
        pointers.map(|file| format!("{}: left alone: {}", shown(&file.path), Reason::LfsPointer.explanation()))
    }

    /// The report for programs.
    #[must_use]
    pub fn json(&self) -> String {
        let value = dict([
            ("format_version", count(1)),
            ("directory", path(&self.directory)),
            ("dry_run", Value::Bool(self.dry_run)),
            ("models", self.models.as_deref().map_or(Value::None, texts)),
            ("config", Value::Text(self.config.clone())),
            ("op_mapping", Value::Bool(self.op_mapping)),
            ("rows", Value::from_big(self.rows.clone())),
            ("seed", self.seed.as_ref().map_or(Value::None, |seed| Value::Text(seed.to_string()))),
            ("max_hbm_bytes", self.budget.map_or(Value::None, |budget| Value::from_big(budget.bytes().into()))),
            ("appended", count(self.appended())),
            ("files", Value::List(self.files.iter().map(FileOutcome::value).collect())),
        ]);
        let mut text = json::write(&value, json::Style::INDENTED);
        text.push('\n');
        text
    }
}

impl FileOutcome {
    fn value(&self) -> Value {
        let text = |text: &str| Value::Text(text.to_owned());
        dict([
            ("path", path(&self.path)),
            ("kernel", text(&self.kernel)),
            ("rule", self.rule.as_deref().map_or(Value::None, text)),
            ("candidates", count(self.candidates)),
            ("drawn", count(self.drawn)),
            ("over_budget", count(self.over_budget)),
            ("duplicates", count(self.duplicates)),
            ("appended", count(self.appended)),
            ("reason", self.reason.map_or(Value::None, |reason| text(reason.word()))),
        ])
    }
}

fn dict<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Dict(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn texts(names: &[String]) -> Value {
    Value::List(names.iter().cloned().map(Value::Text).collect())
}

fn path(path: &Path) -> Value {
    Value::Text(path.to_string_lossy().into_owned())
}

fn count(number: u64) -> Value {
    Value::from_big(number.into())
}
