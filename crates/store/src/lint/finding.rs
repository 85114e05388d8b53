//! What can be found.

use perfdb_files::escape::shown;
use perfdb_files::severity::Severity;
use std::fmt;
use std::path::PathBuf;

/// The kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A file that no tool can use.
    Unreadable,
    /// What Git LFS leaves in a file's place.
    LfsPointer,
    /// Columns that are missing, obsolete or old.
    Schema,
    /// A shape cell that cannot be read, or that does not go with its types.
    Shape,
    /// A row that questions pass over because of a cell that cannot be read.
    PassedOver,
    /// A row that an earlier row makes unreachable.
    DuplicateSignature,
    /// Rows that answer nothing.
    NoDuration,
    /// A duration that is none.
    BadDuration,
    /// A duration that cannot be right beside the other of its row, or those of rows around it.
    OutlierDuration,
    /// An entry of the operator mapping without a table.
    MappingWithoutTable,
    /// A table that the operator mapping does not know.
    TableWithoutMapping,
    /// A table of which nothing says what its kernel does.
    TableWithoutClass,
    /// An alternate table that adds nothing.
    AlternateNeverReached,
    /// A row that a replay would refuse.
    NotReplayable,
    /// A measured and a profiled duration that are further apart than is usual, and than the profiled calls vary.
    SampleDisagreement,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 15] = [
        Kind::Unreadable,
        Kind::LfsPointer,
        Kind::Schema,
        Kind::Shape,
        Kind::PassedOver,
        Kind::DuplicateSignature,
        Kind::NoDuration,
        Kind::BadDuration,
        Kind::OutlierDuration,
        Kind::MappingWithoutTable,
        Kind::TableWithoutMapping,
        Kind::TableWithoutClass,
        Kind::AlternateNeverReached,
        Kind::NotReplayable,
        Kind::SampleDisagreement,
    ];

    /// How much findings of this kind matter.
    pub fn severity(self) -> Severity {
        match self {
            Kind::Unreadable | Kind::LfsPointer | Kind::Shape | Kind::PassedOver | Kind::BadDuration => Severity::Error,
            Kind::Schema
            | Kind::DuplicateSignature
            | Kind::NoDuration
            | Kind::OutlierDuration
            | Kind::MappingWithoutTable
            | Kind::NotReplayable
            | Kind::SampleDisagreement => Severity::Warning,
            Kind::TableWithoutMapping | Kind::TableWithoutClass | Kind::AlternateNeverReached => Severity::Note,
        }
    }

    /// The name, as options and documents have it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Unreadable => "unreadable",
            Kind::LfsPointer => "lfs-pointer",
            Kind::Schema => "schema",
            Kind::Shape => "shape",
            Kind::PassedOver => "passed-over",
            Kind::DuplicateSignature => "duplicate-signature",
            Kind::NoDuration => "no-duration",
            Kind::BadDuration => "bad-duration",
            Kind::OutlierDuration => "outlier-duration",
            Kind::MappingWithoutTable => "mapping-without-table",
            Kind::TableWithoutMapping => "table-without-mapping",
            Kind::TableWithoutClass => "table-without-class",
            Kind::AlternateNeverReached => "alternate-never-reached",
            Kind::NotReplayable => "not-replayable",
            Kind::SampleDisagreement => "sample-disagreement",
        }
    }
}

/// Something that is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The kind.
    pub kind: Kind,
    /// The file.
    pub file: PathBuf,
    /// The line, where there is one.
    pub line: Option<u64>,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        write!(formatter, "{}{line}: {}: {}", shown(&self.file), self.kind.name(), self.message)
    }
}
