//! How much of an input may have to be in memory at once.

use std::io;

pub use perfdb_files::input::{LARGEST_DOCUMENT_BYTES, LARGEST_TEXT_BYTES};

/// The longest value of a JSON file, record of a table or run of spaces, 64 MiB. No cell that a table may have comes near it.
pub const LARGEST_VALUE_BYTES: usize = 64 << 20;

/// The error for more than [`LARGEST_VALUE_BYTES`] from a position on.
pub fn too_long(position: u64) -> io::Error {
    let mebibytes = LARGEST_VALUE_BYTES >> 20;
    let reason = format!("a value, record or run of spaces is longer than {mebibytes} MiB (from byte {position} on)");
    io::Error::new(io::ErrorKind::FileTooLarge, reason)
}

/// What a gzip stream may inflate to: [`INFLATED_BYTES`], or [`MOST_INFLATED`] times what was read of it. Traces shrink to a tenth or a
/// thirtieth, bombs to a thousandth.
const INFLATED_BYTES: u64 = 1 << 30;
const MOST_INFLATED: u64 = 200;

/// A gzip stream that inflates to more than any trace would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("inflates to more than {} MiB, {MOST_INFLATED} times its size; inflate it first", .limit >> 20)]
pub struct InflatesTooFar {
    limit: u64,
}

impl InflatesTooFar {
    /// Refuses a number of bytes that were inflated from another number of them.
    ///
    /// # Errors
    /// When they are more than the bound.
    pub fn check(inflated: u64, from: u64) -> io::Result<()> {
        let limit = from.saturating_mul(MOST_INFLATED).max(INFLATED_BYTES);
        if inflated > limit {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, InflatesTooFar { limit }));
        }
        Ok(())
    }

    /// Whether this is why something cannot be read.
    pub fn is_why(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<InflatesTooFar>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_inflates_beyond_any_trace_is_refused() {
        for (inflated, from) in [(1 << 30, 1), (3 << 30, 16 << 20), (0, 0)] {
            assert!(InflatesTooFar::check(inflated, from).is_ok(), "{inflated} {from}");
        }
        let error = InflatesTooFar::check((1 << 30) + 1, 1 << 20).expect_err("a bomb");
        assert_eq!(error.to_string(), "inflates to more than 1024 MiB, 200 times its size; inflate it first");
        assert!(InflatesTooFar::is_why(&error) && !InflatesTooFar::is_why(&too_long(0)));
    }
}
