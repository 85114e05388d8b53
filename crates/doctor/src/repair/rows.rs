//! Copying a table without rows that stand there twice.

use std::io::{Read, Write};

use perfdb_trace::blocks::{BLOCK_BYTES, Blocks};
use perfdb_trace::records::Splitter;

use crate::error::Error;
use crate::table::RowKeys;

/// Copies the records of `from`; how many were left out.
pub(super) fn copy(
    from: &mut impl Read,
    to: &mut impl Write,
    failed: impl Fn(std::io::Error) -> Error,
) -> Result<u64, Error> {
    let mut blocks = Blocks::new(from, BLOCK_BYTES);
    let mut keys = RowKeys::default();
    let (mut buffer, mut cells, mut dropped) = (Vec::new(), Vec::new(), 0);
    while let Some(block) = blocks.next_block(buffer).map_err(&failed)? {
        let mut splitter = Splitter::new(&block.text);
        let mut done = 0;
        while let Some(record) = splitter.next_record(&mut cells) {
            if keys.is_repeated(&block.text, &cells) {
                to.write_all(&block.text[done..record.start]).map_err(Error::Write)?;
                done = record.end;
                dropped += 1;
            }
        }
        to.write_all(&block.text[done..]).map_err(Error::Write)?;
        buffer = block.text;
    }
    Ok(dropped)
}
