//! What an update would change, row by row, for people.

use perfdb_store::update::{ChangeKind, RowChange, TableChanges, TableUpdate};

/// How much of a row's change is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Durations; of the other cells only how many there are. Lines fit a terminal.
    Durations,
    Cells,
}

/// The longest line with [`Detail::Durations`].
const WIDTH: usize = 80;

/// What would change, row by row. Only updates that recorded their changes have any.
pub fn differences(updates: &[TableUpdate], detail: Detail) -> String {
    let mut out = String::new();
    for changes in updates.iter().filter_map(|update| update.changes.as_ref()) {
        push_table(&mut out, changes, detail);
    }
    if out.is_empty() {
        out.push_str("No table would change.\n");
    }
    out
}

fn push_table(out: &mut String, changes: &TableChanges, detail: Detail) {
    let kind = if changes.created { " (new file)" } else { "" };
    out.push_str(&format!("{}{kind}\n", changes.path.display()));
    if !changes.created && !changes.columns_added.is_empty() {
        push_columns(out, "added", &changes.columns_added, detail);
    }
    if !changes.columns_removed.is_empty() {
        push_columns(out, "removed", &changes.columns_removed, detail);
    }
    for row in &changes.rows {
        push_row(out, row, detail);
    }
}

fn push_columns(out: &mut String, what: &str, columns: &[String], detail: Detail) {
    let names = format!("  columns {what}: {}", columns.join(", "));
    let is_short = detail == Detail::Cells || names.chars().count() <= WIDTH;
    let line = if is_short { names } else { format!("  columns {what}: {}", columns.len()) };
    out.push_str(&line);
    out.push('\n');
}

fn push_row(out: &mut String, row: &RowChange, detail: Detail) {
    let place = row.row.map(|row| format!("row {row} ")).unwrap_or_default();
    let sign = match row.kind {
        ChangeKind::Updated => '~',
        ChangeKind::Added => '+',
        ChangeKind::Deleted => '-',
    };
    let head = format!("  {sign} {place}{}", row.shape);
    let shown = |cell: &(&String, &[Option<String>; 2])| detail == Detail::Cells || cell.0.contains("Duration(us)");
    let (durations, others): (Vec<_>, Vec<_>) = row.cells.iter().partition(shown);
    let mut cells: Vec<String> = durations.into_iter().map(|(name, change)| cell_text(name, change)).collect();
    match others.len() {
        0 => {}
        1 => cells.push("1 more cell".to_owned()),
        more => cells.push(format!("{more} more cells")),
    }
    let head = if detail == Detail::Cells { head } else { shortened(&head) };
    out.push_str(&format!("{head}\n      {}\n", cells.join("; ")));
}

fn cell_text(name: &str, [old, new]: &[Option<String>; 2]) -> String {
    match (old, new) {
        (Some(old), Some(new)) => format!("{name}: {} -> {}", or_empty(old), or_empty(new)),
        (Some(text), None) | (None, Some(text)) => format!("{name}: {}", or_empty(text)),
        (None, None) => name.to_owned(),
    }
}

fn or_empty(cell: &str) -> &str {
    if cell.is_empty() { "(empty)" } else { cell }
}

/// The line with its middle left out where it is too long.
fn shortened(line: &str) -> String {
    let length = line.chars().count();
    if length <= WIDTH {
        return line.to_owned();
    }
    let (front, back) = (WIDTH * 2 / 3, WIDTH - WIDTH * 2 / 3 - 1);
    let first: String = line.chars().take(front).collect();
    let last: String = line.chars().skip(length - back).collect();
    format!("{first}…{last}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use indexmap::IndexMap;

    fn updates() -> [TableUpdate; 1] {
        let cell = |name: &str, old: Option<&str>, new: Option<&str>| {
            (name.to_owned(), [old, new].map(|text| text.map(str::to_owned)))
        };
        let measured = "Average Duration(us)";
        let change = |row, kind, shape: &str, cells: Vec<(String, [Option<String>; 2])>| RowChange {
            row,
            kind,
            shape: shape.to_owned(),
            cells: IndexMap::from_iter(cells),
        };
        let long = format!("{} -> 1", vec!["16,5120"; 40].join(";"));
        let rows = vec![
            change(
                Some(2),
                ChangeKind::Updated,
                "4;4 -> 4",
                vec![cell(measured, Some(""), Some("5.000000")), cell("cube_time(us)", Some("1"), Some("2"))],
            ),
            change(None, ChangeKind::Added, &long, vec![cell(measured, None, Some("7.000000"))]),
        ];
        let changes = TableChanges {
            path: "db/Add.csv".into(),
            created: false,
            columns_added: vec![measured.to_owned()],
            columns_removed: vec!["a column of some length".to_owned(); 9],
            rows,
        };
        [TableUpdate { changes: Some(changes), ..TableUpdate::default() }]
    }

    #[test]
    fn durations_alone_fit_a_terminal() {
        let text = differences(&updates(), Detail::Durations);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..5],
            [
                "db/Add.csv",
                "  columns added: Average Duration(us)",
                "  columns removed: 9",
                "  ~ row 2 4;4 -> 4",
                "      Average Duration(us): (empty) -> 5.000000; 1 more cell"
            ]
        );
        assert!(lines[5].starts_with("  + 16,5120;16,5120;") && lines[5].ends_with(";16,5120 -> 1"), "{text}");
        assert_eq!(lines[6], "      Average Duration(us): 7.000000");
    }

    #[test]
    fn on_request_every_cell_is_there() {
        let text = differences(&updates(), Detail::Cells);
        assert!(text.contains("Average Duration(us): (empty) -> 5.000000; cube_time(us): 1 -> 2\n"), "{text}");
        assert!(text.contains("a column of some length, a column") && !text.contains('…'), "{text}");
        assert_eq!(differences(&[], Detail::Cells), "No table would change.\n");
    }
}
