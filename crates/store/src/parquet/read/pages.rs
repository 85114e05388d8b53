//! Pages of a column, checked for what decoders take for granted: a damaged file is an error, not a panic.

use super::runs::have_lengths;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;
use std::ops::Range;

/// Values that no page of any writer reaches.
const MOST_VALUES: u32 = 1 << 24;

pub(super) struct CheckedPages {
    pages: Box<dyn PageReader>,
    has_texts: bool,
    /// Bytes of a value; 0 where they differ.
    value_bytes: usize,
    is_optional: bool,
    /// Whether the column's dictionary has come.
    has_dictionary: bool,
}

impl CheckedPages {
    pub(super) fn of(pages: Box<dyn PageReader>, column: &ColumnDescriptor) -> CheckedPages {
        let has_texts = column.physical_type() == Type::BYTE_ARRAY;
        let value_bytes = match column.physical_type() {
            Type::INT32 | Type::FLOAT => 4,
            Type::INT64 | Type::DOUBLE => 8,
            _ => 0,
        };
        CheckedPages { pages, has_texts, value_bytes, is_optional: column.max_def_level() > 0, has_dictionary: false }
    }

    fn check(&mut self, page: &mut Page) -> Result<()> {
        let encoding = page.encoding();
        let needs_dictionary = matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
        if page.is_data_page() && needs_dictionary && !self.has_dictionary {
            return Err(damaged("it needs a dictionary, and the column has none"));
        }
        self.has_dictionary |= page.is_dictionary_page();
        if page.num_values() > MOST_VALUES {
            return Err(damaged("it claims more values than any page has"));
        }
        if let Page::DictionaryPage { buf, num_values, .. } = page {
            let is_whole = !self.has_texts || text_count(buf).is_some_and(|count| count >= *num_values as usize);
            return if is_whole { Ok(()) } else { Err(damaged("its dictionary ends early")) };
        }
        let Some(levels) = self.levels(page) else { return Ok(()) };
        let (count, bytes) = (page.num_values(), page.buffer());
        check_lengths(bytes.get(levels.clone()).unwrap_or_default(), 1, count.into())?;
        check_values(bytes.get(levels.end..).unwrap_or_default(), encoding, count.into(), self.value_bytes)?;
        match page {
            Page::DataPage { buf, .. } | Page::DataPageV2 { buf, .. }
                if self.has_texts && encoding == Encoding::PLAIN =>
            {
                check_texts(buf, levels.end, count)
            }
            _ => Ok(()),
        }
    }

    /// Where in a page of data the levels stand that say which values are missing; the values follow. `None` where that is not known.
    fn levels(&self, page: &Page) -> Option<Range<usize>> {
        match page {
            Page::DataPage { .. } if !self.is_optional => Some(0..0),
            Page::DataPage { buf, def_level_encoding: Encoding::RLE, .. } => {
                let length = u32::from_le_bytes(*buf.first_chunk()?) as usize;
                Some(4..length.saturating_add(4))
            }
            Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
                let start = *rep_levels_byte_len as usize;
                Some(start..start.saturating_add(*def_levels_byte_len as usize))
            }
            Page::DataPage { .. } | Page::DictionaryPage { .. } => None,
        }
    }
}

/// Checks the run lengths of a page's values, if they are kept as runs, and that there are as many as are read where they are split into streams.
fn check_values(values: &[u8], encoding: Encoding, count: u64, value_bytes: usize) -> Result<()> {
    let (bits, runs) = match (encoding, values.split_first()) {
        (Encoding::BYTE_STREAM_SPLIT, _) => {
            let held = values.len().checked_div(value_bytes).unwrap_or_default();
            return if held as u64 >= count {
                Ok(())
            } else {
                Err(damaged("it holds fewer values than rows, which is not read in the encoding BYTE_STREAM_SPLIT"))
            };
        }
        (Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY, Some((bits, runs))) => (*bits, runs),
        // Truths, with their length in front.
        (Encoding::RLE, _) => (1, values.get(4..).unwrap_or_default()),
        _ => return Ok(()),
    };
    check_lengths(runs, bits, count)
}

fn check_lengths(runs: &[u8], bits: u8, count: u64) -> Result<()> {
    if have_lengths(runs, bits, count) { Ok(()) } else { Err(damaged("the length of a run is no number")) }
}

/// Checks that texts fill a page behind its levels. The decoder reads as many as the levels ask for and not whether they are there, so each
/// that may be missing finds the length 0.
fn check_texts(page: &mut bytes::Bytes, levels: usize, num_values: u32) -> Result<()> {
    let Some(count) = page.get(levels..).and_then(text_count) else {
        return Err(damaged("its texts do not fill it"));
    };
    let missing = (num_values as usize).saturating_sub(count);
    if missing > 0 {
        let mut padded = page.to_vec();
        padded.resize(page.len() + 4 * missing, 0);
        *page = padded.into();
    }
    Ok(())
}

/// How many texts, each with its length in front, these bytes are; none if they end within one.
fn text_count(mut bytes: &[u8]) -> Option<usize> {
    let mut count = 0;
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        bytes = rest.get(u32::from_le_bytes(*length) as usize..)?;
        count += 1;
    }
    bytes.is_empty().then_some(count)
}

fn damaged(reason: &str) -> ParquetError {
    ParquetError::General(format!("a damaged page: {reason}"))
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let mut page = self.pages.get_next_page()?;
        page.as_mut().map_or(Ok(()), |page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_bytes_hold_a_value_for_each_row() {
        let check = |bytes: &[u8], count| check_values(bytes, Encoding::BYTE_STREAM_SPLIT, count, 8);
        assert!(check(&[0; 16], 2).is_ok());
        let error = check(&[0; 15], 2).unwrap_err().to_string();
        assert!(error.contains("fewer values than rows"), "{error}");
        assert!(check(&[], 0).is_ok());
    }

    #[test]
    fn places_in_a_dictionary_are_runs_behind_their_width() {
        let endless = [0x80; 12];
        assert!(check_values(&[1, 0x06, 0x01], Encoding::RLE_DICTIONARY, 3, 0).is_ok());
        assert!(check_values(&[&[1], endless.as_slice()].concat(), Encoding::RLE_DICTIONARY, 3, 0).is_err());
        assert!(check_values(&endless, Encoding::PLAIN, 3, 0).is_ok());
    }
}
