use super::*;
use crate::error::Error;
use proptest::prelude::*;

fn parse(text: &str) -> Result<Table, Error> {
    Table::parse("Add.csv".as_ref(), text.as_bytes().to_vec(), &ReadOptions::database())
}

fn message(text: &[u8]) -> String {
    match Table::parse("Add.csv".as_ref(), text.to_vec(), &ReadOptions::database()) {
        Ok(table) => panic!("accepted: {:?}", table.columns()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_refused_is_named_with_its_line() {
    assert_eq!(message(b""), "Add.csv: no CSV header");
    assert_eq!(message(b"\xef\xbb\xbf"), "Add.csv: no CSV header");
    assert_eq!(message(b"\r\na,b\r\n"), "Add.csv: no CSV header");
    assert_eq!(message(b"a,b\n1,\xff\n"), "Add.csv: not valid UTF-8 (at byte 6)");
    assert_eq!(
        message(b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"),
        "Add.csv: Git LFS pointer, run git lfs pull"
    );
    assert_eq!(message(b"a,b,a\n"), "Add.csv:1: duplicate column a");
    assert_eq!(message(b"a,b\n1,2\n\n1,2,3\n"), "Add.csv:4: row has 3 cells, header has 2");
    assert_eq!(message(b"a,b\n1,2\n1,\"2\n3\n"), "Add.csv:3: unterminated quote");
}

#[test]
fn an_empty_last_name_is_empty_whatever_stands_before_it() -> Result<(), Error> {
    assert_eq!(parse("\"\"a,")?.columns(), ["a", ""]);
    assert_eq!(parse("\"b\"\"\",\"\"c,")?.columns(), ["b\"", "c", ""]);
    Ok(())
}

#[test]
fn a_cell_may_have_as_many_characters_as_python_reads_and_not_one_more() -> Result<(), Error> {
    let fits = format!("a\n{}\n", "é".repeat(131_072));
    assert_eq!(parse(&fits)?.cell(0, 0).chars().count(), 131_072);
    let quoted = format!("a,b\n1,2\n1,\"{}\"\n", "x".repeat(131_073));
    assert_eq!(message(quoted.as_bytes()), "Add.csv:3: cell longer than 131072 characters");
    let lenient = Table::parse("Add.csv".as_ref(), quoted.into_bytes(), &ReadOptions::shape_grid())?;
    assert_eq!(lenient.cell(1, 1).len(), 131_073);
    Ok(())
}

#[test]
fn the_grid_reads_what_a_database_refuses() -> Result<(), Error> {
    let table = Table::parse("Add.csv".as_ref(), b"a,b,a\n1,2,\"3\n".to_vec(), &ReadOptions::shape_grid())?;
    assert_eq!(table.column("a"), Some(2));
    assert_eq!(table.cell(0, 2), "3\n");
    Ok(())
}

#[test]
fn rows_know_their_lines_records_and_bytes() -> Result<(), Error> {
    let table = parse("a,b\r\n1,\"x\ry\"\r\n\r\n3\r\n")?;
    assert_eq!(table.row_count(), 2);
    assert_eq!((table.line(1), table.record_number(1)), (Some(5), Some(3)));
    assert_eq!((table.cell(1, 0), table.cell(1, 1)), ("3", ""));
    assert_eq!(table.source_record(0), b"1,\"x\ry\"\r\n");
    assert_eq!(table.source_header(), b"a,b\r\n");
    assert_eq!(table.source_without(|row| row.index() == 0), b"a,b\r\n\r\n3\r\n");
    Ok(())
}

#[test]
fn columns_are_renamed_moved_and_added_without_touching_cells() -> Result<(), Error> {
    let mut table = parse("a,b\n1,\"\"\"2\"\"\"\n")?;
    table.rearrange(vec![("c".into(), None), ("B".into(), Some(1)), ("a".into(), Some(0))]);
    table.push_column("EP Size", "16");
    table.set(0, 0, "new, text");
    let row = table.push_row(|_, name| if name == "B" { "b" } else { "" });
    assert_eq!((row, table.line(row)), (1, None));
    let expected = "\u{feff}c,B,a,EP Size\n\"new, text\",\"\"\"2\"\"\",1,16\n,b,,\n";
    assert_eq!(table.to_csv(Written { byte_order_mark: true, line_end: LineEnd::Lf }), expected.as_bytes());
    Ok(())
}

#[test]
fn a_lone_empty_cell_is_quoted() -> Result<(), Error> {
    let table = parse("a\n\"\"\nx\n")?;
    assert_eq!(table.row_count(), 2);
    assert_eq!(table.to_csv(Written::PLAIN), b"a\r\n\"\"\r\nx\r\n");
    Ok(())
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(
        rows in prop::collection::vec(prop::collection::vec("[ab,\"\r\n ;é]{0,6}", 3), 0..6),
        byte_order_mark: bool,
    ) {
        let mut table = Table::new("Add.csv".as_ref(), ["x", "y", "z"]);
        for row in &rows {
            table.push_row(|column, _| row[column].as_str());
        }
        let written = Written { byte_order_mark, line_end: LineEnd::CrLf };
        let bytes = table.to_csv(written);
        let back = Table::parse("Add.csv".as_ref(), bytes.clone(), &ReadOptions::database())?;
        prop_assert_eq!(back.rows().map(|row| row.cells().map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<_>>(), rows);
        prop_assert_eq!(back.to_csv(written), bytes.clone());
        prop_assert_eq!(back.source(), bytes);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(prop_oneof![Just(b','), Just(b'"'), Just(b'\n'), Just(b'\r'), any::<u8>()], 0..60)) {
        for options in [ReadOptions::database(), ReadOptions::shape_grid()] {
            if let Ok(table) = Table::parse("Add.csv".as_ref(), bytes.clone(), &options) {
                prop_assert_eq!(table.source(), bytes.as_slice());
                prop_assert_eq!(table.source_without(|_| false), bytes.clone());
            }
        }
    }
}
