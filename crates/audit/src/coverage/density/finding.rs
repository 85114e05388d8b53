//! What a check finds.

use super::spacing::Hole;
use std::fmt;
use std::path::PathBuf;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An end of the range that is asked for is not measured.
    EndMissing,
    /// A required value is not measured.
    RequiredMissing,
    /// Two measured values are too far apart.
    TooWide,
    /// A row has no valid duration.
    NotMeasured,
    /// A rule that no table is judged by.
    UnusedRule,
    /// An axis that the generator makes over a named grid has no rule.
    AxisWithoutRule,
    /// A critical call that no row of its own answers.
    NotExact,
    /// A call that is answered by another branch, beyond the rows, or not at all.
    NotInterpolated,
    /// A call for which a simulation falls back to its analytic model.
    Roofline,
    /// Errors on rows that were left out are larger than with the other database.
    LessAccurate,
    /// A value that the generator makes inside a declared range is not measured, or its values break a rule.
    GeneratorDisagrees,
    /// More signatures than eight times those of the other database.
    TooManySignatures,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::EndMissing => "end-missing",
            Kind::RequiredMissing => "required-missing",
            Kind::TooWide => "too-wide",
            Kind::NotMeasured => "not-measured",
            Kind::UnusedRule => "unused-rule",
            Kind::AxisWithoutRule => "axis-without-rule",
            Kind::NotExact => "not-exact",
            Kind::NotInterpolated => "not-interpolated",
            Kind::Roofline => "roofline",
            Kind::LessAccurate => "less-accurate",
            Kind::GeneratorDisagrees => "generator-disagrees",
            Kind::TooManySignatures => "too-many-signatures",
        }
    }

    pub(crate) fn of(hole: Hole) -> Kind {
        match hole {
            Hole::End(_) => Kind::EndMissing,
            Hole::Required(_) => Kind::RequiredMissing,
            Hole::TooWide { .. } => Kind::TooWide,
        }
    }
}

/// Something that is not as the standard asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The condition that it belongs to.
    pub gate: u8,
    /// What is wrong.
    pub kind: Kind,
    /// The file; `None` for what concerns the database or the rules as a whole.
    pub file: Option<PathBuf>,
    /// The line of the row, of a bucket that of its first row.
    pub line: Option<u64>,
    /// The axis, or what else it is about.
    pub axis: String,
    /// The bucket: what is equal in its rows, where it is not empty.
    pub bucket: Vec<(String, String)>,
    /// Where values are missing.
    pub hole: Option<Hole>,
    /// More about it, for people.
    pub text: String,
    /// Whether it makes its condition fail; others are reported only.
    pub fails: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            formatter.write_str(&file.file_name().unwrap_or_default().to_string_lossy())?;
            if let Some(line) = self.line {
                write!(formatter, ":{line}")?;
            }
            formatter.write_str(": ")?;
        }
        write!(formatter, "{}: {}", self.kind.name(), self.axis)?;
        if !self.bucket.is_empty() {
            let bucket: Vec<String> = self.bucket.iter().map(|(name, value)| format!("{name}={value}")).collect();
            write!(formatter, " ({})", bucket.join(", "))?;
        }
        write!(formatter, ": {}", self.text)
    }
}

/// What a condition comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It holds.
    Passed,
    /// It does not, for this many reasons.
    Failed(usize),
    /// An input that it needs is not given.
    NotJudged(&'static str),
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Passed => formatter.write_str("passed"),
            Verdict::Failed(count) => write!(formatter, "failed ({count} findings)"),
            Verdict::NotJudged(missing) => write!(formatter, "not judged ({missing})"),
        }
    }
}

/// What concerns no table.
pub(super) fn finding(gate: u8, kind: Kind, axis: impl Into<String>, text: impl Into<String>) -> Finding {
    Finding {
        gate,
        kind,
        file: None,
        line: None,
        axis: axis.into(),
        bucket: Vec::new(),
        hole: None,
        text: text.into(),
        fails: true,
    }
}
