//! A block of a trace: a range of bytes whose events one thread takes.

use super::chunk::{Chunk, ChunkEnd, Cuts, Work};
use super::event::{Event, Record};
use super::machine::Machine;
use super::options::ReadOptions;
use crate::scan::FaultKind;
use crate::source::{Buffer, LARGEST_VALUE_BYTES, Positioned, too_long};
use std::io;

/// Bytes in front of a block that are looked at to see whether an event ends there.
const BEFORE: u64 = 64;

/// Bytes behind a block that its last event may reach into, to begin with.
const BEHIND: usize = 1 << 14;

/// What a thread keeps from block to block.
pub(super) struct Scratch {
    record: Record,
    buffer: Buffer,
}

impl Scratch {
    pub(super) fn new(options: &ReadOptions) -> Scratch {
        Scratch { record: Record::new(options.args.len()), buffer: Buffer::default() }
    }
}

/// The events that start in a block.
pub(super) struct Block<C, E> {
    /// Position of the first one.
    pub(super) start: u64,
    pub(super) chunk: Chunk<C, E>,
    pub(super) end: BlockEnd,
}

/// How a block ends; positions are in the input.
pub(super) enum BlockEnd {
    /// In front of the next event.
    Limit(u64),
    /// Behind the `]` of the list.
    List(u64),
    /// The bytes are not JSON from here on, or end.
    Fault { kind: FaultKind, position: u64 },
}

/// Reads blocks.
pub(super) struct BlockReader<'r, M> {
    pub(super) input: &'r Positioned,
    pub(super) options: &'r ReadOptions,
    pub(super) work: Work<'r, M>,
    pub(super) cuts: Cuts,
}

impl<M> BlockReader<'_, M> {
    /// The events of a block, from the first place on where one seems to start, or from its start if one is known to start
    /// there; none if the place is missing.
    pub(super) fn guess<C, E>(
        &self,
        from: u64,
        to: u64,
        known: bool,
        scratch: &mut Scratch,
    ) -> io::Result<Option<Block<C, E>>>
    where
        C: Default,
        M: Fn(&mut C, &Event<'_>) -> Result<(), E>,
    {
        if known {
            return self.take(from, to, scratch).map(Some);
        }
        let base = from.saturating_sub(BEFORE);
        self.read(base, to, scratch)?;
        let start = self.cuts.find(scratch.buffer.bytes(), (from - base) as usize, (to - base) as usize);
        start.map(|start| self.events(base, start, to, scratch)).transpose()
    }

    /// The events of a block from an event on.
    pub(super) fn take<C, E>(&self, start: u64, to: u64, scratch: &mut Scratch) -> io::Result<Block<C, E>>
    where
        C: Default,
        M: Fn(&mut C, &Event<'_>) -> Result<(), E>,
    {
        self.read(start, to, scratch)?;
        self.events(start, 0, to, scratch)
    }

    fn read(&self, base: u64, to: u64, scratch: &mut Scratch) -> io::Result<()> {
        scratch.buffer.clear();
        scratch.buffer.read_at(self.input, base, (to - base) as usize + BEHIND)?;
        Ok(())
    }

    /// Takes the events that start before `to`; the bytes in the buffer begin at `base`.
    fn events<C, E>(&self, base: u64, start: usize, to: u64, scratch: &mut Scratch) -> io::Result<Block<C, E>>
    where
        C: Default,
        M: Fn(&mut C, &Event<'_>) -> Result<(), E>,
    {
        let Scratch { record, buffer } = scratch;
        let mut machine = Machine::at_event(self.options, start);
        let mut chunk = Chunk::new();
        let limit = (to - base) as usize;
        let position = |at: usize| base + at as u64;
        let end = loop {
            match self.work.run(buffer.bytes(), base, &mut machine, limit, record, &mut chunk) {
                ChunkEnd::Limit(at) => break BlockEnd::Limit(position(at)),
                ChunkEnd::List(at) => break BlockEnd::List(position(at)),
                ChunkEnd::Fault(fault) => {
                    // The last event may be long: twice as much each time.
                    let length = buffer.bytes().len();
                    let behind = length - limit.min(length);
                    if fault.kind == FaultKind::End && behind >= LARGEST_VALUE_BYTES {
                        return Err(too_long(position(machine.position())));
                    }
                    let more = behind.max(BEHIND).min(LARGEST_VALUE_BYTES.saturating_sub(behind));
                    if fault.kind != FaultKind::End || buffer.read_at(self.input, position(length), more)? == 0 {
                        break BlockEnd::Fault { kind: fault.kind, position: position(fault.at) };
                    }
                }
            }
        };
        Ok(Block { start: position(start), chunk, end })
    }
}
