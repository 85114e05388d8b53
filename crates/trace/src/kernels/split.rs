//! Splitting text into records and cells.

use super::options::LineEndsInCells;
use std::borrow::Cow;

/// A cell as it stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    start: usize,
    end: usize,
    /// Whether it begins with a quote; the quote is part of the range then.
    quoted: bool,
}

impl Cell {
    /// Bytes as written.
    pub(super) fn len(self) -> usize {
        self.end - self.start
    }

    /// The content.
    pub(super) fn decode(self, text: &str, line_ends: LineEndsInCells) -> Cow<'_, str> {
        let raw = text.get(self.start..self.end).unwrap_or_default();
        let Some(inside) = raw.strip_prefix('"').filter(|_| self.quoted) else { return Cow::Borrowed(raw) };
        if let Some(plain) = inside.strip_suffix('"')
            && memchr::memchr2(b'"', b'\r', plain.as_bytes()).is_none()
        {
            return Cow::Borrowed(plain);
        }
        Cow::Owned(unquote(inside, line_ends))
    }
}

/// The content of a cell whose opening quote is gone.
fn unquote(mut rest: &str, line_ends: LineEndsInCells) -> String {
    let mut content = String::with_capacity(rest.len());
    loop {
        let Some(quote) = memchr::memchr(b'"', rest.as_bytes()) else {
            content.push_str(rest);
            break;
        };
        content.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix('"') {
            Some(behind) => {
                content.push('"');
                rest = behind;
            }
            None => {
                content.push_str(rest);
                break;
            }
        }
    }
    match line_ends {
        LineEndsInCells::LineFeed if content.contains('\r') => content.replace("\r\n", "\n").replace('\r', "\n"),
        _ => content,
    }
}

/// What [`split`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    /// A record that ends in front of `next`, over so many line ends.
    Record { next: usize, lines: u64 },
    /// A record whose last cell's quote, opened so many lines below the record's first, is open when the text ends.
    OpenQuote { lines_to_quote: u64 },
    /// The text ends in front of a record.
    End,
    /// More text is needed to tell.
    Cut,
}

const LANES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Takes the record that starts at `start`; `ended` when no more text can follow.
pub(super) fn split(text: &str, start: usize, ended: bool, cells: &mut Vec<Cell>) -> Split {
    let bytes = text.as_bytes();
    cells.clear();
    let mut at = start;
    let mut lines = 0;
    if at == bytes.len() {
        return if ended { Split::End } else { Split::Cut };
    }
    loop {
        let cell = at;
        let quoted = bytes.get(at) == Some(&b'"');
        if quoted {
            let lines_to_quote = lines;
            match quoted_end(bytes, at + 1, ended) {
                Some(Some(end)) => {
                    lines += line_ends(&bytes[at..end]);
                    at = end;
                }
                Some(None) => {
                    cells.push(Cell { start: cell, end: bytes.len(), quoted });
                    return Split::OpenQuote { lines_to_quote };
                }
                None => return Split::Cut,
            }
        }
        at = plain_end(bytes, at);
        match bytes.get(at) {
            Some(b',') => {
                cells.push(Cell { start: cell, end: at, quoted });
                at += 1;
                continue;
            }
            None if !ended => return Split::Cut,
            _ => {}
        }
        // An empty line is a record without cells.
        if at > start {
            cells.push(Cell { start: cell, end: at, quoted });
        }
        let next = match bytes.get(at) {
            None => return Split::Record { next: at, lines },
            Some(b'\r') => match bytes.get(at + 1) {
                Some(b'\n') => at + 2,
                None if !ended => return Split::Cut,
                _ => at + 1,
            },
            Some(_) => at + 1,
        };
        return Split::Record { next, lines: lines + 1 };
    }
}

/// The position behind the closing quote; `Some(None)` where there is none before the text ends, `None` where that is not
/// known yet.
fn quoted_end(bytes: &[u8], mut at: usize, ended: bool) -> Option<Option<usize>> {
    loop {
        match bytes.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
            None if ended => return Some(None),
            None => return None,
            Some(offset) => at += offset + 1,
        }
        match bytes.get(at) {
            Some(b'"') => at += 1,
            None if !ended => return None,
            _ => return Some(Some(at)),
        }
    }
}

/// The position of the first comma or line end, or the end.
#[inline(always)]
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let comma = word ^ (LANES * u64::from(b','));
        let feed = word ^ (LANES * u64::from(b'\n'));
        let carriage = word ^ (LANES * u64::from(b'\r'));
        let hits = (comma.wrapping_sub(LANES) & !comma)
            | (feed.wrapping_sub(LANES) & !feed)
            | (carriage.wrapping_sub(LANES) & !carriage);
        let hits = hits & HIGH;
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if matches!(byte, b',' | b'\n' | b'\r') {
            break;
        }
        at += 1;
    }
    at
}

/// Line ends in `bytes`: LF, CRLF and lone CR count once each.
pub(super) fn line_ends(bytes: &[u8]) -> u64 {
    let mut count = 0;
    for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        if bytes[at] == b'\r' || at == 0 || bytes[at - 1] != b'\r' {
            count += 1;
        }
    }
    count
}
