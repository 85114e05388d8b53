//! The CSV reader against the `csv` crate and against a plain state machine, and its presets.

#![allow(clippy::unwrap_used)]

use perfdb_trace::kernels::{Options, Reader};
use perfdb_trace::source::Source;
use proptest::prelude::*;
use std::io::Read;

type Records = Vec<(u64, Vec<String>)>;

/// The dialect letter by letter.
fn plain(text: &str) -> Records {
    let mut records = Vec::new();
    let (mut cells, mut cell) = (Vec::new(), String::new());
    let (mut line, mut start) = (1, 1);
    let (mut quoted, mut open, mut empty) = (false, false, true);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let line_end = match letter {
            '\n' => true,
            '\r' => letters.peek() != Some(&'\n'),
            _ => false,
        };
        line += u64::from(line_end);
        match letter {
            '"' if open && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' if open => open = false,
            '\r' if open && letters.peek() == Some(&'\n') => {}
            '\r' if open => cell.push('\n'),
            _ if open => cell.push(letter),
            '"' if cell.is_empty() && !quoted => (quoted, open, empty) = (true, true, false),
            ',' => {
                cells.push(std::mem::take(&mut cell));
                (quoted, empty) = (false, false);
            }
            '\r' if !line_end => {}
            '\r' | '\n' => {
                if !empty {
                    cells.push(std::mem::take(&mut cell));
                    records.push((start, std::mem::take(&mut cells)));
                }
                (quoted, empty, start) = (false, true, line);
            }
            _ => {
                cell.push(letter);
                empty = false;
            }
        }
    }
    if !empty {
        cells.push(cell);
        records.push((start, cells));
    }
    records
}

fn read(mut source: Source, options: Options) -> Result<Records, String> {
    let mut reader = Reader::new(&mut source, options).map_err(|error| error.to_string())?;
    let mut records = vec![(1, reader.header().to_vec())];
    while let Some(record) = reader.next_record().map_err(|error| error.to_string())? {
        records.push((record.line(), record.iter().map(|cell| cell.into_owned()).collect()));
    }
    Ok(records)
}

fn memory(text: &[u8]) -> Source {
    Source::from_bytes("p.csv", text).unwrap()
}

struct Trickle(Vec<u8>, usize);

impl Read for Trickle {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = out.len().min(3).min(self.0.len() - self.1);
        out[..count].copy_from_slice(&self.0[self.1..self.1 + count]);
        self.1 += count;
        Ok(count)
    }
}

fn stream(text: &[u8]) -> Source {
    Source::from_reader("p.csv", Trickle(text.to_vec(), 0)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn equals_the_state_machine(text in "[ab,\",\r\n\"é ]{0,60}") {
        let text = format!("head\n{text}");
        let expected = plain(&text);
        prop_assert_eq!(&read(memory(text.as_bytes()), Options::comparison()).unwrap(), &expected);
        prop_assert_eq!(&read(stream(text.as_bytes()), Options::comparison()).unwrap(), &expected);
    }

    #[test]
    fn equals_the_csv_crate(text in "[ab,\",\n\"é ]{0,60}") {
        let text = format!("head\n{text}");
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let theirs: Vec<Vec<String>> = reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect();
        let ours: Vec<Vec<String>> =
            read(memory(text.as_bytes()), Options::comparison()).unwrap().into_iter().map(|(_, cells)| cells).collect();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn what_was_written_is_read(records in proptest::collection::vec(proptest::collection::vec("[a-z,\"\n é]{0,8}", 1..5), 1..8)) {
        let mut text = String::new();
        let records: Vec<Vec<String>> = records.into_iter().filter(|cells| cells.len() > 1 || !cells[0].is_empty()).collect();
        for cells in &records {
            perfdb_pycompat::csv_text::push_row(&mut text, cells.iter().map(String::as_str), "\r\n");
        }
        let read = read(memory(text.as_bytes()), Options::comparison()).unwrap();
        prop_assume!(!records.is_empty());
        prop_assert_eq!(read.into_iter().map(|(_, cells)| cells).collect::<Vec<_>>(), records);
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'"'), Just(b'\n'), Just(b',')], 0..100)) {
        let whole = read(memory(&bytes), Options::comparison());
        prop_assert_eq!(&whole, &read(stream(&bytes), Options::comparison()));
        prop_assert_eq!(whole.is_ok(), std::str::from_utf8(&bytes).is_ok());
    }
}

fn cells(text: &str, options: Options) -> Vec<Vec<String>> {
    read(memory(text.as_bytes()), options).unwrap().into_iter().map(|(_, cells)| cells).collect()
}

