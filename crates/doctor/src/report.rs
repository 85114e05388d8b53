//! What was found in one file.

use perfdb_trace::time::Picoseconds;
use serde_json::{Map, Value, json};

use crate::certificate::Certificate;
use crate::code::Code;
use crate::finding::{Finding, Findings, microseconds};
use perfdb_files::severity::Severity;

/// Version of the JSON form.
pub const FORMAT_VERSION: u32 = 1;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A chrome trace of a GPU profiler.
    GpuTrace,
    /// A chrome trace of the simulator.
    TcTrace,
    /// A table with a row per kernel.
    KernelTable,
    /// A profile of another form than JSON.
    Profile(perfdb_trace::profile::Kind),
    /// None of these.
    Unknown,
}

impl Kind {
    /// The name that stands in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::GpuTrace => "gpu-trace",
            Kind::TcTrace => "tc-trace",
            Kind::KernelTable => "kernel-csv",
            Kind::Profile(kind) => kind.name(),
            Kind::Unknown => "unknown",
        }
    }
}

/// How far the numbers of a trace can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trust {
    /// An error, or warnings that touch a tenth of the time.
    Low,
    /// Something was found.
    Medium,
    /// Nothing was found.
    High,
}

impl Trust {
    /// `high`, `medium` or `low`.
    pub fn name(self) -> &'static str {
        match self {
            Trust::High => "high",
            Trust::Medium => "medium",
            Trust::Low => "low",
        }
    }
}

/// Shares of warnings that add up to this make the trust low.
const LOW_SHARE: f64 = 0.1;

/// Which findings are looked for, and which count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these; all if empty.
    pub only: Vec<Code>,
    /// These are listed and count for nothing.
    pub ignore: Vec<Code>,
}

/// What was found in one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The file as given.
    pub file: String,
    /// What it is.
    pub kind: Kind,
    /// How far it can be trusted.
    pub trust: Trust,
    /// The codes that keep the trust from being high, heaviest first.
    pub trust_reasons: Vec<Code>,
    /// Sum of the durations of all kernels (GPU traces), rows or operators.
    pub kernel_time: Picoseconds,
    /// Sums that add up.
    pub certificate: Certificate,
    /// Errors and warnings: severity, share descending, code.
    pub findings: Vec<Finding>,
    /// Notes in the same order.
    pub notes: Vec<Finding>,
    /// Kernels that findings are about, for those who go on with the trace.
    pub marks: Marks,
    /// Whether an object has a key twice, also where nobody looks for that finding.
    pub(crate) repeats_keys: bool,
}

/// Kernels that findings are about. Kernels are numbered in file order from 0, skipped ones not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// Later copies of kernels that stand there more than once (`DUPLICATE_EVENTS`), ascending.
    pub duplicates: Vec<u32>,
    /// Later ones of doubled collectives (`DOUBLE_COLLECTIVE`), ascending.
    pub doubled_collectives: Vec<u32>,
    /// Kernels that wait for the one before them (`OVERLAP_PDL`), and for how long.
    pub waiting: Vec<(u32, Picoseconds)>,
    /// Kernels whose names slid against their durations (`NAMES_SHIFTED`), ascending.
    pub shifted: Vec<u32>,
    /// Stretches of the host's time whose launches have no kernels (`LOST_BUFFER`, `LOST_KERNELS`, `ENDS_EARLY`).
    pub lost: Vec<(Picoseconds, Picoseconds)>,
    /// Kernels of replays that lack others (`RECORDED_LESS`), ascending.
    pub recorded_less: Vec<u32>,
}

impl Marks {
    /// These and others, where no list has marks in both.
    pub(crate) fn join(mut self, mut others: Marks) -> Marks {
        self.duplicates.append(&mut others.duplicates);
        self.doubled_collectives.append(&mut others.doubled_collectives);
        self.waiting.append(&mut others.waiting);
        self.shifted.append(&mut others.shifted);
        self.lost.append(&mut others.lost);
        self.recorded_less.append(&mut others.recorded_less);
        self
    }
}

