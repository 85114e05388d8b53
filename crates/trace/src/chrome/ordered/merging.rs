//! What becomes of the events of a trace, in file order.

use super::{Part, ReadError};
use crate::chrome::chunk::{Chunk, Problem};
use crate::error::{Error, Location};
use std::path::Path;

pub(super) struct Merging<G, E, M> {
    pub(super) merge: G,
    pub(super) events: u64,
    /// The first thing that was wrong with an event of this list.
    pub(super) deferred: Option<ReadError<E, M>>,
}

impl<G, E, M> Merging<G, E, M> {
    /// Merges a chunk. `locate` knows where a position stands, of the event of that number.
    pub(super) fn take<C>(
        &mut self,
        path: &Path,
        chunk: Chunk<C, E>,
        locate: impl FnOnce(u64, Option<u64>) -> Location,
    ) -> Result<(), ReadError<E, M>>
    where
        G: FnMut(Part<'_, C>) -> Result<(), M>,
    {
        if let (Some(Problem { position, index, reason }), None) = (chunk.problem, &self.deferred) {
            let path = path.to_owned();
            let location = locate(position, Some(self.events + index));
            self.deferred = Some(match reason {
                Some(reason) => ReadError::Event { path, reason, location },
                None => ReadError::Read(Error::Shape { path, location }),
            });
        }
        self.events += chunk.events;
        (self.merge)(Part::Chunk(chunk.state)).map_err(ReadError::Merge)
    }
}
