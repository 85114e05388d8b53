//! Pages of a column, checked for what decoders take for granted: a damaged file is an error, not a panic.

use super::runs::have_lengths;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;

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
        self.check_runs(page)?;
        if !self.has_texts {
            return Ok(());
        }
        let is_optional = self.is_optional;
        match page {
            Page::DictionaryPage { buf, num_values, .. } => match text_count(buf) {
                Some(count) if count >= *num_values as usize => Ok(()),
                _ => Err(damaged("its dictionary ends early")),
            },
            Page::DataPage { buf, num_values, encoding: Encoding::PLAIN, def_level_encoding, .. } => {
                let levels = match (is_optional, &*def_level_encoding, buf.first_chunk::<4>()) {
                    (true, Encoding::RLE, Some(length)) => 4 + u32::from_le_bytes(*length) as usize,
                    (true, ..) => return Ok(()),
                    (false, ..) => 0,
                };
                check_texts(buf, levels, *num_values)
            }
            Page::DataPageV2 { buf, num_values, encoding: Encoding::PLAIN, def_levels_byte_len, .. } => {
                check_texts(buf, *def_levels_byte_len as usize, *num_values)
            }
            _ => Ok(()),
        }
    }

    /// Checks the run lengths of a page's levels and values.
    fn check_runs(&self, page: &Page) -> Result<()> {
        let (buf, count, encoding, levels) = match page {
            Page::DataPage { buf, num_values, encoding, def_level_encoding: Encoding::RLE, .. } if self.is_optional => {
                let length = buf.first_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length) as usize);
                (buf, *num_values, *encoding, 4..length.saturating_add(4))
            }
            Page::DataPage { buf, num_values, encoding, .. } if !self.is_optional => {
                (buf, *num_values, *encoding, 0..0)
            }
            Page::DataPageV2 { buf, num_values, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let start = *rep_levels_byte_len as usize;
                (buf, *num_values, *encoding, start..start.saturating_add(*def_levels_byte_len as usize))
            }
            _ => return Ok(()),
        };
        let count = u64::from(count);
        check_lengths(buf.get(levels.clone()).unwrap_or_default(), 1, count)?;
        check_values(buf.get(levels.end..).unwrap_or_default(), encoding, count, self.value_bytes)
    }
}

/// Checks the run lengths of a page's values, if they are kept as runs, and that there are as many as are read where they are split into streams.
fn check_values(values: &[u8], encoding: Encoding, count: u64, value_bytes: usize) -> Result<()> {
    let (bits, runs) = match (encoding, values.split_first()) {
        (Encoding::BYTE_STREAM_SPLIT, _) => {
            let held = values.len().checked_div(value_bytes).unwrap_or_default();
            return match held as u64 >= count {
                true => Ok(()),
                false => {
                    Err(damaged("it holds fewer values than rows, which is not read in the encoding BYTE_STREAM_SPLIT"))
                }
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
    match have_lengths(runs, bits, count) {
        true => Ok(()),
        false => Err(damaged("the length of a run is no number")),
    }
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
