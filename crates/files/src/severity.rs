//! How much a finding matters: one scale for what is found in databases and in traces.
//!
//! ```
//! use perfdb_files::severity::Severity;
//!
//! let mut found = [Severity::Note, Severity::Error, Severity::Warning];
//! found.sort();
//! assert_eq!(found.map(Severity::name), ["error", "warning", "note"]);
//! ```

/// How much a finding matters, in order of weight: what matters most is the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Something is wrong: a file or row that no tool can use, times that are not what they say.
    Error,
    /// Something may be wrong: answers and sums have to be taken with care.
    Warning,
    /// Worth knowing; nothing is wrong yet.
    Note,
}

impl Severity {
    /// `error`, `warning` or `note`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}
