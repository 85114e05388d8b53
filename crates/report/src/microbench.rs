//! The report of an update: Markdown, the CSV of hotspots, the summary for programs, the row-level differences.

mod differences;

pub use differences::{Detail, differences};

use crate::markdown::table;
use perfdb_pycompat::format::fixed;
use perfdb_replay::microbench::status::RunStatus;
use perfdb_store::table::{LineEnd, push_csv_row};
use perfdb_store::update::{Gap, TableChanges, TableUpdate};
use serde::Serialize;
use std::borrow::Cow;
use std::ffi::OsStr;

/// A measured duration far from the profiled one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hotspot<'a> {
    pub operator: &'a str,
    /// File name of the table.
    pub csv_name: Cow<'a, str>,
    /// Measured duration.
    pub microbench_us: f64,
    /// Profiled duration.
    pub profiling_us: f64,
    /// Their distance.
    pub abs_diff_us: f64,
    /// Measured by profiled.
    pub ratio: f64,
    /// The row, as text.
    pub shape: &'a str,
}

const HOTSPOTS_SHOWN: usize = 20;
const EXAMPLES_SHOWN: usize = 3;

/// An update, as it is reported.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    updates: &'a [TableUpdate],
    status: Option<&'a RunStatus>,
    hotspots: Vec<Hotspot<'a>>,
}

impl<'a> Report<'a> {
    /// The report of an update of some tables, in the order in which they were processed.
    pub fn new(updates: &'a [TableUpdate], status: Option<&'a RunStatus>) -> Self {
        Report { updates, status, hotspots: hotspots(updates) }
    }

    /// All hotspots, the farthest first.
    pub fn hotspots(&self) -> &[Hotspot<'a>] {
        &self.hotspots
    }

    /// The text, which ends with one line break.
    pub fn markdown(&self) -> String {
        let mut out = String::from("# Profile Update Report\n");
        if let Some(status) = self.status {
            let (success, failed, skipped) = (status.success.len(), status.failed.len(), status.skipped.len());
            out.push_str(&format!(
                "\n## Operator Execution Status\n- Success: {success}\n- Failed: {failed}\n- Skipped: {skipped}\n"
            ));
            for failed in &status.failed {
                out.push_str(&format!("  - FAILED: {}: {}\n", failed.op, failed.reason));
            }
        }
        section(&mut out, "Overview", &["Metric", "Value"], self.overview());
        let columns = ["Operator", "Updated", "Added", "Deleted", "Unchanged", "Missing Samples"];
        section(&mut out, "Update Summary", &columns, self.update_rows());
        let columns = ["Operator", "Count", "Examples"];
        section(&mut out, "Missing Shapes", &columns, self.example_rows(|update| update.missing.clone()));
        section(&mut out, "Deleted Empty Rows", &columns, self.example_rows(|update| update.deleted.clone()));
        let duplicates =
            |update: &TableUpdate| update.duplicates.iter().map(|(text, count)| format!("{text} (x{count})")).collect();
        section(&mut out, "Duplicate Signatures", &columns, self.example_rows(duplicates));
        let columns = ["Operator", "MicroBench(us)", "Profiling(us)", "Abs Diff(us)", "MB/Profile", "Shape"];
        section(&mut out, "Duration Gap Hotspots", &columns, self.hotspot_rows());
        if let Some(status) = self.status.filter(|status| !status.failed.is_empty()) {
            let rows = status.failed.iter().map(|failed| vec![failed.op.clone(), failed.reason.clone()]).collect();
            out.push_str("\n## Failures\n> [!WARNING]\n> Operators that failed.\n\n");
            out.push_str(&table(&["Operator", "Reason"], rows));
            out.push('\n');
        }
        out
    }

    /// All hotspots as CSV.
    pub fn hotspot_csv(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let columns =
            ["Operator", "CSV Name", "MicroBench(us)", "Profiling(us)", "Abs Diff(us)", "MB/Profile", "Shape"];
        push_csv_row(&mut out, columns, LineEnd::CrLf);
        for hotspot in &self.hotspots {
            let [measured, profiled, difference, ratio] =
                [hotspot.microbench_us, hotspot.profiling_us, hotspot.abs_diff_us, hotspot.ratio].map(|x| fixed(x, 6));
            let cells = [hotspot.operator, &hotspot.csv_name, &measured, &profiled, &difference, &ratio, hotspot.shape];
            push_csv_row(&mut out, cells, LineEnd::CrLf);
        }
        out
    }

