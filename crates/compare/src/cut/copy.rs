//! Copying the rows of passes.

use super::find::Cut;
use super::profile_rows::{BlockRows, ProfileRows, Scratch};
use crate::error::Error;
use perfdb_trace::source::Source;
use std::io::{Read, Write};

impl Cut {
    /// Writes the header and the rows of one pass, as they stand in the file and in its order.
    ///
    /// # Errors
    /// When the file can't be read again, or `out` not written.
    pub fn write(&self, pass: usize, out: &mut impl Write) -> Result<(), Error> {
        let mut outs = [(pass, out)];
        self.write_each(&mut outs)
    }

    /// [`Cut::write`] for several passes in one reading.
    ///
    /// # Errors
    /// As [`Cut::write`].
    pub fn write_each<W: Write>(&self, outs: &mut [(usize, W)]) -> Result<(), Error> {
        let mut out_of = vec![None; self.passes().len()];
        outs.iter().enumerate().for_each(|(at, (pass, _))| out_of[*pass] = Some(at));
        let ProfileRows { header, columns, .. } = ProfileRows::open(&self.path)?;
        let line_end: &[u8] = if header.ends_with(b"\n") || header.ends_with(b"\r") { b"" } else { b"\n" };
        for (_, out) in outs.iter_mut() {
            out.write_all(&header).and_then(|()| out.write_all(line_end)).map_err(|source| self.unwritten(&source))?;
        }
        let mut input = Source::open(&self.path)?.into_reader();
        let mut scratch = Scratch::default();
        let mut text = Vec::new();
        for (number, block) in self.blocks.0.iter().enumerate() {
            let begin = if number == 0 { header.len() } else { 0 };
            text.clear();
            let read = input.by_ref().take(block.bytes as u64).read_to_end(&mut text);
            let read = read.map_err(|source| perfdb_trace::Error::Io { path: self.path.clone(), source })?;
            if read != block.bytes {
                return Err(self.failed("the file was shortened while it was read".to_owned()));
            }
            match block.only_pass().map(|pass| out_of[pass]) {
                Some(None) => {}
                None if !block.may_hold(outs.iter().map(|(pass, _)| *pass)) => {}
                Some(Some(at)) => {
                    let (_, out) = &mut outs[at];
                    out.write_all(&text[begin..]).map_err(|source| self.unwritten(&source))?;
                }
                None => {
                    let rows = scratch.rows(std::mem::take(&mut text), begin, columns);
                    self.write_block(&rows, &out_of, outs)?;
                    text = rows.text;
                }
            }
        }
        Ok(())
    }

    /// Writes the rows of a block that belongs to several passes; those of one pass that stand behind each other at once.
    fn write_block<W: Write>(
        &self,
        block: &BlockRows,
        out_of: &[Option<usize>],
        outs: &mut [(usize, W)],
    ) -> Result<(), Error> {
        let mut write = |pass: usize, from: usize, to: usize| match out_of[pass] {
            Some(at) => outs[at].1.write_all(&block.text[from..to]).map_err(|source| self.unwritten(&source)),
            None => Ok(()),
        };
        let mut open: Option<(usize, usize, usize)> = None;
        for row in &block.rows {
            let (bytes, pass) = (row.bytes(), self.boundaries.pass_of(block, row));
            open = match open {
                Some((same, from, to)) if same == pass && to == bytes.start => Some((same, from, bytes.end)),
                other => {
                    if let Some((before, from, to)) = other {
                        write(before, from, to)?;
                    }
                    Some((pass, bytes.start, bytes.end))
                }
            };
        }
        open.map_or(Ok(()), |(pass, from, to)| write(pass, from, to))
    }

    fn unwritten(&self, source: &std::io::Error) -> Error {
        self.failed(format!("the rows of a pass can't be written: {source}"))
    }

    fn failed(&self, reason: String) -> Error {
        Error::Profile { path: self.path.clone(), reason }
    }
}
