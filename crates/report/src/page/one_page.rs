//! What a page says.

use crate::page::chart::Chart;
use crate::page::table::Table;
use std::path::Path;

/// A report.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// What it is about, in a few words.
    pub title: String,
    /// A scenario, file or table each; one for most reports.
    pub parts: Vec<Part>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// One answer: a sentence, how far it can be trusted, and what stands behind it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Part {
    /// The scenario; empty where there is one part.
    pub name: String,
    /// The answer in a sentence.
    pub verdict: String,
    /// How far that can be trusted, where that is known.
    pub trust: Option<Trust>,
    /// A handful of numbers.
    pub figures: Vec<KeyFigure>,
    /// Sentences below the numbers.
    pub notes: Vec<String>,
    /// Charts and tables in their order.
    pub blocks: Vec<Block>,
}

/// A chart or a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Chart(Chart),
    Table(Table),
}

/// How far an answer can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// In a word.
    pub level: TrustLevel,
    /// Why.
    pub reason: String,
}

/// How far an answer can be trusted, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustLevel {
    /// Decide by it.
    High,
    /// Look at the reason before deciding.
    Limited,
    /// Do not decide by it.
    Low,
}

impl TrustLevel {
    /// The word.
    pub fn text(self) -> &'static str {
        match self {
            TrustLevel::High => "high",
            TrustLevel::Limited => "medium",
            TrustLevel::Low => "low",
        }
    }
}

impl Trust {
    /// What a share of a whole gives: high trust from `high` up, limited trust from `limited` up, low trust below and where nobody knows (NaN).
    pub(crate) fn of_share(share: f64, [high, limited]: [f64; 2], reason: impl Into<String>) -> Trust {
        match share {
            share if share >= high => Trust::high(reason),
            share if share >= limited => Trust::limited(reason),
            _ => Trust::low(reason),
        }
    }

    /// High, for a reason.
    pub fn high(reason: impl Into<String>) -> Trust {
        Trust { level: TrustLevel::High, reason: reason.into() }
    }

    /// Limited, for a reason.
    pub fn limited(reason: impl Into<String>) -> Trust {
        Trust { level: TrustLevel::Limited, reason: reason.into() }
    }

    /// Low, for a reason.
    pub fn low(reason: impl Into<String>) -> Trust {
        Trust { level: TrustLevel::Low, reason: reason.into() }
    }
}

/// A number that is worth large type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyFigure {
    /// What it is.
    pub name: String,
    /// The number with its unit.
    pub value: String,
    /// What to read beside it; may be empty.
    pub note: String,
}

impl KeyFigure {
    /// A number without a note.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> KeyFigure {
        KeyFigure { name: name.into(), value: value.into(), note: String::new() }
    }

    /// The number with a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> KeyFigure {
        self.note = note.into();
        self
    }
}

/// Where a page comes from. It has no date: the same input makes the same page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Provenance {
    pub tool: String,
    pub version: String,
    /// What it read.
    pub inputs: Vec<Input>,
}

impl Provenance {
    /// A page of this version of a tool that read `inputs`, each a role and a file or folder.
    pub fn of<'p>(tool: &str, version: &str, inputs: impl IntoIterator<Item = (&'p str, &'p Path)>) -> Provenance {
        let input = |(role, path): (&str, &Path)| Input {
            role: role.to_owned(),
            path: path.to_string_lossy().into_owned(),
            size_bytes: std::fs::metadata(path).ok().filter(|found| found.is_file()).map(|found| found.len()),
        };
        Provenance {
            tool: tool.to_owned(),
            version: version.to_owned(),
            inputs: inputs.into_iter().map(input).collect(),
        }
    }
}

/// Something that a tool read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Input {
    /// What it was for.
    pub role: String,
    /// Its name as it was given.
    pub path: String,
    /// Its size, if it is a file.
    pub size_bytes: Option<u64>,
}
