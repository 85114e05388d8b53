//! The events of a stream: the calling thread cuts it in front of events, and others look at the pieces.

use super::{CHUNK, Part, ReadError, Run};
use crate::chrome::chunk::{Chunk, ChunkEnd, Cuts, Work};
use crate::chrome::event::{Event, Record};
use crate::chrome::machine::Machine;
use crate::source::{Buffer, Gone, Window};
use perfdb_files::parallel::{OrderedMap, states};
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

/// Bytes without a place to cut, from which on none is looked for any more.
const MOST_UNCUT: usize = 8 * CHUNK;

/// Bytes from one event up to another, and the first one of that.
struct Piece {
    base: u64,
    bytes: Buffer,
}

impl Piece {
    /// What is in view up to the last place where an event seems to start, once enough is; nothing where none is found or the stream
    /// has no more.
    fn next(window: &mut Window<'_>, cuts: &Cuts, spares: &Spares) -> Option<Piece> {
        while window.take_in(CHUNK) {
            if let Some(end) = cuts.find_last(window.bytes()) {
                let (base, spare) = (window.base(), spares.borrow_mut().pop().unwrap_or_default());
                return Some(Piece { base, bytes: window.hand_over_memory(end, spare) });
            }
            if window.bytes().len() > MOST_UNCUT {
                break;
            }
        }
        None
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.bytes()
    }

    fn own(&self) -> &[u8] {
        &self.bytes()[..self.bytes().len() - 1]
    }
}

/// Memory of pieces that are done, for those that follow.
type Spares = RefCell<Vec<Buffer>>;

/// What came of a piece.
struct Taken<C, E> {
    piece: Piece,
    chunk: Chunk<C, E>,
    end: ChunkEnd,
    gone: Gone,
}

impl<F, G, E: Send, M> Run<'_, '_, F, G, E, M> {
    /// Whether the machine is in front of an event of a stream, of which about a chunk or more is in view.
    pub(super) fn is_stream_worth_threads(&self) -> bool {
        let left = self.window.bytes().len().saturating_sub(self.machine.position());
        self.may_share_stream && self.machine.before_event() && left >= CHUNK / 2
    }

    /// Takes events as long as pieces of the stream can be given to threads.
    ///
    /// Where a piece turns out to be cut elsewhere than in front of an event, or has a fault, it is put back, with all that was read
    /// behind it.
    pub(super) fn events_of_stream<C>(&mut self, threads: usize) -> Result<(), ReadError<E, M>>
    where
        C: Default + Send,
        F: Fn(&mut C, &Event<'_>) -> Result<(), E> + Sync,
        G: FnMut(Part<'_, C>) -> Result<(), M>,
    {
        let Run { window, machine, options, map, merging, may_share_stream, .. } = self;
        let (in_view, done) = (window.bytes(), machine.position());
        let cuts = Cuts::new(&in_view[done..]);
        let mut known = window.gone().with(&in_view[..done]);
        window.hand_over(done);
        let work = Work { rule: options.text_rule, map: *map };
        let path = window.path();
        let stopped = Cell::new(false);
        let spares = Spares::default();
        let mut list_ended = false;
        let mut left = Vec::new();
        let mut records = states(threads, || Record::new(options.args.len()));
        OrderedMap::new(&mut records).run(
            || Ok::<_, ReadError<E, M>>(if stopped.get() { None } else { Piece::next(window, &cuts, &spares) }),
            |record, piece: Piece| {
                let mut chunk = Chunk::new();
                let mut machine = Machine::at_event(options, 0);
                let limit = piece.own().len();
                let end = work.run(piece.bytes(), piece.base, &mut machine, limit, record, &mut chunk);
                let gone = Gone::default().with(piece.own());
                Taken { piece, chunk, end, gone }
            },
            |Taken { piece, chunk, end, gone }| {
                let own = piece.own();
                if stopped.get() {
                    left.extend_from_slice(own);
                    return Ok(ControlFlow::Continue(()));
                }
                let end = match end {
                    ChunkEnd::Limit(at) if at == own.len() => at,
                    ChunkEnd::List(at) if at <= own.len() => {
                        list_ended = true;
                        at
                    }
                    _ => 0,
                };
                stopped.set(list_ended || end == 0);
                if end > 0 {
                    merging.take(path, chunk, |position, event| {
                        known.with(&own[..(position - piece.base) as usize]).location(position, event)
                    })?;
                }
                if stopped.get() {
                    known = known.with(&own[..end]);
                    left.extend_from_slice(&own[end..]);
                } else {
                    known = known.and(gone);
                }
                spares.borrow_mut().push(piece.bytes);
                Ok(ControlFlow::Continue(()))
            },
        )?;
        // Whatever else ended the pieces is no better the next time.
        *may_share_stream = list_ended;
        window.put_back(&left, known);
        machine.resume(0, list_ended);
        Ok(())
    }
}
