//! Reports for people.

use std::fmt::Write;

use serde_json::Value;

use crate::certificate::Entry;
use crate::code::Code;
use crate::finding::Finding;
use crate::report::Report;

impl Report {
    /// The report as text, one block, each line ended.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let _ = write!(out, "{}: {}", one_line(&self.file), self.kind.name());
        if let Some(rows) = self.row_count() {
            let _ = write!(out, ", {rows} rows, {:.3} ms", self.kernel_time as f64 / 1e9);
        }
        let _ = writeln!(out, "; {}", self.trust_line());
        for finding in self.findings.iter().chain(&self.notes) {
            push_finding(&mut out, finding);
        }
        for key in self.certificate.broken() {
            let _ = writeln!(out, "  certificate: {key} does not add up; this is a bug of the tool");
        }
        out
    }

    fn row_count(&self) -> Option<u64> {
        self.certificate.entries().iter().find_map(|(key, entry)| match (*key, entry) {
            ("kernels" | "events" | "rows", Entry::Count(count)) => Some(*count),
            _ => None,
        })
    }

    /// One sentence for those who go on with the trace: `trust medium (OVERLAP_PDL)`.
    pub fn trust_line(&self) -> String {
        let reasons: Vec<&str> = self.trust_reasons.iter().map(|code| code.name()).collect();
        let trust = format!("trust {}", self.trust.name());
        if reasons.is_empty() { trust } else { format!("{trust} ({})", reasons.join(", ")) }
    }
}

fn push_finding(out: &mut String, finding: &Finding) {
    let share = finding.share.map_or(String::new(), |share| format!("{:.1} %", 100.0 * share));
    let _ = write!(
        out,
        "  {:<7} {:<23} {share:>7}  {}",
        finding.severity.name(),
        finding.code.name(),
        finding.code.effect()
    );
    let _ = writeln!(out, "{}", if finding.ignored { " (ignored)" } else { "" });
    let evidence: Vec<String> =
        finding.evidence.as_map().iter().map(|(key, value)| format!("{key} {}", shown(value))).collect();
    if !evidence.is_empty() {
        let _ = writeln!(out, "          {}", evidence.join("; "));
    }
}

/// A value in a line of evidence.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{} {}", one_line(key), shown(value))).collect();
            format!("({})", entries.join(", "))
        }
        value => value.to_string(),
    }
}

/// Control characters would break lines; long names would fill them.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut line: String = String::new();
    for character in text.chars().take(LONGEST) {
        if character.is_control() { line.extend(character.escape_default()) } else { line.push(character) }
    }
    if text.chars().count() > LONGEST {
        line.push('…');
    }
    line
}

/// The sentence about a repair that was made: `repaired: CODE: N`.
pub fn repaired_line(code: Code, count: u64) -> String {
    format!("repaired: {code}: {count}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::Certificate;
    use crate::finding::{Evidence, Findings, microseconds};
    use crate::report::{Kind, Selection};

    #[test]
    fn a_block_per_file() {
        let mut found = Findings::default();
        let evidence = Evidence::new().with("pairs", 660).time("overlap_us", 720_000_000).with("names", vec!["a\nb"]);
        found.warning(Code::OverlapPdl, 0.12, evidence);
        found.note(Code::NoSteps, None, Evidence::new());
        let mut certificate = Certificate::default();
        certificate.count("kernels", 700);
        let report =
            Report::new("trace.json", Kind::GpuTrace, found, certificate, 6_000_000_000, &Selection::default());
        assert_eq!(microseconds(report.kernel_time), 6000.0);
        assert_eq!(
            report.to_text(),
            "trace.json: gpu-trace, 700 rows, 6.000 ms; trust medium (OVERLAP_PDL)\n\
             \x20 warning OVERLAP_PDL              12.0 %  programmatic dependent launch: a kernel is resident and waits for the one before it\n\
             \x20         pairs 660; overlap_us 720.0; names a\\nb\n\
             \x20 note    NO_STEPS                         no step is annotated: everything counts as one pass\n"
        );
    }
}
