//! The outcome of a check for people and for programs.

use super::check::{Alignment, AlignmentPoint, OperatorReport, Status};
use super::model::ModelKind;
use perfdb_pycompat::format::{fixed, pad_left, pad_right};
use serde::Serialize;
use std::fmt::Write as _;

/// The report for people; `verbose` lists every row.
pub fn to_text(alignment: &Alignment, verbose: bool) -> String {
    let rule = "=".repeat(70);
    let tolerance = fixed(alignment.options.tolerance, 1);
    let mut out = String::new();
    out.push_str("C9 Comm Alignment Validation\n");
    let _ = writeln!(out, "  csv_dir   : {}", alignment.csv_dir);
    let _ = writeln!(out, "  tolerance : {tolerance}x");
    if alignment.options.model != ModelKind::Reference {
        let _ = writeln!(out, "  model     : {}", alignment.options.model.name());
    }
    for file in &alignment.skipped {
        let _ = writeln!(out, "  [SKIP] {file} not found in {}", alignment.csv_dir);
    }
    for report in &alignment.reports {
        let [rows, pass, warn, fail] = counts(report);
        let _ = writeln!(out, "\n{rule}\n  {}  ({rows} rows, tolerance={tolerance}x)", report.op);
        let _ = writeln!(out, "  PASS={pass}  WARN={warn}  FAIL={fail}");
        if let Some((mean, smallest, largest)) = report.ratios() {
            let [mean, smallest, largest] = [mean, smallest, largest].map(|ratio| fixed(ratio, 2));
            let _ = writeln!(out, "  ratio: mean={mean}x  min={smallest}x  max={largest}x");
        }
        out.push_str(&rule);
        out.push('\n');
        if verbose || warn + fail > 0 {
            push_table(&mut out, report, verbose);
        }
    }
    let [rows, pass, warn, fail] = totals(alignment);
    let result = result_name(alignment);
    let _ = writeln!(
        out,
        "\n{rule}\n  TOTAL: {rows} rows  PASS={pass}  WARN={warn}  FAIL={fail}\n  Result: {result}\n{rule}"
    );
    out
}

/// The result and the counts of all tables, in one line.
pub fn verdict(alignment: &Alignment) -> String {
    let [rows, pass, warn, fail] = totals(alignment);
    format!("{}: {rows} rows, PASS {pass}, WARN {warn}, FAIL {fail}", result_name(alignment))
}

/// Rows of a table, and those that pass, warn and fail.
fn counts(report: &OperatorReport) -> [usize; 4] {
    [report.points.len(), report.pass(), report.warn(), report.fail()]
}

fn totals(alignment: &Alignment) -> [usize; 4] {
    let mut totals = [0; 4];
    for report in &alignment.reports {
        totals.iter_mut().zip(counts(report)).for_each(|(total, count)| *total += count);
    }
    totals
}

fn result_name(alignment: &Alignment) -> &'static str {
    if alignment.is_ok() { "OK" } else { "FAILED" }
}

fn push_table(out: &mut String, report: &OperatorReport, verbose: bool) {
    out.push_str("  status     msg_bytes  n_dev  tier    measured   predicted   ratio\n");
    let _ = writeln!(out, "  {}", "-".repeat(65));
    for point in report.points.iter().filter(|point| verbose || point.status != Status::Pass) {
        let cells = [
            pad_right(point.status.name(), 6),
            pad_left(&point.message_bytes.to_string(), 12),
            pad_left(&point.num_devices.to_string(), 5),
            pad_left(&point.topology_tier.to_string(), 4),
            pad_left(&fixed(point.measured_us, 2), 10),
            pad_left(&fixed(point.predicted_us, 2), 10),
            pad_left(&fixed(point.ratio, 2), 6),
        ];
        let _ = writeln!(out, "  {}x", cells.join("  "));
    }
}

/// A number, or null where it is not finite.
fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

#[derive(Serialize)]
struct Document<'a> {
    format_version: u32,
    csv_dir: &'a str,
    tolerance: Option<f64>,
    model: &'static str,
    result: &'static str,
    skipped: &'a [String],
    reports: Vec<ReportDocument>,
}

#[derive(Serialize)]
struct ReportDocument {
    op: &'static str,
    rows: usize,
    pass: usize,
    warn: usize,
    fail: usize,
    ratio_mean: Option<f64>,
    ratio_min: Option<f64>,
    ratio_max: Option<f64>,
    points: Vec<PointDocument>,
}

#[derive(Serialize)]
struct PointDocument {
    status: &'static str,
    message_bytes: i64,
    num_devices: i64,
    topology_tier: i64,
    measured_us: Option<f64>,
    predicted_us: Option<f64>,
    ratio: Option<f64>,
}

impl From<&AlignmentPoint> for PointDocument {
    fn from(point: &AlignmentPoint) -> Self {
        Self {
            status: point.status.name(),
            message_bytes: point.message_bytes,
            num_devices: point.num_devices,
            topology_tier: point.topology_tier,
            measured_us: finite(point.measured_us),
            predicted_us: finite(point.predicted_us),
            ratio: finite(point.ratio),
        }
    }
}

impl From<&OperatorReport> for ReportDocument {
    fn from(report: &OperatorReport) -> Self {
        let ratios = report.ratios();
        Self {
            op: report.op.name(),
            rows: report.points.len(),
            pass: report.pass(),
            warn: report.warn(),
            fail: report.fail(),
            ratio_mean: ratios.and_then(|(mean, _, _)| finite(mean)),
            ratio_min: ratios.and_then(|(_, smallest, _)| finite(smallest)),
            ratio_max: ratios.and_then(|(_, _, largest)| finite(largest)),
            points: report.points.iter().map(PointDocument::from).collect(),
        }
    }
}

/// The report for programs: all rows in file order, numbers that are not finite as null.
pub fn to_json(alignment: &Alignment) -> String {
    let document = Document {
        format_version: 1,
        csv_dir: &alignment.csv_dir,
        tolerance: finite(alignment.options.tolerance),
        model: alignment.options.model.name(),
        result: result_name(alignment),
        skipped: &alignment.skipped,
        reports: alignment.reports.iter().map(ReportDocument::from).collect(),
    };
    let text = perfdb_pycompat::json::to_string(&document).unwrap_or_else(|_| "{}".into());
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alignment::{AlignmentOptions, check};

    fn alignment(text: &str) -> Alignment {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("hcom_allReduce_.csv"), text).unwrap();
        let mut alignment = check(folder.path(), &AlignmentOptions::default()).unwrap();
        alignment.csv_dir = "data".into();
        alignment
    }

    const TEXT: &str = concat!(
        "message_bytes,num_devices,topology_tier,Duration(us)\n",
        "1048576,16,1,20\n1048576,16,1,70\n1048576,1,1,5\n1048576,16,1,nan\nx,1,1,1\n"
    );

    #[test]
    fn for_people() {
        insta::assert_snapshot!(to_text(&alignment(TEXT), false));
    }

    #[test]
    fn for_programs() {
        insta::assert_snapshot!(to_json(&alignment(TEXT)));
    }
}
