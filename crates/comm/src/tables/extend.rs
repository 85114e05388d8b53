//! The new content of a table: what is there, without the rows that are measured again, and the new rows behind it.

use super::{COLUMNS, Existing};
use crate::aggregate::Row;
use crate::error::Error;
use perfdb_files::escape::one_line;
use perfdb_pycompat::float::push_repr;
use perfdb_store::table::{ReadOptions, Table};
use std::collections::HashSet;
use std::path::Path;

/// The new content of a table.
pub(super) struct Composed {
    pub(super) bytes: Vec<u8>,
    pub(super) new_rows: usize,
    pub(super) replaced_rows: usize,
    pub(super) kept_rows: usize,
}

pub(super) fn compose(path: &Path, rows: &[&Row], existing: Existing) -> Result<Composed, Error> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut text = COLUMNS.join(",") + "\r\n";
            rows.iter().for_each(|row| push_row(&mut text, row, "\r\n"));
            return Ok(Composed { bytes: text.into_bytes(), new_rows: rows.len(), replaced_rows: 0, kept_rows: 0 });
        }
        Err(error) => return Err(Error::io(path, error)),
    };
    if existing == Existing::Error {
        return Err(Error::TableExists(path.to_owned()));
    }
    extend(path, bytes, rows, existing)
}

fn extend(path: &Path, bytes: Vec<u8>, rows: &[&Row], existing: Existing) -> Result<Composed, Error> {
    let table = Table::parse(path, bytes, &ReadOptions::database())?;
    if table.columns() != COLUMNS {
        let found = one_line(&table.columns().join(","));
        return Err(Error::input(path, format!("header is {found}, expected {}", COLUMNS.join(","))));
    }
    let replaced: HashSet<[String; 4]> = match existing {
        Existing::Merge => rows.iter().map(|row| key(row)).collect(),
        Existing::Append | Existing::Error => HashSet::new(),
    };
    let mut replaced_rows = 0;
    let mut bytes = table.source_without(|row| {
        let is_replaced = replaced.contains(&std::array::from_fn(|column| row.cell(column).to_owned()));
        replaced_rows += usize::from(is_replaced);
        is_replaced
    });
    let line_end = table.header_line_end().as_str();
    let mut text = String::new();
    if !rows.is_empty() && !matches!(bytes.last(), Some(b'\n' | b'\r')) {
        text.push_str(line_end);
    }
    rows.iter().for_each(|row| push_row(&mut text, row, line_end));
    bytes.extend_from_slice(text.as_bytes());
    Ok(Composed { bytes, new_rows: rows.len(), replaced_rows, kept_rows: table.row_count() - replaced_rows })
}

/// What makes two rows the same measurement, as the table writes it.
fn key(row: &Row) -> [String; 4] {
    [
        row.message_bytes.to_string(),
        row.num_devices.to_string(),
        row.dtype.table_name().to_owned(),
        row.topology_tier.to_string(),
    ]
}

/// Appends a row with its line end.
fn push_row(out: &mut String, row: &Row, line_end: &str) {
    out.push_str(&key(row).join(","));
    for number in [row.duration_us, row.bandwidth_gbps] {
        out.push(',');
        push_repr(out, number);
    }
    out.push_str(line_end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::tests::row;
    use proptest::prelude::*;

    fn extended(text: &str, rows: &[Row], existing: Existing) -> Result<String, Error> {
        let rows: Vec<&Row> = rows.iter().collect();
        extend(Path::new("t.csv"), text.as_bytes().to_vec(), &rows, existing)
            .map(|c| String::from_utf8(c.bytes).unwrap())
    }

    const HEADER: &str = "message_bytes,num_devices,dtype,topology_tier,Duration(us),bandwidth_gbps";

    #[test]
    fn merging_replaces_equal_keys_and_keeps_all_other_bytes() {
        let text = format!(
            "{HEADER}\n1024,4,DT_BF16,1,9.0,0.1\n\"2048\",4,DT_BF16,1,9.0,0.1\n\n01024,4,DT_BF16,1,7,x\n1024,4,DT_FP16,1,8,y"
        );
        let merged = extended(&text, &[row(1024, 20.0), row(1024, 4.2)], Existing::Merge).unwrap();
        let expected = format!(
            "{HEADER}\n\"2048\",4,DT_BF16,1,9.0,0.1\n\n01024,4,DT_BF16,1,7,x\n1024,4,DT_FP16,1,8,y\n1024,4,DT_BF16,1,20.0,0.5\n1024,4,DT_BF16,1,4.2,0.5\n"
        );
        assert_eq!(merged, expected);
    }

    #[test]
    fn line_ends_and_the_mark_stay_as_found() {
        let text = format!("\u{feff}{HEADER}\r\n");
        assert_eq!(
            extended(&text, &[row(1024, 1.0)], Existing::Append).unwrap(),
            format!("{text}1024,4,DT_BF16,1,1.0,0.5\r\n")
        );
        let text = format!("{HEADER}\r");
        assert_eq!(
            extended(&text, &[row(1024, 1.0)], Existing::Merge).unwrap(),
            format!("{text}1024,4,DT_BF16,1,1.0,0.5\r")
        );
    }

    #[test]
    fn tables_that_cannot_be_extended_are_refused() {
        for (text, reason) in [
            ("", "no CSV header"),
            ("version https://git-lfs.github.com/spec/v1\n", "LFS"),
            ("message_bytes,num_devices\n", "header is"),
            (&format!("{HEADER}\n1,2,3,4,5,6,7\n"), "7 cells"),
            (&format!("{HEADER}\n1,\"2\n"), "unterminated quote"),
        ] {
            let error = extended(text, &[row(1024, 1.0)], Existing::Merge).unwrap_err().to_string();
            assert!(error.starts_with("t.csv") && error.contains(reason), "{error}");
        }
    }

    proptest! {
        #[test]
        fn writing_the_same_rows_again_changes_nothing(sizes in proptest::collection::vec(1u64..9, 1..8)) {
            let rows: Vec<Row> = sizes.iter().map(|size| row(*size, 1.5)).collect();
            let once = extended(&format!("{HEADER}\r\n77,4,DT_BF16,1,1.0,1.0\r\n"), &rows, Existing::Merge).unwrap();
            prop_assert_eq!(extended(&once, &rows, Existing::Merge).unwrap(), once);
        }

        #[test]
        fn arbitrary_tables_never_panic(text in "[0-9,\"\r\n a]{0,80}") {
            let _ = extended(&format!("{HEADER}\n{text}"), &[row(1, 1.0)], Existing::Merge);
        }
    }
}
