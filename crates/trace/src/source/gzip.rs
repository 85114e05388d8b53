//! Inflating gzip members, on a thread of their own where there is one.

use super::bound::InflatesTooFar;
use super::buffer::Buffer;
use super::stream::{Rest, Stream};
use super::window::PIECE;
use flate2::bufread::GzDecoder;
use perfdb_files::parallel::spawn;
use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, SendError, Sender, SyncSender, channel, sync_channel};

/// The first two bytes of every gzip stream.
pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Blocks that may wait between the threads.
const WAITING: usize = 8;

/// Room in front of a block for the rest of the one before it: the end of an event.
const FRONT: usize = 64 * 1024;

/// The inflated bytes of a gzip stream. Without a thread to be had, whoever reads them inflates them.
pub(super) fn inflated(compressed: impl BufRead + Send + 'static) -> Stream {
    let members = Members::new(compressed);
    let (send, blocks) = sync_channel(WAITING);
    let (used, free) = channel();
    // The members go to the thread by a channel, so that they are not lost where there is no thread.
    let (hand_over, handed_over) = sync_channel(1);
    let inflate = move || {
        if let Ok(members) = handed_over.recv() {
            inflate(members, &free, &send);
        }
    };
    let rest = match spawn("inflate", inflate) {
        Ok(_) => match hand_over.send(members) {
            Ok(()) => Rest::Inflated(Inflated { blocks, block: Buffer::default(), used }),
            Err(SendError(members)) => Rest::Other(Box::new(members)),
        },
        Err(_) => Rest::Other(Box::new(members)),
    };
    rest.into()
}

/// What the thread inflates, in blocks.
pub(super) struct Inflated {
    blocks: Receiver<io::Result<Buffer>>,
    /// What is left of the block that is read.
    block: Buffer,
    /// Where memory goes that is used again.
    used: Sender<Buffer>,
}

impl Inflated {
    /// The next block, with room in front of it; nothing at the end.
    pub(super) fn next_block(&mut self) -> io::Result<Option<Buffer>> {
        if self.block.bytes().is_empty() {
            let Ok(block) = self.blocks.recv() else { return Ok(None) };
            return block.map(Some);
        }
        Ok(Some(std::mem::take(&mut self.block)))
    }

    /// Takes memory that is not needed any more.
    pub(super) fn take_back(&self, memory: Buffer) {
        // Nobody takes it once all is inflated.
        let _ = self.used.send(memory);
    }
}

impl Read for Inflated {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(mut block) = self.next_block()? else { return Ok(0) };
        let count = block.bytes().len().min(out.len());
        out[..count].copy_from_slice(&block.bytes()[..count]);
        block.drop_front(count);
        if block.bytes().is_empty() {
            self.take_back(block);
        } else {
            self.block = block;
        }
        Ok(count)
    }
}

fn inflate(mut members: Members<impl BufRead>, free: &Receiver<Buffer>, send: &SyncSender<io::Result<Buffer>>) {
    loop {
        let mut block = free.try_recv().unwrap_or_default();
        let (count, fault) = match block.clear_with_front(FRONT, PIECE) {
            Ok(()) => block.read_from(&mut members, PIECE),
            Err(fault) => (0, Some(fault)),
        };
        // What came before a fault belongs to the text that a message may point into.
        if count > 0 && send.send(Ok(block)).is_err() {
            // Nobody wants the rest.
            return;
        }
        if let Some(fault) = fault {
            let _ = send.send(Err(fault));
            return;
        }
        if count == 0 {
            return;
        }
    }
}

/// The members of a gzip stream one after the other. Zeros may follow the last one, nothing else.
struct Members<R> {
    member: Option<GzDecoder<Weighed<R>>>,
    inflated: u64,
}

impl<R: BufRead> Members<R> {
    fn new(compressed: R) -> Members<R> {
        Members { member: Some(GzDecoder::new(Weighed { compressed, bytes: 0 })), inflated: 0 }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(out).map_err(explain)?;
            if count > 0 || out.is_empty() {
                self.inflated += count as u64;
                InflatesTooFar::check(self.inflated, member.get_ref().bytes)?;
                return Ok(count);
            }
            self.member = match self.member.take() {
                Some(member) => next_member(member.into_inner())?.map(GzDecoder::new),
                None => None,
            };
        }
        Ok(0)
    }
}

/// Compressed bytes, and how many of them were read.
struct Weighed<R> {
    compressed: R,
    bytes: u64,
}

impl<R: BufRead> Read for Weighed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.compressed.read(out)?;
        self.bytes += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Weighed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.compressed.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.bytes += count as u64;
        self.compressed.consume(count);
    }
}

fn next_member<R: BufRead>(mut rest: R) -> io::Result<Option<R>> {
    let mut padded = false;
    loop {
        let waiting = rest.fill_buf()?;
        let zeros = waiting.iter().take_while(|&&byte| byte == 0).count();
        match waiting.get(zeros) {
            None if waiting.is_empty() => return Ok(None),
            None => {}
            Some(&byte) if byte == MAGIC[0] && !padded && zeros == 0 => return Ok(Some(rest)),
            Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "something follows the gzip stream")),
        }
        padded = true;
        rest.consume(zeros);
    }
}

fn explain(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::new(error.kind(), "the gzip stream breaks off"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            io::Error::new(io::ErrorKind::InvalidData, format!("broken gzip stream ({error})"))
        }
        _ => error,
    }
}
