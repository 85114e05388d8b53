//! What changed, in one sentence.

use super::{Comparison, change_in_words};
use crate::page::number::grouped;
use perfdb_audit::versions::diff::{TableSummary, Tally};
use perfdb_files::escape::one_line;

/// Kernel types that the sentence names.
const NAMED: usize = 2;
/// Fewest rows of a kernel type that the sentence names.
const FEWEST: usize = 3;

/// What changed, in one sentence: `CANN 8.5 → 8.6: 1,240 of 1,310 cases compared, 4.0 % faster; KERNEL 9.0 % slower at M ≤ 16`.
pub fn headline(found: &Comparison<'_>) -> String {
    let total = &found.diff.total;
    let (compared, cases) = (grouped(total.compared() as f64, 0), grouped(total.cases() as f64, 0));
    let mut out = format!("{}: ", which(found));
    if let Some(lost) = lost(&found.diff.tables, total) {
        out += &format!("{lost}; ");
    }
    out += &format!("{compared} of {cases} cases compared");
    match total.mean_ratio() {
        Some(ratio) => out += &format!(", {}", change_in_words(ratio)),
        None if total.cannot_tell > 0 => out += ", no durations that can be compared",
        None => out += ", none is in both",
    }
    let mut slower: Vec<(f64, String)> =
        found.diff.tables.iter().filter_map(|table| slow_down(table, found.tolerance)).collect();
    slower.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (_, text) in slower.into_iter().take(NAMED) {
        out += &format!("; {text}");
    }
    out
}

/// What the second database lost: `24 cases are gone (KERNEL: the whole table); 37 have no duration`.
fn lost(tables: &[TableSummary], total: &Tally) -> Option<String> {
    let mut said = Vec::new();
    if total.only_a > 0 {
        let is_whole = |table: &&TableSummary| table.tally.only_a > 0 && table.tally.only_a == table.tally.rows[0];
        let whole: Vec<String> = tables.iter().filter(is_whole).map(|table| one_line(&table.kernel_type)).collect();
        let shown = whole.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let named = match whole.len() {
            0 => String::new(),
            1 => format!(" ({shown}: the whole table)"),
            count if count > NAMED => format!(" ({shown} and {} more: whole tables)", count - NAMED),
            _ => format!(" ({shown}: whole tables)"),
        };
        let count = grouped(total.only_a as f64, 0);
        said.push(format!("{count} {} gone{named}", if total.only_a == 1 { "case is" } else { "cases are" }));
    }
    if total.lost_durations > 0 {
        let verb = if total.lost_durations == 1 { "has" } else { "have" };
        said.push(format!("{} {verb} no duration", grouped(total.lost_durations as f64, 0)));
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// Devices and versions of the two databases where they differ; else their names.
fn which(found: &Comparison<'_>) -> String {
    let differences = &found.diff.differences;
    if differences.is_empty() {
        let name = |path: &std::path::Path| one_line(&path.display().to_string());
        return format!("{} → {}", name(&found.a.directory), name(&found.b.directory));
    }
    let text = |one: &perfdb_store::provenance::Difference| {
        let what = if one.what == "device" { String::new() } else { format!("{} ", one.what) };
        one_line(&format!("{what}{} → {}", one.first, one.second))
    };
    differences.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// How much time a kernel type lost, as logarithms of ratios, and the words for it; `None` where it is not slower.
fn slow_down(table: &TableSummary, tolerance: f64) -> Option<(f64, String)> {
    let name = one_line(&table.kernel_type);
    if let Some(range) = table.slower_range {
        let place = format!("{} {} {}", range.axis, range.bound.sign(), grouped(range.size as f64, 0));
        let text = format!("{name} {} at {place}", change_in_words(range.mean_ratio));
        return Some((range.rows as f64 * range.mean_ratio.ln(), text));
    }
    let ratio = table.tally.mean_ratio().filter(|ratio| *ratio > 1.0 + tolerance)?;
    let rows = table.tally.compared();
    (rows >= FEWEST).then(|| (rows as f64 * ratio.ln(), format!("{name} {}", change_in_words(ratio))))
}