impl Report {
    /// Sorts what was found and derives the trust.
    pub(crate) fn new(
        file: &str,
        kind: Kind,
        found: Findings,
        certificate: Certificate,
        kernel_time: Picoseconds,
        selection: &Selection,
    ) -> Report {
        let mut all = found.0;
        let repeats_keys = all.iter().any(|finding| finding.code == Code::DuplicateKeys);
        all.retain(|finding| selection.only.is_empty() || selection.only.contains(&finding.code));
        for finding in &mut all {
            finding.ignored = selection.ignore.contains(&finding.code);
        }
        all.sort_by(|a, b| {
            let share = |finding: &Finding| finding.share.unwrap_or(-1.0);
            a.severity
                .cmp(&b.severity)
                .then_with(|| share(b).total_cmp(&share(a)))
                .then_with(|| a.code.name().cmp(b.code.name()))
        });
        let (notes, findings): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|finding| finding.severity == Severity::Note);
        let (trust, trust_reasons) = trust_of(&findings);
        Report {
            file: file.to_owned(),
            kind,
            trust,
            trust_reasons,
            kernel_time,
            certificate,
            findings,
            notes,
            marks: Marks::default(),
            repeats_keys,
        }
    }

    /// Whether something was found that counts.
    pub fn has_findings(&self) -> bool {
        self.findings.iter().any(|finding| !finding.ignored)
    }

    /// The finding of a code, among the notes too.
    pub fn finding(&self, code: Code) -> Option<&Finding> {
        self.findings.iter().chain(&self.notes).find(|finding| finding.code == code)
    }

    /// The JSON form: `docs/schemas/check-trace.json`.
    pub fn to_json(&self) -> Value {
        json!({
            "format_version": FORMAT_VERSION,
            "file": self.file,
            "kind": self.kind.name(),
            "trust": self.trust.name(),
            "trust_reasons": self.trust_reasons.iter().map(|code| code.name()).collect::<Vec<_>>(),
            "kernel_time_us": microseconds(self.kernel_time),
            "certificate": Value::Object(self.certificate.to_map()),
            "findings": self.findings.iter().map(finding_json).collect::<Vec<_>>(),
            "notes": self.notes.iter().map(finding_json).collect::<Vec<_>>(),
        })
    }
}

fn finding_json(finding: &Finding) -> Value {
    let mut map = Map::new();
    map.insert("code".to_owned(), finding.code.name().into());
    map.insert("severity".to_owned(), finding.severity.name().into());
    map.insert("share".to_owned(), finding.share.into());
    map.insert("evidence".to_owned(), Value::Object(finding.evidence.as_map().clone()));
    map.insert("effect".to_owned(), finding.code.effect().into());
    map.insert("repair".to_owned(), finding.repair().into());
    map.insert("ignored".to_owned(), finding.ignored.into());
    Value::Object(map)
}

fn trust_of(findings: &[Finding]) -> (Trust, Vec<Code>) {
    let counting: Vec<&Finding> = findings.iter().filter(|finding| !finding.ignored).collect();
    let heavy: Vec<&&Finding> = counting.iter().filter(|finding| !finding.code.never_low()).collect();
    let error = heavy.iter().any(|finding| finding.severity == Severity::Error);
    // Shares are rounded to six decimals; a sum of them may miss the limit by less than that.
    let shares: f64 = heavy
        .iter()
        .filter(|finding| finding.severity == Severity::Warning)
        .filter_map(|finding| finding.share)
        .sum::<f64>()
        + 1e-9;
    let trust = match (counting.is_empty(), error || shares >= LOW_SHARE) {
        (true, _) => Trust::High,
        (false, true) => Trust::Low,
        (false, false) => Trust::Medium,
    };
    let mut reasons: Vec<Code> = Vec::new();
    for finding in counting {
        if !reasons.contains(&finding.code) {
            reasons.push(finding.code);
        }
    }
    (trust, reasons)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Evidence;

    fn report(found: Vec<(Code, Severity, Option<f64>)>, selection: &Selection) -> Report {
        let mut findings = Findings::default();
        for (code, severity, share) in found {
            findings.add(code, severity, share, Evidence::new());
        }
        Report::new("t.json", Kind::GpuTrace, findings, Certificate::default(), 0, selection)
    }

    #[test]
    fn trust_follows_from_what_counts() {
        use Code::*;
        use Severity::{Error, Note, Warning};
        let of = |found| report(found, &Selection::default()).trust;
        assert_eq!(of(vec![(NoSteps, Note, None)]), Trust::High);
        assert_eq!(of(vec![(LostKernels, Warning, Some(0.09))]), Trust::Medium);
        assert_eq!(of(vec![(LostKernels, Warning, Some(0.06)), (LaunchTwice, Warning, Some(0.04))]), Trust::Low);
        assert_eq!(of(vec![(OverlapPdl, Warning, Some(0.5))]), Trust::Medium);
        assert_eq!(of(vec![(DuplicateEvents, Error, Some(0.5))]), Trust::Medium);
        assert_eq!(of(vec![(ClockJump, Error, None)]), Trust::Low);
    }

    #[test]
    fn ignored_findings_are_listed_and_count_for_nothing() {
        let selection = Selection { ignore: vec![Code::ClockJump], ..Selection::default() };
        let report = report(vec![(Code::ClockJump, Severity::Error, None)], &selection);
        assert_eq!((report.trust, report.has_findings(), report.findings.len()), (Trust::High, false, 1));
        assert_eq!(report.to_json()["findings"][0]["ignored"], true);
    }

    #[test]
    fn order_is_severity_share_code() {
        use Code::*;
        use Severity::{Error, Warning};
        let found = vec![
            (StepsOverlap, Warning, None),
            (LostKernels, Warning, Some(0.1)),
            (LaunchTwice, Warning, Some(0.2)),
            (BadWait, Warning, None),
            (ClockJump, Error, None),
        ];
        let order: Vec<Code> =
            report(found, &Selection::default()).findings.iter().map(|finding| finding.code).collect();
        assert_eq!(order, [ClockJump, LaunchTwice, LostKernels, BadWait, StepsOverlap]);
    }
}
