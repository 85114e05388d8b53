//! What is wrong with a trace: a block for people.

use crate::layout::{Cell, Column, Layout, Table, Tone, without_middle};
use perfdb_doctor::{Entry, Finding, Report};
use perfdb_files::escape::one_line;
use serde_json::Value;

/// The report: a line about the file, then two for each finding.
pub fn text(report: &Report, layout: Layout) -> String {
    let mut head = format!("{}: {}", cut(&report.file), report.kind.name());
    if let Some(rows) = row_count(report) {
        head += &format!(", {rows} rows, {:.3} ms", report.kernel_time as f64 / 1e9);
    }
    let mut out = layout.wrapped_lines(&format!("{head}; {}\n", trust(report)));
    for finding in report.findings.iter().chain(&report.notes) {
        out += &of_finding(finding, layout);
    }
    for key in report.certificate.broken() {
        out += &format!("  certificate: {key} does not add up; this is a bug of the tool\n");
    }
    out
}

fn row_count(report: &Report) -> Option<u64> {
    report.certificate.entries().iter().find_map(|(key, entry)| match (*key, entry) {
        ("kernels" | "events" | "rows", Entry::Count(count)) => Some(*count),
        _ => None,
    })
}

/// `trust medium (OVERLAP_PDL)`.
fn trust(report: &Report) -> String {
    let reasons: Vec<&str> = report.trust_reasons.iter().map(|code| code.name()).collect();
    let trust = format!("trust {}", report.trust.name());
    if reasons.is_empty() { trust } else { format!("{trust} ({})", reasons.join(", ")) }
}

fn of_finding(finding: &Finding, layout: Layout) -> String {
    // A table of its own, so that all have the same widths and evidence stands below its finding.
    let mut table = Table::new([
        Column::name("").at_least(7),
        Column::name("").at_least(23).gap(1),
        Column::number("").at_least(7).gap(1),
        Column::bar().gap(1).optional(1),
        Column::sentence(""),
    ])
    .indented(2);
    let share = finding.share.map_or(String::new(), |share| format!("{:.1} %", 100.0 * share));
    let ignored = if finding.ignored { " (ignored)" } else { "" };
    table.push([
        Cell::from(finding.severity.name()).toned(Tone::of_severity(finding.severity)),
        finding.code.name().into(),
        share.into(),
        Cell::part(finding.share.unwrap_or(0.0)),
        format!("{}{ignored}", finding.code.effect()).into(),
    ]);
    let mut out = table.text(layout);
    let evidence: Vec<String> =
        finding.evidence.as_map().iter().map(|(key, value)| format!("{key} {}", shown(value))).collect();
    if !evidence.is_empty() {
        out += &format!("          {}\n", layout.wrapped(&evidence.join("; "), 10));
    }
    out
}

/// A value in a line of evidence.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => cut(text),
        Value::Array(values) => several(values),
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{} {}", cut(key), named(value))).collect();
            format!("({})", entries.join(", "))
        }
        value => value.to_string(),
    }
}

/// Values of a list; of one with the names of the value before it, only the numbers.
fn several(values: &[Value]) -> String {
    let names = |value: &Value| -> Vec<String> {
        let all = value.as_object().into_iter().flatten();
        all.filter_map(|(_, value)| value.as_str().map(str::to_owned)).collect()
    };
    let mut before = Vec::new();
    let mut out = Vec::new();
    for value in values {
        let own = names(value);
        out.push(match value.as_object().filter(|_| !own.is_empty() && own == before) {
            Some(map) => {
                let numbers = map.iter().filter(|(_, value)| !value.is_string());
                let numbers: Vec<String> =
                    numbers.map(|(key, value)| format!("{} {}", cut(key), shown(value))).collect();
                format!("(the same: {})", numbers.join(", "))
            }
            None => shown(value),
        });
        before = own;
    }
    out.join(", ")
}

/// A value beside others: a long name loses its middle.
fn named(value: &Value) -> String {
    const LONGEST: usize = 64;
    match value {
        Value::String(text) => without_middle(&one_line(text), LONGEST),
        value => shown(value),
    }
}

/// Names are on their line, which long ones would fill.
fn cut(text: &str) -> String {
    const LONGEST: usize = 120;
    let line = one_line(text);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_doctor::{Options, check};

    /// A row that begins before the one in front of it ends, and one without a duration.
    const TABLE: &str = "\
Type,Start Time(us),Duration(us),Stream ID,Wait Time(us),Accelerator Core
Add,10.5,-3,2,0,AI_VECTOR_CORE
\"Mul\nx\",20,5,2,0,AI_VECTOR_CORE
";

    #[test]
    fn long_names_are_there_once() {
        let long = "k".repeat(100);
        let pair = |us: f64| serde_json::json!({"kernel": long, "us": us, "into": "b"});
        let text = shown(&serde_json::json!([pair(1.5), pair(2.0), {"kernel": "a", "us": 3, "into": "b"}]));
        let name = format!("{}…{}", "k".repeat(32), "k".repeat(31));
        assert_eq!(text, format!("(kernel {name}, us 1.5, into b), (the same: us 2.0), (kernel a, us 3, into b)"));
    }

    #[test]
    fn a_block_per_file() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("kernel_details.csv");
        std::fs::write(&path, TABLE)?;
        let mut report = check(&path, &Options::default())?;
        report.file = "kernel_details.csv".to_owned();
        let narrow = Layout { columns: Some(60), has_bars: true, ..Layout::default() };
        insta::assert_snapshot!([Layout::default(), narrow].map(|layout| text(&report, layout)).join("\n"));
        Ok(())
    }
}
