//! Numbers in cells, and which of them are durations.

use crate::columns;
use crate::table::{Row, Table};
use perfdb_pycompat::number::parse_float;
use std::borrow::Cow;

/// The number in a cell; everything that is none counts as 0.
///
/// ```
/// use perfdb_store::duration::number;
/// assert_eq!([number(" 5. "), number("1e3"), number("N/A"), number("")], [5.0, 1000.0, 0.0, 0.0]);
/// ```
pub fn number(cell: &str) -> f64 {
    short_decimal(cell.as_bytes()).or_else(|| parse_float(cell)).unwrap_or(0.0)
}

const POWERS_OF_TEN: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Digits with or without a point, 15 at most: both the digits as an integer and the power of ten are exact doubles, so that one division
/// rounds correctly. This is what profilers write, and several times faster than the general reader.
#[inline]
pub(crate) fn short_decimal(cell: &[u8]) -> Option<f64> {
    let mut digits: u64 = 0;
    let mut point = None;
    if cell.is_empty() || cell.len() > 16 {
        return None;
    }
    for (at, &byte) in cell.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            digits = digits * 10 + u64::from(digit);
        } else if byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            return None;
        }
    }
    let count = cell.len() - usize::from(point.is_some());
    if count == 0 || count > 15 {
        return None;
    }
    let decimals = point.map_or(0, |point| cell.len() - 1 - point);
    Some(digits as f64 / POWERS_OF_TEN[decimals])
}

/// What [`short_decimal`] gives for `text[start..end]`. Up to eight characters are read at once, together with what stands before them.
#[inline]
pub(crate) fn short_decimal_in(text: &[u8], start: usize, end: usize) -> Option<f64> {
    match text.get(..end).and_then(<[u8]>::last_chunk) {
        Some(word) if (1..=8).contains(&(end - start)) => eight_characters(u64::from_le_bytes(*word), end - start),
        _ => short_decimal(text.get(start..end)?),
    }
}

const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = ONES << 7;

/// The number in the last `length` characters of a word, of which the first stands in the lowest byte.
#[inline(always)]
fn eight_characters(word: u64, length: usize) -> Option<f64> {
    let kept = u64::MAX << (8 * (8 - length));
    let word = (word & kept) | (ZEROS & !kept);
    // The highest bit of each byte that is a point; of the bits above the first one some may be wrong.
    let no_point = word ^ (ONES * u64::from(b'.'));
    let points = no_point.wrapping_sub(ONES) & !no_point & HIGH;
    let (digits, decimals) = match points {
        0 => (word, 0),
        _ if length == 1 => return None,
        _ => {
            // What stands in front of the point moves up by one byte.
            let point = points.trailing_zeros() & !7;
            let before = word & ((1 << point) - 1);
            let behind = word & (u64::MAX << point << 8);
            (behind | (before << 8) | u64::from(b'0'), 7 - point as usize / 8)
        }
    };
    let digits = digits ^ ZEROS;
    if (digits | digits.wrapping_add(0x76 * ONES)) & HIGH != 0 {
        return None;
    }
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    let all = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff;
    Some(all as f64 / POWERS_OF_TEN[decimals])
}

/// Half of the range that 80 % of calls lie in, in standard deviations. Averaging does not narrow it: calls are slow together.
pub const EIGHT_OF_TEN: f64 = 1.2816;

/// Microseconds as a cell of a table that traces made: to the picosecond.
pub fn text(us: f64) -> String {
    ((us * 1e6).round() / 1e6).to_string()
}

/// Whether a number can be a measured duration: finite and above zero.
pub fn is_valid(duration_us: f64) -> bool {
    duration_us.is_finite() && duration_us > 0.0
}

/// The columns that decide whether a row has a duration.
#[derive(Debug, Clone, Copy)]
pub struct DurationColumns {
    /// Position of `Average Duration(us)`.
    pub measured: Option<usize>,
    /// Position of `Profiling Average Duration(us)`.
    pub profiled: Option<usize>,
}

impl DurationColumns {
    /// Looks them up in a table.
    pub fn of(table: &Table) -> Self {
        DurationColumns::find(|name| table.column(name))
    }

    /// The columns, where `position` gives the position of a name.
    pub(crate) fn find(position: impl Fn(&str) -> Option<usize>) -> Self {
        DurationColumns {
            measured: position(columns::MEASURED_DURATION),
            profiled: position(columns::PROFILED_DURATION),
        }
    }

    /// Whether a row has a valid duration in the sense that selects rows: a measured or a profiled one above zero. Infinity counts, as it always
    /// has; no tool writes it.
    pub fn any_valid(&self, row: Row<'_>) -> bool {
        self.any_valid_of(|column| row.cell(column).into())
    }

    /// The same of the cells that `cell` gives.
    pub(crate) fn any_valid_of<'t>(&self, cell: impl Fn(usize) -> Cow<'t, str>) -> bool {
        [self.measured, self.profiled].into_iter().flatten().any(|column| number(&cell(column)) > 0.0)
    }
}

/// Whether a table has rows and all of them have a valid duration.
pub fn is_complete(table: &Table) -> bool {
    let columns = DurationColumns::of(table);
    table.row_count() > 0 && table.rows().all(|row| columns.any_valid(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::ReadOptions;
    use proptest::prelude::*;

    #[test]
    fn a_row_counts_by_either_column() -> Result<(), crate::Error> {
        let text = "Average Duration(us),Profiling Average Duration(us)\n,0\nnan,-1\n0.5,\n,inf\ntext,2\n";
        let table = Table::parse("Add.csv".as_ref(), text.into(), &ReadOptions::database())?;
        let columns = DurationColumns::of(&table);
        let valid: Vec<bool> = table.rows().map(|row| columns.any_valid(row)).collect();
        assert_eq!(valid, [false, false, true, true, true]);
        assert!(!is_complete(&table));
        Ok(())
    }

    #[test]
    fn a_table_without_rows_or_columns_is_not_complete() -> Result<(), crate::Error> {
        for text in ["Average Duration(us)\n", "a\n1\n"] {
            let table = Table::parse("Add.csv".as_ref(), text.into(), &ReadOptions::database())?;
            assert!(!is_complete(&table));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn the_short_reader_agrees_with_the_general_one(text in "[0-9]{0,9}\\.?[0-9]{0,9}") {
            if let Some(fast) = short_decimal(text.as_bytes()) {
                prop_assert_eq!(Some(fast.to_bits()), parse_float(&text).map(f64::to_bits));
            }
        }

        #[test]
        fn eight_characters_are_read_as_one_by_one(before in "[0-9.,x]{0,9}", cell in "[0-9]{0,9}[.x+]?[0-9.]{0,9}") {
            let text = format!("{before}{cell}");
            let found = short_decimal_in(text.as_bytes(), before.len(), text.len());
            prop_assert_eq!(found.map(f64::to_bits), short_decimal(cell.as_bytes()).map(f64::to_bits));
        }
    }
}
