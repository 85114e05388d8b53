//! Inflating gzip members, on a thread of their own where there is one.

use super::bound::InflatesTooFar;
use flate2::bufread::GzDecoder;
use perfdb_files::parallel::spawn;
use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, SendError, SyncSender, sync_channel};

/// The first two bytes of every gzip stream.
pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Size of the blocks that the threads pass on.
const BLOCK: usize = 256 * 1024;

/// Blocks that may wait between the threads.
const WAITING: usize = 8;

/// The inflated bytes of a gzip stream. Without a thread to be had, whoever reads them inflates them.
pub(super) fn inflated(compressed: impl BufRead + Send + 'static) -> Box<dyn Read + Send> {
    let members = Members::new(compressed);
    let (send, blocks) = sync_channel(WAITING);
    // The members go to the thread by a channel, so that they are not lost where there is no thread.
    let (hand_over, handed_over) = sync_channel(1);
    let inflate = move || {
        if let Ok(members) = handed_over.recv() {
            inflate(members, &send);
        }
    };
    match spawn("inflate", inflate) {
        Ok(_) => match hand_over.send(members) {
            Ok(()) => Box::new(Inflated { blocks, block: Vec::new(), at: 0 }),
            Err(SendError(members)) => Box::new(members),
        },
        Err(_) => Box::new(members),
    }
}

struct Inflated {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    at: usize,
}

impl Read for Inflated {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.block.len() {
            match self.blocks.recv() {
                Ok(block) => self.block = block?,
                Err(_) => self.block.clear(),
            }
            self.at = 0;
        }
        let waiting = &self.block[self.at..];
        let count = waiting.len().min(out.len());
        out[..count].copy_from_slice(&waiting[..count]);
        self.at += count;
        Ok(count)
    }
}

fn inflate(mut members: Members<impl BufRead>, send: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut block = Vec::with_capacity(BLOCK);
        let result = members.by_ref().take(BLOCK as u64).read_to_end(&mut block);
        let ended = block.is_empty();
        // What came before a fault belongs to the text that a message may point into.
        if !ended && send.send(Ok(block)).is_err() {
            // Nobody wants the rest.
            return;
        }
        if let Err(error) = result {
            let _ = send.send(Err(error));
            return;
        }
        if ended {
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
