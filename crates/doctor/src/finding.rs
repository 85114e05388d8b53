//! One finding, and the numbers that show it.

use perfdb_files::severity::Severity;
use perfdb_trace::time::Picoseconds;
use serde_json::{Map, Value};

use crate::code::Code;

/// Something that is wrong with a trace, or worth knowing about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The part of the kernel time that it touches, from 0; `None` where that is not known.
    pub share: Option<f64>,
    /// The numbers that show it; microseconds in keys that end in `_us`.
    pub evidence: Evidence,
    /// Whether it was asked to count for nothing.
    pub ignored: bool,
    /// Whether a repair fixes it.
    pub mendable: bool,
}

impl Finding {
    /// What a repair does about it.
    pub fn repair(&self) -> Option<&'static str> {
        self.code.repair().filter(|_| self.mendable)
    }
}

/// Named values, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence(Map<String, Value>);

impl Evidence {
    /// No values.
    pub fn new() -> Evidence {
        Evidence::default()
    }

    /// Adds a value.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Evidence {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a time.
    pub fn time(self, key: &str, time: Picoseconds) -> Evidence {
        self.with(key, microseconds(time))
    }

    /// The values.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// Microseconds with three decimals, halves away from zero.
pub(crate) fn microseconds(time: Picoseconds) -> f64 {
    let half = if time < 0 { -500 } else { 500 };
    ((time + half) / 1000) as f64 / 1000.0
}

/// A share with six decimals.
pub(crate) fn rounded_share(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

/// `part` of `whole`; 0 of nothing.
pub(crate) fn share(part: Picoseconds, whole: Picoseconds) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The findings so far.
#[derive(Debug, Default)]
pub(crate) struct Findings(pub(crate) Vec<Finding>);

impl Findings {
    pub(crate) fn add(&mut self, code: Code, severity: Severity, share: impl Into<Option<f64>>, evidence: Evidence) {
        let (share, mendable) = (share.into(), code.repair().is_some());
        self.push(Finding { code, severity, share, evidence, ignored: false, mendable });
    }

    /// Adds a finding that a repair leaves as it is, although it fixes others of this code.
    pub(crate) fn add_unmended(
        &mut self,
        code: Code,
        severity: Severity,
        share: impl Into<Option<f64>>,
        evidence: Evidence,
    ) {
        let share = share.into();
        self.push(Finding { code, severity, share, evidence, ignored: false, mendable: false });
    }

    /// Adds those of another part of the work.
    pub(crate) fn append(&mut self, others: Findings) {
        for finding in others.0 {
            self.push(finding);
        }
    }

    fn push(&mut self, finding: Finding) {
        let share = finding.share.map(rounded_share);
        // Two rules can come to the same: elements that are no events, and events that cannot be used.
        if let Some(same) = self.0.iter_mut().find(|same| same.code == finding.code) {
            same.severity = same.severity.min(finding.severity);
            same.share = if same.share > share { same.share } else { share };
            same.evidence.0.extend(finding.evidence.0);
            same.mendable |= finding.mendable;
            return;
        }
        self.0.push(Finding { share, ..finding });
    }

    pub(crate) fn error(&mut self, code: Code, share: impl Into<Option<f64>>, evidence: Evidence) {
        self.add(code, Severity::Error, share, evidence);
    }

    pub(crate) fn warning(&mut self, code: Code, share: impl Into<Option<f64>>, evidence: Evidence) {
        self.add(code, Severity::Warning, share, evidence);
    }

    pub(crate) fn note(&mut self, code: Code, share: impl Into<Option<f64>>, evidence: Evidence) {
        self.add(code, Severity::Note, share, evidence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_decimals() {
        assert_eq!(microseconds(1_234_567_499), 1234.567);
        assert_eq!(microseconds(1_234_567_500), 1234.568);
        assert_eq!(microseconds(-7_500_000), -7.5);
        assert_eq!(share(1, 0), 0.0);
    }
}
