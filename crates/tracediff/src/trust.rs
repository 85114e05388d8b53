//! How far two traces can be trusted, which is shown before any number.

use perfdb_doctor::{Code, Finding, Report, Trust as Level};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::remedy::{Caution, Remedy};
use crate::time::milliseconds;
use crate::trace::Trace;

/// How far both traces can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trust {
    /// Trace 1.
    pub trace1: TraceTrust,
    /// Trace 2.
    pub trace2: TraceTrust,
}

/// How far one trace can be trusted, and what was done about its faults.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceTrust {
    /// `high`, `medium` or `low`.
    pub trust: &'static str,
    /// Codes of what keeps it from being high, heaviest first.
    pub trust_reasons: Vec<&'static str>,
    /// Codes after which the clocks are wrong: kernel sums stand; elapsed, idle and host-late times and phases do not.
    pub times_not_trusted: Vec<&'static str>,
    /// Whether names slid against durations: rows of operations, layers and kernels are wrong, elapsed time and its parts
    /// hold.
    pub names_not_trusted: bool,
    /// Time taken off kernels that were resident and waited (programmatic dependent launch).
    pub clipped_ms: f64,
    /// Kernels that stood there more than once and are in no sum.
    pub left_out_kernels: u64,
    /// Passes that lack kernels and are in no number per pass.
    pub left_out_passes: u64,
    /// Errors and warnings.
    pub findings: Vec<TrustFinding>,
    /// What is worth knowing.
    pub notes: Vec<TrustFinding>,
}

/// A finding of the trace doctor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrustFinding {
    /// What it is.
    pub code: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// Share of the kernel time that it touches.
    pub share: Option<f64>,
    /// Numbers that show it.
    pub evidence: Map<String, Value>,
    /// What it means for the results.
    pub effect: &'static str,
}

impl TraceTrust {
    fn new(trace: &Trace, report: &Report, left_out_passes: u64) -> TraceTrust {
        TraceTrust {
            trust: report.trust.name(),
            trust_reasons: report.trust_reasons.iter().map(|code| code.name()).collect(),
            times_not_trusted: times_not_trusted(report),
            names_not_trusted: names_not_trusted(report),
            clipped_ms: milliseconds(trace.corrections.clipped),
            left_out_kernels: trace.corrections.left_out,
            left_out_passes,
            findings: report.findings.iter().map(TrustFinding::new).collect(),
            notes: report.notes.iter().map(TrustFinding::new).collect(),
        }
    }

    /// The reasons with the share of kernel time that each touches: `OVERLAP_PDL 12.0 %`.
    pub fn reasons(&self) -> Vec<String> {
        let share = |code: &str| self.findings.iter().find(|finding| finding.code == code)?.share;
        let reason = |code: &&'static str| match share(code) {
            Some(share) => format!("{code} {:.1} %", 100.0 * share),
            None => (*code).to_owned(),
        };
        self.trust_reasons.iter().map(reason).collect()
    }
}

impl TrustFinding {
    fn new(finding: &Finding) -> TrustFinding {
        TrustFinding {
            code: finding.code.name(),
            severity: finding.severity.name(),
            share: finding.share,
            evidence: finding.evidence.as_map().clone(),
            effect: finding.code.effect(),
        }
    }
}

/// Trust in both traces; nothing under rules that do not ask.
pub(crate) fn trust(traces: [&Trace; 2], left_out_passes: [u64; 2]) -> Option<Trust> {
    let of = |side: usize| Some(TraceTrust::new(traces[side], traces[side].report.as_ref()?, left_out_passes[side]));
    Some(Trust { trace1: of(0)?, trace2: of(1)? })
}

/// Codes of findings after which no time between events can be trusted.
pub(crate) fn times_not_trusted(report: &Report) -> Vec<&'static str> {
    use Code::{ClockJump, DeviceOrder, DeviceStall, KernelAfterSync, KernelBeforeLaunch, TimeBackwards};
    let clocks = [TimeBackwards, DeviceOrder, ClockJump, KernelBeforeLaunch, KernelAfterSync, DeviceStall];
    report.trust_reasons.iter().filter(|code| clocks.contains(code)).map(|code| code.name()).collect()
}

/// Whether names slid against durations.
pub(crate) fn names_not_trusted(report: &Report) -> bool {
    report.trust_reasons.contains(&Code::NamesShifted)
}

/// One sentence per finding, without the path; a trace that is not to be trusted says so first.
pub(crate) fn sentences(trace: &Trace, report: &Report) -> Vec<Caution> {
    let mut found: Vec<Caution> = Vec::new();
    if report.trust == Level::Low {
        let reasons: Vec<&str> = report.trust_reasons.iter().map(|code| code.name()).collect();
        found.push(format!("not to be trusted: {}; check-trace says more", reasons.join(", ")).into());
    }
    for finding in report.findings.iter().filter(|finding| !finding.ignored) {
        let share = finding.share.map_or_else(String::new, |share| format!(" ({:.1} % of kernel time)", 100.0 * share));
        let mut remedy = None;
        let consequence = match finding.code {
            Code::OverlapPdl => "; times per pass are without it",
            Code::OverlapImpossible if trace.overlaps.clipped => "; cut where the next one begins",
            Code::OverlapImpossible => {
                remedy = Some(Remedy::ClipOverlaps);
                ""
            }
            Code::DuplicateEvents | Code::DoubleCollective => "; the later ones are left out",
            _ => "",
        };
        let text = format!("{}{share}: {}{consequence}", finding.code.name(), finding.code.effect());
        found.push(Caution { text, remedy });
    }
    found
}
