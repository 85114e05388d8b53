//! Records as Python's csv writer writes them with `QUOTE_MINIMAL`.

/// Whether a cell must stand in quotes: it holds `,`, `"`, CR or LF.
pub(crate) fn needs_quotes(cell: &str) -> bool {
    has_marks(cell.as_bytes())
}

/// Goes over all bytes, which takes less time than to stop at the first one that is found.
#[inline]
fn has_marks(cell: &[u8]) -> bool {
    let is_mark = |byte| (byte == b',') | (byte == b'"') | (byte == b'\r') | (byte == b'\n');
    cell.iter().fold(false, |found, &byte| found | is_mark(byte))
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

/// [`push_cell`] for a cell in bytes.
#[inline]
pub fn push_cell_bytes(out: &mut Vec<u8>, cell: &[u8]) {
    if !has_marks(cell) {
        out.extend_from_slice(cell);
        return;
    }
    out.push(b'"');
    let mut rest = cell;
    while let Some(quote) = memchr::memchr(b'"', rest) {
        let (with_quote, behind) = rest.split_at(quote + 1);
        out.extend_from_slice(with_quote);
        out.push(b'"');
        rest = behind;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends one cell that needs quotes, given with a backslash in front of each of its own quotes and without any other
/// backslash. This is how JSON writes texts that hold a list or dictionary, and CSV differs in a single letter.
///
/// ```
/// let mut out = Vec::new();
/// perfdb_pycompat::csv_text::push_cell_with_backslashes(&mut out, br#"[{\"a\": 1}]"#);
/// assert_eq!(out, br#""[{""a"": 1}]""#);
/// ```
pub fn push_cell_with_backslashes(out: &mut Vec<u8>, cell: &[u8]) {
    out.reserve(cell.len() + 2);
    out.push(b'"');
    let start = out.len();
    out.extend_from_slice(cell);
    for byte in out.get_mut(start..).unwrap_or_default() {
        if *byte == b'\\' {
            *byte = b'"';
        }
    }
    out.push(b'"');
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
    use proptest::prelude::*;

    #[test]
    fn quotes_only_where_needed() {
        let mut out = String::new();
        push_row(&mut out, ["a b", "\"16,512\"", "x\ry", "次"], "\n");
        push_row(&mut out, [""], "\n");
        push_row(&mut out, ["", ""], "\n");
        assert_eq!(out, "a b,\"\"\"16,512\"\"\",\"x\ry\",次\n\"\"\n,\n");
    }

    proptest! {
        #[test]
        fn cells_in_bytes_are_the_same(cell in "[a次,\"\r\n\\\\]{0,40}") {
            let (mut text, mut bytes) = (String::new(), Vec::new());
            push_cell(&mut text, &cell);
            push_cell_bytes(&mut bytes, cell.as_bytes());
            prop_assert_eq!(text.as_bytes(), bytes);
        }

        #[test]
        fn backslashes_become_quotes(cell in "[a次,]{0,20}(\"[a次,]{0,20}){1,9}") {
            let (mut text, mut bytes) = (String::new(), Vec::new());
            push_cell(&mut text, &cell);
            push_cell_with_backslashes(&mut bytes, cell.replace('"', "\\\"").as_bytes());
            prop_assert_eq!(text.as_bytes(), bytes);
        }
    }
}
