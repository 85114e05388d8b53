//! Records as Python's csv writer writes them with `QUOTE_MINIMAL`.

/// Whether a cell must stand in quotes: it holds `,`, `"`, CR or LF.
pub fn needs_quotes(cell: &str) -> bool {
    cell.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n'))
}

/// Appends one cell, quoted where needed, quotes inside doubled.
pub fn push_cell(out: &mut String, cell: &str) {
    if !needs_quotes(cell) {
        out.push_str(cell);
        return;
    }
    out.push('"');
    let mut rest = cell;
    while let Some(quote) = memchr::memchr(b'"', rest.as_bytes()) {
        let (with_quote, behind) = rest.split_at(quote + 1);
        out.push_str(with_quote);
        out.push('"');
        rest = behind;
    }
    out.push_str(rest);
    out.push('"');
}

/// Appends one record and `line_end`. A record of one empty cell is written `""`, so that it is not an empty line.
///
/// ```
/// let mut out = String::new();
/// perfdb_pycompat::csv_text::push_row(&mut out, ["a", "16,512;4", ""], "\r\n");
/// assert_eq!(out, "a,\"16,512;4\",\r\n");
/// ```
pub fn push_row<'a>(out: &mut String, cells: impl IntoIterator<Item = &'a str>, line_end: &str) {
    let start = out.len();
    let mut count = 0;
    for cell in cells {
        if count > 0 {
            out.push(',');
        }
        push_cell(out, cell);
        count += 1;
    }
    if count == 1 && out.len() == start {
        out.push_str("\"\"");
    }
    out.push_str(line_end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_only_where_needed() {
        let mut out = String::new();
        push_row(&mut out, ["a b", "\"16,512\"", "x\ry", "次"], "\n");
        push_row(&mut out, [""], "\n");
        push_row(&mut out, ["", ""], "\n");
        assert_eq!(out, "a b,\"\"\"16,512\"\"\",\"x\ry\",次\n\"\"\n,\n");
    }
}
