//! Markdown tables.

use perfdb_pycompat::format::pad_right;

/// A table whose columns are padded to their widest cell in code points, without a line break at the end; `_None_` without rows. Cells are not
/// escaped.
pub(crate) fn table(columns: &[&str], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return "_None_".to_owned();
    }
    let length = |text: &str| text.chars().count();
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(at, name)| rows.iter().map(|row| length(&row[at])).max().unwrap_or(0).max(length(name)))
        .collect();
    let line = |cells: Vec<String>| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| pad_right(cell, *width)).collect();
        format!("| {} |", padded.join(" | "))
    };
    let mut lines = vec![line(columns.iter().map(|name| (*name).to_owned()).collect())];
    lines.push(line(widths.iter().map(|width| "-".repeat(*width)).collect()));
    lines.extend(rows.into_iter().map(line));
    lines.join("\n")
}
