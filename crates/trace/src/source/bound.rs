//! How much of an input may have to be in memory at once.

use std::io::{self, Read};

/// The longest value of a JSON file, record of a table or run of spaces, 64 MiB. No cell that a table may have comes near it.
pub const LARGEST_VALUE_BYTES: usize = 64 << 20;

/// The largest inflated size of a file that is read as a whole, such as a result of an earlier run, 1 GiB.
pub const LARGEST_DOCUMENT_BYTES: u64 = 1 << 30;

/// The error for more than [`LARGEST_VALUE_BYTES`] from a position on.
pub fn too_long(position: u64) -> io::Error {
    let mebibytes = LARGEST_VALUE_BYTES >> 20;
    let reason = format!("a value, record or run of spaces is longer than {mebibytes} MiB (from byte {position} on)");
    io::Error::new(io::ErrorKind::FileTooLarge, reason)
}

/// Reads a document of up to `limit` bytes.
pub(super) fn read_document(reader: &mut dyn Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let reason = format!("is longer than {} MiB when inflated", limit >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_ends_at_its_limit() {
        assert_eq!(read_document(&mut io::repeat(0).take(9), 9).map(|bytes| bytes.len()).ok(), Some(9));
        let error = read_document(&mut io::repeat(0), 3 << 20).expect_err("it has no end");
        assert_eq!(error.to_string(), "is longer than 3 MiB when inflated");
    }
}
