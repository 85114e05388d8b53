//! What a check of density found: lines for people, JSON for programs.

use crate::layout::Layout;
use perfdb_audit::coverage::density::{Finding, Hole, Judged, Report, Verdict};
use perfdb_files::escape::one_line;
use serde_json::{Value, json};
use std::path::Path;

/// What the nine conditions are about, in order.
const CONDITIONS: [&str; 9] = [
    "rules used",
    "density",
    "critical queries exact",
    "other queries exact or interpolated",
    "errors of rows left out",
    "no query without an answer",
    "every row measured",
    "rules and generator agree",
    "size",
];

/// One sentence: which conditions fail, and how many pass or are not judged.
pub fn verdict(report: &Report) -> String {
    let named = || CONDITIONS.iter().zip(&report.gates);
    let failed: Vec<String> = named()
        .filter_map(|(name, gate)| match gate {
            Verdict::Failed(1) => Some(format!("{name} (1 finding)")),
            Verdict::Failed(count) => Some(format!("{name} ({count} findings)")),
            _ => None,
        })
        .collect();
    let count = |is: fn(&Verdict) -> bool| report.gates.iter().filter(|gate| is(gate)).count();
    let passed = count(|gate| *gate == Verdict::Passed);
    let not_judged = count(|gate| matches!(gate, Verdict::NotJudged(_)));
    let verdict = if failed.is_empty() { "passed".to_owned() } else { format!("FAILED: {}", failed.join(", ")) };
    format!("{verdict}; {passed} conditions hold, {not_judged} not judged")
}

/// The verdict, a line for each condition, sums, then the first `limit` findings: those that fail a condition before others. `flag` shows
/// the rest.
pub fn text(report: &Report, limit: usize, flag: &str, layout: Layout) -> String {
    let mut out = verdict(report) + "\n" + &conditions(report);
    let counts = report.counts;
    if counts.single > 0 || counts.foreign > 0 {
        out += &format!(
            "{} buckets have one value, {} rows have shapes that no rule makes\n",
            counts.single, counts.foreign
        );
    }
    out += &format!(
        "{} findings in {} tables; {} buckets checked, {} values measured\n",
        report.findings.len(),
        counts.tables,
        counts.asked,
        counts.values
    );
    let (failing, told): (Vec<&Finding>, Vec<&Finding>) = report.findings.iter().partition(|finding| finding.fails);
    let mut heading = String::new();
    for finding in failing.into_iter().chain(told).take(limit) {
        // Findings of one bucket share its line.
        let whole = finding.to_string();
        let own = format!("{}: {}", finding.kind.name(), finding.text);
        let bucket = whole.replacen(&format!("{}: ", finding.kind.name()), "", 1);
        let bucket = bucket.strip_suffix(&format!(": {}", finding.text)).unwrap_or(&bucket);
        if bucket != heading {
            out += &format!("{}\n", one_line(bucket));
            bucket.clone_into(&mut heading);
        }
        out += &format!("  {}\n", one_line(&own));
    }
    let left_out = report.findings.len().saturating_sub(limit);
    if left_out > 0 {
        out += &format!("… and {left_out} more findings; {flag} shows them\n");
    }
    layout.wrapped_lines(&out)
}

/// The findings on one screen: at most ten.
pub fn screen(report: &Report, flag: &str, layout: Layout) -> String {
    crate::screen::fitting(10, 3, |limit| text(report, limit, flag, layout))
}

/// One line for each outcome: the numbers of the conditions, and what those lack that are not judged.
fn conditions(report: &Report) -> String {
    let mut outcomes: Vec<(String, Vec<String>)> = Vec::new();
    for ((number, name), verdict) in (1..).zip(CONDITIONS).zip(&report.gates) {
        let outcome = match verdict {
            Verdict::Failed(_) => "failed".to_owned(),
            verdict => verdict.to_string(),
        };
        let named = format!("{number} {name}");
        match outcomes.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, numbers)) => numbers.push(named),
            None => outcomes.push((outcome, vec![named])),
        }
    }
    outcomes.sort_by_key(|(outcome, _)| match outcome.as_str() {
        "failed" => 0,
        "passed" => 1,
        _ => 2,
    });
    outcomes.iter().map(|(outcome, named)| format!("{outcome}: {}\n", named.join(", "))).collect()
}

/// All of it as JSON; `manifest_sha256` is that of the manifest's bytes.
///
/// # Errors
/// When a number is beyond what JSON writers take, which no database causes.
pub fn document(
    report: &Report,
    standard: &str,
    database: &Path,
    manifest_sha256: Option<&str>,
) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(&value(report, standard, database, manifest_sha256))? + "\n")
}

/// The same as a value, to stand in another document.
pub fn value(report: &Report, standard: &str, database: &Path, manifest_sha256: Option<&str>) -> Value {
    let gate = |(gate, verdict): (usize, &Verdict)| {
        let (word, missing) = match verdict {
            Verdict::Passed => ("passed", None),
            Verdict::Failed(_) => ("failed", None),
            Verdict::NotJudged(missing) => ("not judged", Some(*missing)),
        };
        json!({"gate": gate, "verdict": word, "missing": missing})
    };
    let counts = report.counts;
    json!({
        "format_version": 1,
        "standard": standard,
        "database": database.to_string_lossy(),
        "manifest_sha256": manifest_sha256,
        "gates": (1..).zip(&report.gates).map(gate).collect::<Vec<_>>(),
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "queries": report.questions.iter().map(query).collect::<Vec<_>>(),
        "signatures": {"candidate": report.signatures.0, "baseline": report.signatures.1},
        "counts": {
            "tables": counts.tables,
            "buckets_asked": counts.asked,
            "values_measured": counts.values,
            "buckets_of_one_value": counts.single,
            "foreign_rows": counts.foreign,
        },
    })
}

fn finding(finding: &Finding) -> Value {
    let (from, to, limit) = match finding.hole {
        Some(Hole::TooWide { from, to, limit, .. }) => (Some(from), Some(to), Some(limit.to_string())),
        _ => (None, None, None),
    };
    let bucket: serde_json::Map<String, Value> =
        finding.bucket.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    json!({
        "gate": finding.gate,
        "kind": finding.kind.name(),
        "fails": finding.fails,
        "file": finding.file.as_ref().map(|file| file.to_string_lossy()),
        "line": finding.line,
        "axis": finding.axis,
        "bucket": bucket,
        "from": from,
        "to": to,
        "limit": limit,
        "repair": finding.hole.map(Hole::repair),
        "text": finding.text,
    })
}

fn query(one: &Judged) -> Value {
    let used = one.rows.iter().map(|row| json!({"file": row.path.to_string_lossy(), "line": row.line}));
    json!({
        "workload_id": one.workload,
        "name": one.name,
        "line": one.place,
        "critical": one.is_critical,
        "class": one.class.name(),
        "rule": one.rule,
        "used": used.collect::<Vec<_>>(),
    })
}
