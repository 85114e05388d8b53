//! Bytes that come one after the other.

use super::buffer::Buffer;
use super::gzip::Inflated;
use std::io::{self, Read};

/// A stream whose first bytes may have been looked at.
pub(crate) struct Stream {
    /// What was looked at and not read yet, and the fault behind it.
    first: Buffer,
    fault: Option<io::Error>,
    rest: Rest,
}

pub(super) enum Rest {
    /// Whole blocks of these can be had.
    Inflated(Inflated),
    Other(Box<dyn Read + Send>),
}

impl Read for Rest {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Rest::Inflated(inflated) => inflated.read(out),
            Rest::Other(reader) => reader.read(out),
        }
    }
}

impl From<Rest> for Stream {
    fn from(rest: Rest) -> Stream {
        Stream { first: Buffer::default(), fault: None, rest }
    }
}

impl Stream {
    /// Up to `count` first bytes. A fault in them is reported by whoever reads them, like one further on.
    pub(super) fn first(&mut self, count: usize) -> &[u8] {
        let missing = count.saturating_sub(self.first.bytes().len());
        if self.fault.is_none() {
            (_, self.fault) = self.first.read_from(&mut self.rest, missing);
        }
        self.first.bytes()
    }

    /// The fault behind the first bytes.
    pub(super) fn take_fault(&mut self) -> Option<io::Error> {
        self.fault.take()
    }

    /// Adds at least `count` bytes to a buffer, fewer only at the end or before a fault; returns how many, and the fault. They are more where
    /// it costs nothing.
    pub(super) fn read_into(&mut self, buffer: &mut Buffer, count: usize) -> (usize, Option<io::Error>) {
        let mut added = self.first.bytes().len();
        buffer.add(self.first.bytes());
        self.first.clear();
        if let Some(fault) = self.fault.take() {
            return (added, Some(fault));
        }
        let inflated = match &mut self.rest {
            Rest::Inflated(inflated) => inflated,
            Rest::Other(reader) => {
                let (more, fault) = buffer.read_from(reader, count.saturating_sub(added));
                return (added + more, fault);
            }
        };
        while added < count {
            match inflated.next_block() {
                Ok(Some(block)) => {
                    added += block.bytes().len();
                    inflated.take_back(buffer.append(block));
                }
                Ok(None) => break,
                Err(fault) => return (added, Some(fault)),
            }
        }
        (added, None)
    }
}

impl Read for Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.first.bytes().len().min(out.len());
        if count > 0 {
            out[..count].copy_from_slice(&self.first.bytes()[..count]);
            self.first.drop_front(count);
            return Ok(count);
        }
        self.fault.take().map_or_else(|| self.rest.read(out), Err)
    }
}
