//! Kernel CSVs: however the bytes come and are cut, the records are the same, and what they say can be written and read again.

use crate::properties::trickle::Trickle;
use perfdb_pycompat::csv_text::push_row;
use perfdb_pycompat::float::repr;
use perfdb_trace::blocks::Blocks;
use perfdb_trace::kernels::{Options, Reader, number};
use perfdb_trace::records::Splitter;
use perfdb_trace::selected::SelectedRecords;
use perfdb_trace::source::Source;

pub(crate) const WORDS: &[&str] = &[
    "Type,Duration(us)",
    "\r\n",
    "\n",
    "\r",
    "\"",
    "\"\"",
    ",",
    "\"16,512;2048,512\"",
    "\u{feff}",
    "nan",
    "-inf",
    "1_0.5e-3",
    "\0",
    "\n\n\n",
    "\",\"\r\n",
];

pub(crate) fn check(bytes: &[u8]) {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return;
    }
    for options in [Options::comparison(), Options::comparison().keeping_byte_order_mark()] {
        let whole = records(Source::from_bytes("prof.csv", bytes), options);
        let piecewise = records(Source::from_reader("prof.csv", Trickle::new(bytes, 5)), options);
        assert_eq!(whole, piecewise, "whole and in pieces");
        if let Ok(records) = whole {
            written_records_read_back(&records);
            records.iter().flat_map(|(_, cells)| cells).for_each(|cell| numbers_read_back(cell));
        }
    }
    cuts_change_nothing(bytes);
}

/// The line and the cells of each record, the header first.
type Records = Vec<(u64, Vec<String>)>;

fn records(source: Result<Source, perfdb_trace::Error>, options: Options) -> Result<Records, String> {
    let read = || -> Result<Records, perfdb_trace::Error> {
        let mut source = source?;
        let mut reader = Reader::new(&mut source, options)?;
        let mut records = vec![(1, reader.header().to_vec())];
        while let Some(record) = reader.next_record()? {
            assert_eq!(record.get(record.len()), None);
            records.push((record.line(), record.iter().map(|cell| cell.into_owned()).collect()));
        }
        Ok(records)
    };
    read().map_err(|error| error.to_string())
}

fn written_records_read_back(records: &Records) {
    let mut text = "header\r\n".to_owned();
    let rows = || records.iter().map(|(_, cells)| cells).filter(|cells| !cells.is_empty());
    for cells in rows() {
        push_row(&mut text, cells.iter().map(String::as_str), "\r\n");
    }
    let again = self::records(Source::from_bytes("again.csv", text), Options::comparison());
    let again = again.unwrap_or_else(|error| panic!("what was written cannot be read: {error}"));
    assert!(rows().eq(again.iter().skip(1).map(|(_, cells)| cells)), "{records:?} and {again:?}");
}

fn numbers_read_back(cell: &str) {
    if let Some(value) = number(cell) {
        let again = number(&repr(value)).unwrap_or_else(|| panic!("{value} is no number"));
        assert!(again.to_bits() == value.to_bits() || again.is_nan() && value.is_nan(), "{again} and {value}");
    }
}

/// The line and the cells of a record.
type Split = (u64, Vec<Vec<u8>>);

/// Every record that the splitter finds, and the line behind them.
fn split(text: &[u8], line: u64) -> (Vec<Split>, u64) {
    let mut splitter = Splitter::starting_at(text, 0, line);
    let (mut found, mut cells) = (Vec::new(), Vec::new());
    while let Some(record) = splitter.next_record(&mut cells) {
        let contents = cells.iter().map(|cell| cell.decode(text, &mut Vec::new()).to_vec()).collect();
        found.push((record.line, contents));
    }
    (found, splitter.line())
}

fn cuts_change_nothing(bytes: &[u8]) {
    let (whole, _) = split(bytes, 1);
    for block_bytes in [1, 16, 64] {
        let mut blocks = Blocks::new(Trickle::new(bytes, 3), block_bytes);
        let (mut joined, mut found, mut line) = (Vec::new(), Vec::new(), 1);
        while let Some(block) = blocks.next_block(Vec::new()).expect("memory can be read") {
            assert_eq!(block.offset, joined.len() as u64);
            let (records, next) = split(&block.text, line);
            found.extend(records);
            line = next;
            joined.extend(block.text);
        }
        assert_eq!(joined, bytes);
        assert_eq!(found, whole, "in blocks of {block_bytes}");
    }
    let mut selected = SelectedRecords::new(Trickle::new(bytes, 3), 8);
    let mut count = 0;
    while let Some(record) = selected.next_record().expect("memory can be read") {
        let expected = whole.get(count).map(|(line, cells)| (*line, cells.len()));
        assert_eq!(Some((record.line(), record.cell_count())), expected, "record {count}");
        count += 1;
    }
    assert_eq!(count, whole.len());
}