fn fault(text: &[u8], options: Options) -> String {
    let message = read(memory(text), options).unwrap_err();
    assert_eq!(read(stream(text), options).unwrap_err(), message);
    message
}

#[test]
fn line_ends() {
    let records = read(memory(b"a,b\r1,2\r\n3,\"x\r\ny\rz\n\"\n\n  \n5"), Options::comparison()).unwrap();
    let expected: Records =
        [(1, vec!["a", "b"]), (2, vec!["1", "2"]), (3, vec!["3", "x\ny\nz\n"]), (8, vec!["  "]), (9, vec!["5"])]
            .into_iter()
            .map(|(line, cells)| (line, cells.into_iter().map(str::to_owned).collect()))
            .collect();
    assert_eq!(records, expected);
}

#[test]
fn quotes() {
    let row = |text: &str| cells(&format!("h\n{text}"), Options::comparison())[1].clone();
    assert_eq!(row(r#""""16,5120""",2"#), [r#""16,5120""#, "2"]);
    assert_eq!(row(r#"a"b","c"d"e"#), [r#"a"b""#, r#"cd"e"#]);
    assert_eq!(row("\"open, \n\nend\n"), ["open, \n\nend\n"]);
    assert_eq!(row("\"\","), ["", ""]);
}

#[test]
fn headers() {
    for text in ["", "\n1,2\n", "\r\n"] {
        assert_eq!(cells(text, Options::comparison())[0], Vec::<String>::new(), "{text:?}");
    }
    let text = "\u{feff}\"Type\",b\n1,2\n";
    assert_eq!(cells(text, Options::comparison())[0], ["Type", "b"]);
    assert_eq!(cells(text, Options::comparison().keeping_byte_order_mark())[0], ["\u{feff}\"Type\"", "b"]);
    let mut source = memory(b"a,b,a\n");
    let reader = Reader::new(&mut source, Options::comparison()).unwrap();
    assert_eq!((reader.column("a"), reader.column("b"), reader.column("c")), (Some(2), Some(1), None));
}

#[test]
fn surplus_and_missing_cells() {
    assert_eq!(cells("a,b\n1,2,3\n4\n", Options::comparison()), [vec!["a", "b"], vec!["1", "2", "3"], vec!["4"]]);
    let mut source = memory(b"a,b\n4\n");
    let mut reader = Reader::new(&mut source, Options::comparison()).unwrap();
    let record = reader.next_record().unwrap().unwrap();
    assert_eq!((record.get(0).as_deref(), record.get(1).as_deref()), (Some("4"), None));
}

#[test]
fn long_cells() {
    let text = format!("a\n{}\nb", "x".repeat(3 << 20));
    assert_eq!(read(stream(text.as_bytes()), Options::comparison()).unwrap()[1].1[0].len(), 3 << 20);
}

#[test]
fn bad_utf8() {
    assert_eq!(fault(b"a\n1\n2,\xff\n", Options::comparison()), "p.csv:3: not valid UTF-8 at byte 6");
    assert_eq!(fault(b"a\n1\n\"x\n\xe2\x82", Options::comparison()), "p.csv:3: not valid UTF-8 at byte 7");
    assert_eq!(fault(b"\xff", Options::comparison()), "p.csv:1: not valid UTF-8 at byte 0");
    // A character across the edge of what is in view is fine.
    let text = format!("h\n{}é\nend", "x".repeat((256 << 10) - 3));
    assert_eq!(cells(&text, Options::comparison()).len(), 3);
}

#[test]
fn a_file_that_is_shortened_while_it_is_read_is_an_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("h\n{}", "1,2\n".repeat(200_000))).unwrap();
    let mut source = Source::open(file.path()).unwrap();
    let mut reader = Reader::new(&mut source, Options::comparison()).unwrap();
    assert!(reader.next_record().unwrap().is_some());
    file.as_file().set_len(300_000).unwrap();
    let error = loop {
        match reader.next_record() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("read to the end"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.ends_with(": the file was shortened while it was read"), "{error}");
}

#[test]
fn a_file_that_is_overwritten_while_it_is_read_is_read_as_it_is() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("h\n{}", "1,2\n".repeat(200_000))).unwrap();
    let mut source = Source::open(file.path()).unwrap();
    let mut reader = Reader::new(&mut source, Options::comparison()).unwrap();
    let first = reader.next_record().unwrap().unwrap().get(0).unwrap().into_owned();
    std::fs::write(file.path(), vec![0xff; 900_000]).unwrap();
    let error = loop {
        match reader.next_record() {
            Ok(Some(record)) => assert_eq!(record.get(0).as_deref(), Some(first.as_str())),
            Ok(None) => panic!("read to the end"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("not valid UTF-8 at byte "), "{error}");
}
