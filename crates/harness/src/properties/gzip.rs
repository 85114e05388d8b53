//! Gzip: what inflates elsewhere inflates here to the same bytes, and a stream that breaks off is an error.

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use perfdb_trace::source::Source;
use std::io::{Read, Write};

pub(crate) const WORDS: &[&str] = &["\u{1f}\u{8b}", "\0\0\0\0", "\u{1f}\u{8b}\u{8}\0\0\0\0\0\0\u{3}"];

/// More than this is not compared: a few bytes inflate to any size.
const MOST_BYTES: u64 = 1 << 20;

pub(crate) fn check(bytes: &[u8]) {
    inflates_as_elsewhere(bytes);
    comes_back(bytes);
}

fn inflated(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    Source::from_bytes("trace.json.gz", bytes)
        .and_then(|mut source| source.read_all())
        .map_err(|error| error.to_string())
}

fn inflates_as_elsewhere(bytes: &[u8]) {
    let mut expected = Vec::new();
    let elsewhere = MultiGzDecoder::new(bytes).take(MOST_BYTES).read_to_end(&mut expected);
    let is_whole = elsewhere.is_ok() && (expected.len() as u64) < MOST_BYTES;
    if is_whole && !perfdb_files::lfs::is_pointer(&expected) && bytes.starts_with(&[0x1f, 0x8b]) {
        assert_eq!(inflated(bytes.to_vec()), Ok(expected));
    } else {
        // Whatever it is, reading it ends.
        let mut source = match Source::from_bytes("trace.json.gz", bytes) {
            Ok(source) => source.into_reader(),
            Err(_) => return,
        };
        let _ = std::io::copy(&mut source, &mut std::io::sink());
    }
}

fn member(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("a vector takes every byte")
}

/// Two members and zeros behind them are the bytes again; less than both is an error.
fn comes_back(bytes: &[u8]) {
    if perfdb_files::lfs::is_pointer(bytes) {
        return;
    }
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let mut file = member(first);
    file.extend(member(second));
    let whole = file.len();
    file.extend([0; 5]);
    assert_eq!(inflated(file.clone()).as_deref(), Ok(bytes));
    file.truncate(whole - 1);
    assert!(inflated(file.clone()).is_err(), "a stream that breaks off");
    file.push(0x55);
    file.push(0x55);
    assert!(inflated(file).is_err(), "something else behind a stream");
}
