//! What database-from-trace made of traces.

use crate::screen::{COLUMNS, cut};
use perfdb_files::escape::shown;
use perfdb_tracediff::{LeftOut, Measured, MeasuredTable};
use std::collections::BTreeMap;
use std::path::Path;

/// The verdict, the tables by time, and what has no rows; at most `top` of each.
pub fn text(found: &Measured, database: &Path, top: usize) -> String {
    let rows: usize = found.tables.values().map(|table| table.rows.len()).sum();
    let share = if found.kernel_ms > 0.0 { 100.0 * found.measured_ms / found.kernel_ms } else { 0.0 };
    let mut out = vec![format!(
        "{} tables with {rows} rows → {}; {share:.1} % of {:.3} ms of kernel time",
        found.tables.len(),
        shown(database),
        found.kernel_ms
    )];
    let mut tables: Vec<(&String, &MeasuredTable)> = found.tables.iter().collect();
    tables.sort_by(|one, other| other.1.total_us.total_cmp(&one.1.total_us).then_with(|| one.0.cmp(other.0)));
    out.push(String::new());
    out.push(format!("{:>11}{:>7}{:>8}  {:<18}table", "ms", "rows", "calls", "class"));
    for (name, table) in tables.iter().take(top) {
        let (ms, class) = (table.total_us / 1e3, table.kind.class.name());
        out.push(cut(format!("{ms:>11.3}{:>7}{:>8}  {class:<18}{name}", table.rows.len(), table.calls)));
    }
    out.extend(more(tables.len(), top, "tables: query-database DIR --list"));
    if !found.left_out.is_empty() {
        out.push(String::new());
        out.push(format!("no rows for {:.3} ms:", found.kernel_ms - found.measured_ms));
        out.extend(found.left_out.iter().take(top).map(|left| cut(line(left))));
        out.extend(more(found.left_out.len(), top, "operators: --top N"));
    }
    out.iter().map(|line| line.clone() + "\n").collect()
}

/// Why no row was made, the most time first.
pub fn reasons(found: &Measured) -> String {
    let mut times: BTreeMap<&str, f64> = BTreeMap::new();
    for left in &found.left_out {
        *times.entry(left.reason.text()).or_default() += left.total_ms;
    }
    let mut times: Vec<(&str, f64)> = times.into_iter().collect();
    times.sort_by(|one, other| other.1.total_cmp(&one.1));
    let all: Vec<String> = times.iter().map(|(reason, ms)| format!("{reason} ({ms:.3} ms)")).collect();
    if all.is_empty() { "no kernels".to_owned() } else { all.join(", ") }
}

fn line(left: &LeftOut) -> String {
    let operator = if left.operator.is_empty() { String::new() } else { format!("{}: ", left.operator) };
    let kernels = if left.kernels == 1 { "kernel" } else { "kernels" };
    let room = COLUMNS.saturating_sub(32 + left.reason.text().chars().count());
    format!(
        "{:>11.3}{:>7} {kernels:<8} {}{}",
        left.total_ms,
        left.kernels,
        shortened(&operator, room),
        left.reason.text()
    )
}

/// A name of at most this many characters, with a mark where something is missing.
fn shortened(name: &str, room: usize) -> String {
    if name.chars().count() > room.max(8) {
        name.chars().take(room.max(8) - 3).chain("…: ".chars()).collect()
    } else {
        name.to_owned()
    }
}

fn more(count: usize, top: usize, what: &str) -> Option<String> {
    (count > top).then(|| format!("{} more {what}", count - top))
}
