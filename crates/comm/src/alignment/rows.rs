//! Reads the rows of a communication table that the model can be compared with.

use crate::error::Error;
use perfdb_files::escape::shown;
use perfdb_pycompat::integer;
use perfdb_pycompat::number::parse_float;
use perfdb_trace::records::{Cell, Splitter};
use std::path::Path;

/// The tier of rows of tables without a column for it.
const DEFAULT_TIER: i64 = 1;

/// A row of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MeasuredRow {
    /// Line on which it starts.
    pub(super) line: u64,
    pub(super) message_bytes: i64,
    pub(super) devices: i64,
    pub(super) tier: i64,
    pub(super) measured_us: f64,
}

/// A cell that is needed.
enum Needed<'a> {
    /// The header lacks the column.
    NoColumn,
    /// The row ends before it.
    CutOff,
    Text(std::borrow::Cow<'a, str>),
}

/// Reads a table. Rows with a cell that does not parse are dropped and counted; a row that is cut off is an error.
pub(super) fn read(path: &Path) -> Result<(Vec<MeasuredRow>, usize), Error> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    let text = String::from_utf8(bytes)
        .map_err(|e| Error::input(path, format!("not valid UTF-8 (at byte {})", e.utf8_error().valid_up_to())))?;
    parse(path, text.strip_prefix('\u{feff}').unwrap_or(&text).as_bytes())
}

fn parse(path: &Path, bytes: &[u8]) -> Result<(Vec<MeasuredRow>, usize), Error> {
    if perfdb_files::lfs::is_pointer(bytes) {
        return Err(perfdb_store::Error::csv(path, perfdb_store::CsvFault::LfsPointer).into());
    }
    let mut splitter = Splitter::new(bytes);
    let mut cells: Vec<Cell> = Vec::new();
    let (mut rows, mut dropped) = (Vec::new(), 0);
    // An empty first line is a header without columns.
    let has_header = !bytes.starts_with(b"\r") && !bytes.starts_with(b"\n");
    if has_header && splitter.next_record(&mut cells).is_none() {
        return Ok((rows, dropped));
    }
    let mut buffer = Vec::new();
    let titles: Vec<Vec<u8>> = cells.iter().map(|cell| cell.decode(bytes, &mut buffer).to_vec()).collect();
    let column = |name: &str| titles.iter().rposition(|title| title == name.as_bytes());
    let tier_column = column("topology_tier");
    let duration_column = column("Average Duration(us)").or_else(|| column("Duration(us)"));
    let columns = [column("message_bytes"), column("num_devices"), tier_column, duration_column];
    while let Some(record) = splitter.next_record(&mut cells) {
        // In this order, because the first cell that cannot be used decides what becomes of the row.
        let mut texts = Vec::with_capacity(columns.len());
        for (position, column) in columns.into_iter().enumerate() {
            if position == 2 && column.is_none() {
                texts.push(DEFAULT_TIER.to_string());
                continue;
            }
            match needed(bytes, &cells, column) {
                Needed::NoColumn => break,
                Needed::CutOff => {
                    let reason = format!("row is cut off after {} cells", cells.len());
                    return Err(Error::line(path, record.line, reason));
                }
                Needed::Text(text) if is_usable(position, &text) => texts.push(text.into_owned()),
                Needed::Text(_) => break,
            }
        }
        match measured(record.line, &texts) {
            Some(row) => rows.push(row),
            None => dropped += 1,
        }
    }
    Ok((rows, dropped))
}

fn is_usable(position: usize, text: &str) -> bool {
    if position == 3 { parse_float(text).is_some() } else { parse_integer(text).is_some() }
}

fn measured(line: u64, texts: &[String]) -> Option<MeasuredRow> {
    let [message_bytes, devices, tier, measured] = texts else {
        return None;
    };
    Some(MeasuredRow {
        line,
        message_bytes: parse_integer(message_bytes)?,
        devices: parse_integer(devices)?,
        tier: parse_integer(tier)?,
        measured_us: parse_float(measured)?,
    })
}

fn needed<'a>(bytes: &'a [u8], cells: &[Cell], column: Option<usize>) -> Needed<'a> {
    let Some(column) = column else {
        return Needed::NoColumn;
    };
    let Some(cell) = cells.get(column) else {
        return Needed::CutOff;
    };
    let mut buffer = Vec::new();
    Needed::Text(String::from_utf8_lossy(cell.decode(bytes, &mut buffer)).into_owned().into())
}

/// Python's `int()` of a text, within 64 bits.
fn parse_integer(text: &str) -> Option<i64> {
    i64::try_from(integer::parse(text)?).ok()
}

/// The warning about rows that were dropped.
pub(super) fn dropped_warning(path: &Path, dropped: usize) -> String {
    format!("{}: {dropped} rows left out, a needed column is missing or a cell is no number", shown(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_text(text: &str) -> Result<(Vec<MeasuredRow>, usize), Error> {
        parse(Path::new("t.csv"), text.as_bytes())
    }

    #[test]
    fn integers_as_python_reads_them() {
        for (text, value) in [(" 65536 ", 65536), ("+16", 16), ("-3", -3), ("007", 7), ("1_024", 1024), ("-0", 0)] {
            assert_eq!(parse_integer(text), Some(value), "{text:?}");
        }
        for text in ["", "+", "1.0", "_1", "1__0", "1_", "0x10", "+-1", "1 2", "99999999999999999999"] {
            assert_eq!(parse_integer(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_first_cell_that_cannot_be_used_decides() {
        let header = "message_bytes,num_devices,topology_tier,Duration(us)\n";
        let (rows, dropped) = read_text(&format!("{header}x\n \n1024,8,1,2.5,extra\n")).unwrap();
        assert_eq!((rows.len(), dropped), (1, 2));
        assert_eq!(rows[0].line, 4);
        let error = read_text(&format!("{header}\n1024,8\n")).unwrap_err().to_string();
        assert!(error.starts_with("t.csv:3: row is cut off"), "{error}");
    }

    #[test]
    fn without_a_needed_column_every_row_is_dropped_even_short_ones() {
        let (rows, dropped) = read_text("message_bytes,Duration(us)\n1024,2.5\n1024\n").unwrap();
        assert_eq!((rows.len(), dropped), (0, 2));
    }

    #[test]
    fn a_pointer_is_refused_and_an_empty_first_line_has_no_columns() {
        let error = read_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n").unwrap_err().to_string();
        assert!(error.starts_with("t.csv: ") && error.contains("LFS"), "{error}");
        let text = "\nmessage_bytes,num_devices,Duration(us)\n1024,8,2.5\n";
        assert_eq!(read_text(text).unwrap(), (Vec::new(), 2));
    }

    #[test]
    fn averages_go_before_durations() {
        let text = "message_bytes,num_devices,Duration(us),Average Duration(us)\n1024,8,2.5,3.5\n";
        let (rows, _) = read_text(text).unwrap();
        assert_eq!((rows[0].measured_us, rows[0].tier), (3.5, 1));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a,\"\r\n. ]{0,120}") {
            let _ = read_text(&format!("message_bytes,num_devices,topology_tier,Duration(us)\n{text}"));
        }

        #[test]
        fn integers_read_back(number in any::<i64>()) {
            prop_assert_eq!(parse_integer(&format!(" {number}\t")), Some(number));
        }
    }
}
