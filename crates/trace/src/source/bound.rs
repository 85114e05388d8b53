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
