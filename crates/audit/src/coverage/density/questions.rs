//! The calls of a manifest: by what their answers are based on.

use super::finding::{Finding, Kind};
use super::inputs::Inputs;
use crate::coverage::answer_source::{self, Judge};
use crate::coverage::{AnswerSource, Error, Question, Workload};
use perfdb_query::{Database, ReaderSemantics, RowRef};

/// By what a call is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A row of just this call.
    Exact,
    /// A row of another size, type or layout, by this rule of the reader.
    Compatible,
    /// Rows around it.
    Interpolated,
    /// Nothing that the simulator takes: it falls back to its analytic model.
    Roofline,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::Exact => "exact",
            Class::Compatible => "compatible",
            Class::Interpolated => "interpolated",
            Class::Roofline => "roofline",
        }
    }
}

/// A call and by what it is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub workload: String,
    /// The operator or the kernel type.
    pub name: String,
    /// The line of the manifest.
    pub place: u64,
    /// Whether a row of its own is demanded.
    pub is_critical: bool,
    /// By what it is answered.
    pub class: Class,
    /// The rule of a compatible row.
    pub rule: Option<&'static str>,
    pub rows: Vec<RowRef>,
}

/// The rules under which a row is that of the call as it is.
const EXACT_RULES: [&str; 6] = ["identity", "comm", "attention", "projected_full_shape", "zero_cost", "accepted_miss"];

/// Judges the calls, and says of which the conditions do not hold.
pub(super) fn judge(
    inputs: &Inputs,
    workloads: &[Workload],
    findings: &mut Vec<Finding>,
) -> Result<Vec<Judged>, Error> {
    let database = Database::open(&inputs.directory)?;
    let reader = Judge::of(&database, ReaderSemantics::Corrected);
    let mut all = Vec::new();
    for workload in workloads {
        for question in &workload.questions {
            let finding = reader.finding(&question.query, None);
            let (class, rule) = class(&finding);
            let mut complain =
                |gate, kind, text: String| findings.push(complaint(gate, kind, workload, question, text));
            let is_allowed = rule.is_some_and(|rule| inputs.allowed.iter().any(|allowed| allowed == rule));
            let how = rule.map_or_else(|| class.name().to_owned(), |rule| format!("{} by {rule}", class.name()));
            if question.is_critical && class != Class::Exact {
                complain(3, Kind::NotExact, format!("it is critical, and {how}"));
            }
            if !question.is_critical && (class == Class::Roofline || class == Class::Compatible && !is_allowed) {
                complain(4, Kind::NotInterpolated, how);
            }
            if class == Class::Roofline {
                let reason = finding.reason.as_ref().map_or("", |(_, words)| words);
                complain(6, Kind::Roofline, format!("a simulation falls back to its model: {reason}"));
            }
            all.push(Judged {
                workload: workload.name.clone(),
                name: question.name.clone(),
                place: question.place,
                is_critical: question.is_critical,
                class,
                rule,
                rows: finding.rows,
            });
        }
    }
    if database.reopen()? {
        return Err(Error::Changed { path: inputs.directory.clone() });
    }
    Ok(all)
}

fn class(finding: &answer_source::Finding) -> (Class, Option<&'static str>) {
    let other = finding.rules.iter().copied().find(|rule| !EXACT_RULES.contains(rule));
    match finding.source {
        AnswerSource::Free => (Class::Exact, None),
        AnswerSource::Exact => other.map_or((Class::Exact, None), |rule| (Class::Compatible, Some(rule))),
        AnswerSource::Padded => (Class::Compatible, Some(other.unwrap_or("nearby_length"))),
        AnswerSource::Interpolated => (Class::Interpolated, None),
        AnswerSource::Beyond | AnswerSource::Partial | AnswerSource::Missing => (Class::Roofline, None),
    }
}

fn complaint(gate: u8, kind: Kind, workload: &Workload, question: &Question, text: String) -> Finding {
    Finding {
        gate,
        kind,
        file: None,
        line: Some(question.place),
        axis: format!("{} {} (line {})", workload.name, question.name, question.place),
        bucket: Vec::new(),
        hole: None,
        text,
        fails: true,
    }
}
