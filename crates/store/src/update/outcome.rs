//! What an update does to one table, in numbers and texts.

use super::changes::TableChanges;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Which rows an update may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Every row that a sample fits; samples that fit none become rows.
    All,
    /// Only rows without a valid duration; nothing is added.
    MissingOnly,
}

impl Mode {
    /// The mode's name, as reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::All => "all",
            Mode::MissingOnly => "missing-only",
        }
    }
}

/// What an update did to one table.
#[derive(Debug, Clone, Default)]
pub struct TableUpdate {
    /// The operator, which is the stem of the file's name.
    pub operator: String,
    /// The table.
    pub path: PathBuf,
    /// Rows whose duration changed.
    pub updated: usize,
    /// Rows that were added.
    pub added: usize,
    /// Samples that fit a row which keeps its duration.
    pub unchanged: usize,
    /// Samples that fitted no row, as text.
    pub missing: Vec<String>,
    /// Rows that were pruned, as text.
    pub deleted: Vec<String>,
    /// Signatures that several rows have: the first row as text, and how many.
    pub duplicates: Vec<(String, usize)>,
    /// Rows with both a measured and a profiled duration, one per sample.
    pub gaps: Vec<Gap>,
    /// Lines to print, without a line break.
    pub notices: Vec<String>,
    /// Whether the file is written.
    pub is_written: bool,
    /// What changes, if it was asked for and something does.
    pub changes: Option<TableChanges>,
}

/// A measured beside a profiled duration.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// The row, as text.
    pub shape: Box<str>,
    /// The measured duration.
    pub measured_us: f64,
    /// The profiled duration.
    pub profiled_us: f64,
}

impl Gap {
    /// Their distance.
    pub fn difference_us(&self) -> f64 {
        (self.measured_us - self.profiled_us).abs()
    }

    /// Measured by profiled.
    pub fn ratio(&self) -> f64 {
        self.measured_us / self.profiled_us
    }

    /// Ratios that are not a hotspot.
    pub const USUAL_RATIOS: RangeInclusive<f64> = 0.8..=1.2;

    /// Whether the durations are far apart.
    pub fn is_hotspot(&self) -> bool {
        !Gap::USUAL_RATIOS.contains(&self.ratio())
    }
}
