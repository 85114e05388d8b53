//! What questions run into, among the findings of a database.

use crate::interval::microseconds;
use crate::{outliers, passed_over};
use perfdb_files::escape::excerpt;
use perfdb_store::lint::{Checked, Finding, Kind};
use std::collections::HashMap;
use std::path::Path;

/// Adds the rows that questions pass over, where nothing was found about that cell yet, and those that the rows around them contradict.
///
/// A database that cannot be opened adds nothing: why is among the findings already.
pub fn add_findings(database: &Path, checked: &mut Checked) {
    let passed_over = of_passed_over(database, checked);
    checked.findings.extend(passed_over);
    checked.findings.extend(of_outliers(database));
    checked.sort();
}

fn of_passed_over(database: &Path, checked: &Checked) -> Vec<Finding> {
    let Ok(rows) = passed_over(database) else { return Vec::new() };
    let mut known: HashMap<(&Path, Option<u64>), Vec<&str>> = HashMap::new();
    for finding in &checked.findings {
        known.entry((&finding.file, finding.line)).or_default().push(&finding.message);
    }
    let is_known = |path: &Path, line: u64, column: &str| {
        known
            .get(&(path, Some(line)))
            .is_some_and(|messages| messages.iter().any(|message| message.starts_with(column)))
    };
    let unknown = rows.into_iter().filter(|row| !is_known(&row.path, row.line, row.column));
    unknown
        .map(|row| {
            let cell = if row.cell.is_empty() { String::new() } else { format!(": {}", excerpt(&row.cell)) };
            let message = format!("{}{cell} {}; queries pass over this row", row.column, row.reason);
            Finding { kind: Kind::PassedOver, file: row.path.to_path_buf(), line: Some(row.line), message }
        })
        .collect()
}

fn of_outliers(database: &Path) -> impl Iterator<Item = Finding> {
    outliers(database).unwrap_or_default().into_iter().map(|row| Finding {
        kind: Kind::OutlierDuration,
        file: row.path.to_path_buf(),
        line: Some(row.line.into()),
        message: format!(
            "{} us, {:.0} standard deviations from the {} us that the rows around it say; measure it again",
            microseconds(row.measured_us),
            row.sigmas,
            microseconds(row.predicted_us)
        ),
    })
}
