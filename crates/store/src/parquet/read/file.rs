//! A file whose page headers are looked at before the reader makes room for what they claim.

use super::varint::varint;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{BufRead, BufReader};

/// Bytes that no page of any writer has: they are made for about one mebibyte.
const MOST_PAGE_BYTES: u64 = 256 << 20;
/// The field that follows the one before, a 32-bit integer, in Thrift's compact form.
const NEXT_INTEGER: u8 = 0x15;

/// A Parquet file.
#[derive(Debug)]
pub(super) struct CheckedFile(pub(super) File);

impl Length for CheckedFile {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for CheckedFile {
    type T = BufReader<File>;

    /// What a page's header is read from. The reader takes memory for as many bytes as the header says before it looks at the page.
    fn get_read(&self, start: u64) -> Result<BufReader<File>> {
        let mut reader = self.0.get_read(start)?;
        match claimed_bytes(reader.fill_buf()?) {
            Some(claimed) if claimed > MOST_PAGE_BYTES => {
                Err(ParquetError::General(format!("a damaged page: it claims {claimed} bytes, more than any page has")))
            }
            _ => Ok(reader),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// What a page header says of the page's size in bytes: its second field. `None` where no page header begins.
fn claimed_bytes(header: &[u8]) -> Option<u64> {
    let (_type, rest) = integer(header)?;
    let (claimed, _) = integer(rest)?;
    Some(claimed)
}

/// A field that is an integer, and what follows it. One below zero, or of more bits than the field has, counts as larger than any.
fn integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (zigzag, rest) = varint(bytes.strip_prefix(&[NEXT_INTEGER])?)?;
    let is_size = |zigzag: &u64| zigzag.is_multiple_of(2) && *zigzag <= u64::from(u32::MAX);
    Some((zigzag.filter(is_size).map_or(u64::MAX, |zigzag| zigzag / 2), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A header of a dictionary page (type 2) whose pages have 1 GiB, or 10 bytes, before they are compressed.
    const HUGE: [u8; 9] = [0x15, 0x04, 0x15, 0x80, 0x80, 0x80, 0x80, 0x08, 0x15];
    const SMALL: [u8; 5] = [0x15, 0x04, 0x15, 0x14, 0x15];

    #[test]
    fn headers_say_how_large_a_page_is() {
        assert_eq!(claimed_bytes(&HUGE), Some(1 << 30));
        assert_eq!(claimed_bytes(&SMALL), Some(10));
        assert_eq!(claimed_bytes(&HUGE[..5]), None, "it ends early");
        assert_eq!(claimed_bytes(b"PAR1"), None);
        let overlong = [&HUGE[..3], &[0x80; 20], &[0x01, 0x15]].concat();
        assert_eq!(claimed_bytes(&overlong), Some(u64::MAX));
        assert_eq!(claimed_bytes(&[0x15, 0x04, 0x15, 0x03]), Some(u64::MAX), "below zero");
        assert_eq!(claimed_bytes(&[0x15, 0x04, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x16]), Some(u64::MAX), "33 bits");
    }

    #[test]
    fn a_page_that_claims_a_gibibyte_is_refused_before_room_is_made_for_it() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&SMALL).and_then(|()| file.write_all(&HUGE)).unwrap();
        let file = CheckedFile(file);
        assert!(file.get_read(0).is_ok());
        let error = file.get_read(SMALL.len() as u64).unwrap_err().to_string();
        assert!(error.contains("it claims 1073741824 bytes"), "{error}");
    }
}