    /// The summary for programs.
    pub fn summary(&self, run: RunFacts<'a>) -> Summary<'_> {
        let files: Vec<FileSummary<'_>> = self.updates.iter().map(FileSummary::of).collect();
        let changes =
            run.with_changes.then(|| self.updates.iter().filter_map(|update| update.changes.as_ref()).collect());
        Summary {
            database: run.database,
            mode: run.mode,
            prune: run.prune,
            dry_run: run.with_changes,
            totals: self.totals(),
            files,
            hotspots: &self.hotspots,
            status: self.status,
            report: run.report,
            gap_csv: run.gap_csv,
            changes,
        }
    }

    fn totals(&self) -> Totals {
        let sum = |count: fn(&TableUpdate) -> usize| self.updates.iter().map(count).sum();
        Totals {
            files: self.updates.len(),
            updated: sum(|update| update.updated),
            added: sum(|update| update.added),
            deleted: sum(|update| update.deleted.len()),
            unchanged: sum(|update| update.unchanged),
            duplicates: sum(|update| update.duplicates.len()),
            missing: sum(|update| update.missing.len()),
            hotspots: self.hotspots.len(),
        }
    }

    fn overview(&self) -> Vec<Vec<String>> {
        let totals = self.totals();
        let (lower, upper) = (Gap::USUAL_RATIOS.start(), Gap::USUAL_RATIOS.end());
        let rows = [
            ("CSV files touched", totals.files),
            ("Rows updated", totals.updated),
            ("Rows added", totals.added),
            ("Rows deleted", totals.deleted),
            ("Rows unchanged", totals.unchanged),
            ("Duplicate signatures", totals.duplicates),
            ("Missing shapes", totals.missing),
            ("Hotspots", totals.hotspots),
        ];
        let mut rows: Vec<Vec<String>> =
            rows.into_iter().map(|(name, count)| vec![name.to_owned(), count.to_string()]).collect();
        let threshold = format!("microbench/profiling not in [{lower:.2}x, {upper:.2}x]");
        rows.push(vec!["Gap threshold".to_owned(), threshold]);
        rows
    }

    fn update_rows(&self) -> Vec<Vec<String>> {
        let mut updates: Vec<&TableUpdate> = self.updates.iter().collect();
        updates.sort_by(|a, b| {
            b.added.cmp(&a.added).then(b.updated.cmp(&a.updated)).then_with(|| csv_name(a).cmp(&csv_name(b)))
        });
        let row = |update: &TableUpdate| {
            vec![
                update.operator.clone(),
                update.updated.to_string(),
                update.added.to_string(),
                update.deleted.len().to_string(),
                update.unchanged.to_string(),
                examples(&update.missing),
            ]
        };
        updates.into_iter().map(row).collect()
    }

    fn example_rows(&self, texts: impl Fn(&TableUpdate) -> Vec<String>) -> Vec<Vec<String>> {
        let mut found: Vec<(&TableUpdate, Vec<String>)> =
            self.updates.iter().map(|update| (update, texts(update))).filter(|(_, texts)| !texts.is_empty()).collect();
        found.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| csv_name(a.0).cmp(&csv_name(b.0))));
        let row = |(update, texts): (&TableUpdate, Vec<String>)| {
            vec![update.operator.clone(), texts.len().to_string(), examples(&texts)]
        };
        found.into_iter().map(row).collect()
    }

    fn hotspot_rows(&self) -> Vec<Vec<String>> {
        let row = |hotspot: &Hotspot<'_>| {
            let [measured, profiled, difference] =
                [hotspot.microbench_us, hotspot.profiling_us, hotspot.abs_diff_us].map(|x| fixed(x, 6));
            let ratio = format!("{}x", fixed(hotspot.ratio, 2));
            vec![hotspot.operator.to_owned(), measured, profiled, difference, ratio, hotspot.shape.to_owned()]
        };
        self.hotspots.iter().take(HOTSPOTS_SHOWN).map(row).collect()
    }
}

/// Facts about the run for the summary.
#[derive(Debug, Clone, Default)]
pub struct RunFacts<'a> {
    /// The database directory.
    pub database: String,
    /// The update mode.
    pub mode: &'a str,
    /// Whether empty rows were pruned.
    pub prune: bool,
    /// Whether this is a dry run, whose summary lists the changes.
    pub with_changes: bool,
    /// The report that was written.
    pub report: Option<String>,
    /// The CSV of hotspots that was written.
    pub gap_csv: Option<String>,
}

/// The summary for programs.
#[derive(Debug, Clone, Serialize)]
pub struct Summary<'a> {
    database: String,
    mode: &'a str,
    prune: bool,
    dry_run: bool,
    totals: Totals,
    files: Vec<FileSummary<'a>>,
    hotspots: &'a [Hotspot<'a>],
    status: Option<&'a RunStatus>,
    report: Option<String>,
    gap_csv: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<&'a TableChanges>>,
}

