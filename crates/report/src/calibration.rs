//! What calibrate-database found.

use crate::screen::cut;
use perfdb_audit::calibrate::{Calibration, Suggestion};
use perfdb_files::escape::shown;
use std::path::Path;

/// The verdict, and the tables with most rows; at most `top`.
pub fn text(found: &Calibration, database: Option<&Path>, top: usize) -> String {
    let measured: usize = found.tables.iter().map(|table| table.measured).sum();
    let rows = found.rows();
    let place = database.map(|path| format!(" → {}", shown(path))).unwrap_or_default();
    let mut out = vec![format!(
        "{measured} rows measured here, {} calibrated to them, in {} tables{place}",
        rows - measured,
        found.tables.len()
    )];
    out.push(String::new());
    out.push(format!("{:>8}{:>10}{:>9}{:>9}  table", "rows", "measured", "factor", "within"));
    let mut tables: Vec<_> = found.tables.iter().collect();
    tables.sort_by(|one, other| other.rows.cmp(&one.rows).then_with(|| one.name.cmp(&other.name)));
    for table in tables.iter().take(top) {
        let (factor, within) = (format!("×{:.3}", table.factor), format!("±{:.0} %", 100.0 * (table.within - 1.0)));
        out.push(cut(format!("{:>8}{:>10}{factor:>9}{within:>9}  {}", table.rows, table.measured, table.name)));
    }
    if tables.len() > top {
        out.push(format!("{} more tables: --top N", tables.len() - top));
    }
    out.iter().map(|line| line.clone() + "\n").collect()
}

/// Rows to measure next.
pub fn suggestions(list: &[Suggestion]) -> String {
    let mut out = vec![String::new(), "measure next:".to_owned()];
    for suggestion in list {
        let Suggestion { table, shapes, types, expected, rows, within } = suggestion;
        let [low, high] = expected.interval_us;
        out.push(format!("  {table} {} {types}", shapes.trim_matches('"')));
        out.push(format!(
            "      {:.1} us expected ({low:.1}–{high:.1}); narrows {rows} rows from ±{:.0} to ±{:.0} %",
            expected.duration_us,
            100.0 * (within[0] - 1.0),
            100.0 * (within[1] - 1.0)
        ));
    }
    out.iter().map(|line| line.clone() + "\n").collect()
}
