//! Opening a file of any kind.

use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read, Seek};
use std::path::Path;

use perfdb_trace::source::{Counted, LARGEST_VALUE_BYTES, too_long};

use super::gunzip::{Gunzip, GzipEnd, GzipState, MAGIC};
use super::utf16::{ByteOrder, Recoded};
use crate::code::Code;
use crate::finding::{Evidence, Findings};

/// The mark in front of a file that names its encoding.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// What the first characters look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Text {
    /// Only whitespace.
    Empty,
    /// A pointer to a file in Git LFS, with the size in it.
    LfsPointer(Option<String>),
    Json,
    Other,
}

/// A file, inflated and as UTF-8 where that goes.
pub(crate) struct Opened {
    pub(crate) reader: Box<dyn Read + Send>,
    pub(crate) text: Text,
    pub(crate) oddities: Oddities,
}

/// What is odd about compression and encoding; complete once the text has been read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Oddities {
    gzip: Option<GzipState>,
    file_bytes: u64,
    utf16: Option<ByteOrder>,
    byte_order_mark: bool,
}

impl Oddities {
    /// Whether the bytes of the file are the text, inflated or not.
    pub(crate) fn is_plain(&self) -> bool {
        self.utf16.is_none() && !self.byte_order_mark
    }

    pub(crate) fn report(&self, found: &mut Findings) {
        let (end, inflated) = self.gzip.as_ref().map(GzipState::get).unwrap_or_default();
        match end {
            GzipEnd::Good => {}
            GzipEnd::Truncated => {
                let evidence = Evidence::new().with("inflated_bytes", inflated).with("file_bytes", self.file_bytes);
                found.error(Code::GzipTruncated, None, evidence);
            }
            GzipEnd::Corrupt(reason) => {
                let evidence = Evidence::new().with("reason", reason).with("inflated_bytes", inflated);
                found.error(Code::GzipCorrupt, None, evidence);
            }
            GzipEnd::Trailing(bytes) => found.warning(Code::GzipTrailing, None, Evidence::new().with("bytes", bytes)),
        }
        if let Some(order) = self.utf16 {
            found.error(Code::Utf16, None, Evidence::new().with("order", order.name()));
        }
        if self.byte_order_mark {
            found.warning(Code::ByteOrderMark, None, Evidence::new());
        }
    }
}

/// Opens a file. What can be read only once is kept in a temporary file by the caller.
pub(crate) fn open(path: &Path) -> io::Result<Opened> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    of_file(file)
}

fn of_file(mut file: File) -> io::Result<Opened> {
    let file_bytes = file.metadata()?.len();
    let mut first = [0; 2];
    let count = read_up_to(&mut file, &mut first)?;
    file.rewind()?;
    let input = BufReader::with_capacity(1 << 16, Counted::of_file(file)?);
    let (reader, gzip): (Box<dyn Read + Send>, _) = if count == 2 && first == MAGIC {
        let (reader, state) = Gunzip::new(input, file_bytes);
        (Box::new(reader), Some(state))
    } else {
        (Box::new(input), None)
    };
    let (first, mut reader) = peeked(reader, 4)?;
    let utf16 = match first[..] {
        [0xff, 0xfe, ..] => Some(ByteOrder::Little),
        [0xfe, 0xff, ..] => Some(ByteOrder::Big),
        [0, byte, ..] if byte != 0 => Some(ByteOrder::Big),
        [byte, 0, ..] if byte != 0 => Some(ByteOrder::Little),
        _ => None,
    };
    if let Some(order) = utf16 {
        reader = Box::new(Recoded::reader(reader, order));
    }
    let (first, mut reader) = peeked(reader, UTF8_MARK.len())?;
    let marked = first == UTF8_MARK;
    if marked {
        reader.read_exact(&mut [0; 3])?;
    }
    let (text, reader) = look_at(reader)?;
    let oddities = Oddities { gzip, file_bytes, utf16, byte_order_mark: marked && utf16.is_none() };
    Ok(Opened { reader, text, oddities })
}

/// What the first characters look like; nothing is lost.
fn look_at(reader: Box<dyn Read + Send>) -> io::Result<(Text, Box<dyn Read + Send>)> {
    let mut wanted = 512;
    let (mut first, mut reader) = peeked(reader, wanted)?;
    while first.iter().all(u8::is_ascii_whitespace) {
        if first.len() < wanted {
            return Ok((Text::Empty, reader));
        }
        if wanted >= LARGEST_VALUE_BYTES {
            return Err(too_long(0));
        }
        wanted = (wanted * 2).min(LARGEST_VALUE_BYTES);
        (first, reader) = peeked(reader, wanted)?;
    }
    let text = match first.trim_ascii_start().first() {
        _ if perfdb_files::lfs::is_pointer(&first) => Text::LfsPointer(lfs_size(&first)),
        Some(b'{' | b'[') => Text::Json,
        _ => Text::Other,
    };
    Ok((text, reader))
}

fn lfs_size(pointer: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(pointer);
    text.lines().find_map(|line| line.strip_prefix("size ")).map(|size| size.trim().to_owned())
}

/// The first bytes, and a reader that still gives them.
fn peeked(mut reader: Box<dyn Read + Send>, count: usize) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut first = Vec::with_capacity(count);
    (&mut reader).take(count as u64).read_to_end(&mut first)?;
    let again: Chain<Cursor<Vec<u8>>, _> = Cursor::new(first.clone()).chain(reader);
    Ok((first, Box::new(again)))
}

fn read_up_to(file: &mut File, out: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < out.len() {
        match file.read(&mut out[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}
