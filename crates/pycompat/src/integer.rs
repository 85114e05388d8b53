//! Integers of any size in texts, as Python's `int()` reads them.

use crate::text::trim;
use num_bigint::BigInt;

/// Reads surrounding whitespace, a sign, ASCII digits and single underscores between digits.
///
/// ```
/// use perfdb_pycompat::integer::parse;
/// assert_eq!(parse(" -1_000 "), Some((-1000).into()));
/// assert_eq!([parse("twelve"), parse("1.5"), parse("1__0"), parse("")], [None, None, None, None]);
/// ```
#[must_use]
pub fn parse(text: &str) -> Option<BigInt> {
    let text = trim(text);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let well_formed = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits.split('_').all(well_formed) {
        return None;
    }
    let magnitude: BigInt = digits.replace('_', "").parse().ok()?;
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}
