//! What changed, in one sentence.

use super::{Comparison, change_in_words};
use perfdb_files::escape::one_line;
use perfdb_page::number::grouped;
use perfdb_versions::diff::TableSummary;

/// Kernel types that the sentence names.
const NAMED: usize = 2;
/// Fewest rows of a kernel type that the sentence names.
const FEWEST: usize = 3;

/// What changed, in one sentence: `CANN 8.5 → 8.6: 1,240 of 1,310 cases compared, 4.0 % faster; MatMulV2 9.0 % slower at M ≤ 16`.
pub fn headline(found: &Comparison<'_>) -> String {
    let total = &found.diff.total;
    let (compared, cases) = (grouped(total.compared() as f64, 0), grouped(total.cases() as f64, 0));
    let mut out = format!("{}: {compared} of {cases} cases compared", which(found));
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

/// What the two databases are of, as far as it differs; else their names.
fn which(found: &Comparison<'_>) -> String {
    let differences = &found.diff.differences;
    if differences.is_empty() {
        let name = |path: &std::path::Path| one_line(&path.display().to_string());
        return format!("{} → {}", name(&found.a.directory), name(&found.b.directory));
    }
    let text = |one: &perfdb_provenance::Difference| {
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