#[derive(Debug, Clone, Serialize)]
struct Totals {
    files: usize,
    updated: usize,
    added: usize,
    deleted: usize,
    unchanged: usize,
    duplicates: usize,
    missing: usize,
    hotspots: usize,
}

#[derive(Debug, Clone, Serialize)]
struct FileSummary<'a> {
    operator: &'a str,
    path: String,
    updated: usize,
    added: usize,
    unchanged: usize,
    missing: &'a [String],
    deleted: &'a [String],
    duplicates: Vec<Duplicate<'a>>,
}

#[derive(Debug, Clone, Serialize)]
struct Duplicate<'a> {
    shape: &'a str,
    count: usize,
}

impl<'a> FileSummary<'a> {
    fn of(update: &'a TableUpdate) -> Self {
        FileSummary {
            operator: &update.operator,
            path: update.path.to_string_lossy().into_owned(),
            updated: update.updated,
            added: update.added,
            unchanged: update.unchanged,
            missing: &update.missing,
            deleted: &update.deleted,
            duplicates: update.duplicates.iter().map(|(shape, count)| Duplicate { shape, count: *count }).collect(),
        }
    }
}

fn csv_name(update: &TableUpdate) -> Cow<'_, str> {
    update.path.file_name().map(OsStr::to_string_lossy).unwrap_or_default()
}

fn examples(texts: &[String]) -> String {
    match texts {
        [] => "-".to_owned(),
        _ => texts[..texts.len().min(EXAMPLES_SHOWN)].join("; "),
    }
}

fn section(out: &mut String, title: &str, columns: &[&str], rows: Vec<Vec<String>>) {
    out.push_str(&format!("\n## {title}\n{}\n", table(columns, rows)));
}

fn hotspots(updates: &[TableUpdate]) -> Vec<Hotspot<'_>> {
    let mut found: Vec<Hotspot<'_>> = Vec::new();
    for update in updates {
        let far = update.gaps.iter().filter(|gap| gap.is_hotspot());
        found.extend(far.map(|gap| Hotspot {
            operator: &update.operator,
            csv_name: csv_name(update),
            microbench_us: gap.measured_us,
            profiling_us: gap.profiled_us,
            abs_diff_us: gap.difference_us(),
            ratio: gap.ratio(),
            shape: &gap.shape,
        }));
    }
    // A ratio that underflows to 0 is infinitely far.
    let distance = |hotspot: &Hotspot<'_>| hotspot.ratio.max(1.0 / hotspot.ratio);
    found.sort_by(|a, b| {
        let farther = distance(b).total_cmp(&distance(a));
        farther.then_with(|| b.abs_diff_us.total_cmp(&a.abs_diff_us)).then_with(|| b.operator.cmp(a.operator))
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(operator: &str, gaps: &[(f64, f64)]) -> TableUpdate {
        let gap = |&(measured_us, profiled_us): &(f64, f64)| Gap { shape: "1 -> 1".into(), measured_us, profiled_us };
        TableUpdate {
            operator: operator.into(),
            path: format!("db/{operator}.csv").into(),
            gaps: gaps.iter().map(gap).collect(),
            ..TableUpdate::default()
        }
    }

    #[test]
    fn hotspots_are_ordered_by_distance_difference_and_operator() {
        let updates =
            [update("Add", &[(1.0, 2.0), (10.0, 10.0), (20.0, 10.0)]), update("Mul", &[(1.0, 2.0), (1e-320, 1e10)])];
        let report = Report::new(&updates, None);
        let found: Vec<(&str, f64)> = report.hotspots().iter().map(|h| (h.operator, h.microbench_us)).collect();
        assert_eq!(found, [("Mul", 1e-320), ("Add", 20.0), ("Mul", 1.0), ("Add", 1.0)]);
    }

    #[test]
    fn the_text_of_a_report() {
        let mut updated = update("Add", &[(5.0, 10.0)]);
        updated.updated = 1;
        updated.missing = ["a", "b", "c", "d"].map(|shape| format!("{shape} -> 次")).into();
        updated.duplicates = vec![("x -> y".into(), 3)];
        let status = RunStatus {
            success: vec!["Add_run.py".into()],
            failed: vec![perfdb_replay::microbench::status::FailedOperator {
                op: "Sort_run.py".into(),
                reason: "broke".into(),
            }],
            skipped: vec![],
        };
        insta::assert_snapshot!(Report::new(&[updated, update("Sort", &[])], Some(&status)).markdown());
    }
}
