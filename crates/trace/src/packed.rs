//! Times and ids of rows in few bytes each, exact: a trace has millions of rows, and the list of the few that do not fit is short.

use std::collections::TryReserveError;

use crate::id::Id;
use crate::names::NameId;
use crate::numbering::Numbering;
use crate::time::Picoseconds;

/// Numbers below this one stand for an entry of [`Times::far`].
const FAR: i64 = i64::MIN + (1 << 32);

/// Times by their distance from the first one, and durations, in eight bytes; those that do not fit are kept beside.
///
/// ```
/// use perfdb_trace::packed::Times;
/// let mut times = Times::default();
/// let far = 1_600_000_000_000_000_000_000;
/// let packed = [5, far, 4].map(|start| times.pack_start(start));
/// assert_eq!(packed.map(|start| times.start(start)), [5, far, 4]);
/// let packed = [7, far, -1].map(|duration| times.pack_duration(duration));
/// assert_eq!(packed.map(|duration| times.duration(duration)), [7, far, -1]);
/// ```
#[derive(Debug, Default)]
pub struct Times {
    first: Option<Picoseconds>,
    far: Vec<Picoseconds>,
}

impl Times {
    /// A start in eight bytes.
    #[inline]
    pub fn pack_start(&mut self, start: Picoseconds) -> i64 {
        let first = *self.first.get_or_insert(start);
        match start.checked_sub(first) {
            Some(short) => self.pack(short, start),
            None => self.pack_far(start),
        }
    }

    /// A duration in eight bytes.
    #[inline]
    pub fn pack_duration(&mut self, duration: Picoseconds) -> i64 {
        self.pack(duration, duration)
    }

    /// The start that was packed.
    #[inline(always)]
    pub fn start(&self, packed: i64) -> Picoseconds {
        if packed < FAR { self.far(packed) } else { self.first.unwrap_or_default() + Picoseconds::from(packed) }
    }

    /// The duration that was packed.
    #[inline(always)]
    pub fn duration(&self, packed: i64) -> Picoseconds {
        if packed < FAR { self.far(packed) } else { packed.into() }
    }

    #[inline]
    fn pack(&mut self, short: Picoseconds, whole: Picoseconds) -> i64 {
        match i64::try_from(short) {
            Ok(short) if short >= FAR => short,
            _ => self.pack_far(whole),
        }
    }

    #[cold]
    fn pack_far(&mut self, time: Picoseconds) -> i64 {
        self.far.push(time);
        i64::MIN + self.far.len() as i64 - 1
    }

    #[cold]
    fn far(&self, packed: i64) -> Picoseconds {
        self.far.get((packed - i64::MIN) as usize).copied().unwrap_or_default()
    }
}

/// No id.
const MISSING: u32 = u32::MAX;
/// Numbers from here on stand for an entry of [`Ids::others`].
const OTHERS: u32 = 1 << 31;

/// Ids in four bytes: small natural numbers stand for themselves, others are numbered.
///
/// ```
/// use perfdb_trace::{id::Id, packed::Ids};
/// let mut ids = Ids::default();
/// let all = [Id::of(7), Id::of(u32::MAX), Id::negative(0), Id::MISSING];
/// let packed = all.map(|id| ids.pack(id));
/// assert_eq!(packed.map(|id| ids.id(id)), all);
/// ```
#[derive(Debug, Default)]
pub struct Ids {
    others: Numbering<Id>,
}

impl Ids {
    /// An id in four bytes; equal ones are packed alike.
    #[inline]
    pub fn pack(&mut self, id: Id) -> u32 {
        match id.number().and_then(|number| u32::try_from(number).ok()) {
            Some(number) if number < OTHERS => number,
            _ if id.is_there() => OTHERS | self.others.number(id),
            _ => MISSING,
        }
    }

    /// The id that was packed.
    #[inline(always)]
    pub fn id(&self, packed: u32) -> Id {
        match packed {
            0..OTHERS => Id::of(packed),
            MISSING => Id::MISSING,
            other => self.others.keys().get((other - OTHERS) as usize).copied().unwrap_or(Id::MISSING),
        }
    }

    /// Replaces ids that are not small numbers, one for one.
    pub fn rename(&mut self, rename: impl FnMut(Id) -> Id) {
        self.others.rename(rename);
    }
}

/// Something on a thread of the host: a call, an operator, a Python frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Start.
    pub start: Picoseconds,
    /// How long it lasted.
    pub duration: Picoseconds,
    /// The id by which others name it.
    pub id: Id,
    /// Number of its name.
    pub name: NameId,
    /// Number of its thread.
    pub thread: u32,
}

impl Span {
    /// When it ended.
    pub fn end(&self) -> Picoseconds {
        self.start + self.duration
    }
}

#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(4))]
struct SpanRow {
    start: i64,
    duration: i64,
    id: u32,
    name: NameId,
    thread: u32,
}

/// Spans in 28 bytes each, by number.
///
/// ```
/// use perfdb_trace::{id::Id, packed::{Span, Spans}};
/// let span = Span { start: 5, duration: 7, id: Id::of(3), name: 0, thread: 1 };
/// let mut spans = Spans::default();
/// spans.push(span);
/// assert_eq!((spans.len(), spans.at(0), spans.iter().next()), (1, span, Some(span)));
/// ```
#[derive(Debug, Default)]
pub struct Spans {
    rows: Vec<SpanRow>,
    times: Times,
    ids: Ids,
}

impl Spans {
    /// Makes room for as many more.
    pub fn reserve_exact(&mut self, count: usize) {
        self.rows.reserve_exact(count);
    }

    /// Makes room for as many more, if there is memory for them.
    ///
    /// # Errors
    /// Where there is none.
    pub fn try_reserve(&mut self, count: usize) -> Result<(), TryReserveError> {
        self.rows.try_reserve(count)
    }

    /// Puts a span behind the others.
    #[inline]
    pub fn push(&mut self, span: Span) {
        self.rows.push(SpanRow {
            start: self.times.pack_start(span.start),
            duration: self.times.pack_duration(span.duration),
            id: self.ids.pack(span.id),
            name: span.name,
            thread: span.thread,
        });
    }

    /// Puts the spans of a piece that follows behind these, with other numbers of its names and threads.
    pub fn append(&mut self, piece: &Spans, name: impl Fn(NameId) -> NameId, thread: impl Fn(u32) -> u32) {
        let Some(later) = self.later(piece) else {
            let renamed = |span: Span| Span { name: name(span.name), thread: thread(span.thread), ..span };
            piece.iter().for_each(|span| self.push(renamed(span)));
            return;
        };
        self.rows.extend(piece.rows.iter().map(|row| SpanRow {
            start: row.start + later,
            name: name(row.name),
            thread: thread(row.thread),
            ..*row
        }));
    }

    /// How much later the times of a piece begin, where that is all in which its rows differ from these.
    fn later(&self, piece: &Spans) -> Option<i64> {
        let later = i64::try_from(piece.times.first?.checked_sub(self.times.first?)?).ok()?;
        let fits = |row: &SpanRow| row.start.checked_add(later).is_some_and(|start| start >= FAR);
        let are_plain = piece.times.far.is_empty() && piece.ids.others.keys().is_empty();
        (are_plain && piece.rows.iter().all(fits)).then_some(later)
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The span of a number that there is. Whoever asks takes what is needed of it.
    #[inline(always)]
    pub fn at(&self, at: usize) -> Span {
        self.span(&self.rows[at])
    }

    /// All of them, by number.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Span> + Clone + '_ {
        self.rows.iter().map(|row| self.span(row))
    }

    /// Replaces ids of a table, one for one.
    pub fn rename_ids(&mut self, rename: impl FnMut(Id) -> Id) {
        self.ids.rename(rename);
    }

    #[inline(always)]
    fn span(&self, row: &SpanRow) -> Span {
        Span {
            start: self.times.start(row.start),
            duration: self.times.duration(row.duration),
            id: self.ids.id(row.id),
            name: row.name,
            thread: row.thread,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::IdTable;
    use proptest::prelude::*;

    #[test]
    fn names_are_replaced_by_others() {
        let (mut ids, mut table) = (Ids::default(), IdTable::default());
        let (one, other) = (table.text("one"), table.text("other"));
        let packed = [one, Id::of(3)].map(|id| ids.pack(id));
        ids.rename(|id| if id == one { other } else { id });
        assert_eq!(packed.map(|id| ids.id(id)), [other, Id::of(3)]);
    }

    #[test]
    fn spans_come_back_as_they_were_and_with_other_numbers() {
        let span = |start, id, name| Span { start, duration: 2, id, name, thread: name };
        let wanted = [span(5, Id::of(7), 0), span(Picoseconds::MIN, Id::MISSING, 1), span(4, Id::negative(0), 2)];
        let mut piece = Spans::default();
        wanted.into_iter().for_each(|span| piece.push(span));
        assert!(piece.iter().eq(wanted));
        // Of the second piece, nothing but the times begins elsewhere.
        let mut plain = Spans::default();
        [span(900, Id::of(1), 3), span(800, Id::MISSING, 4)].into_iter().for_each(|span| plain.push(span));
        for piece in [piece, plain] {
            let mut spans = Spans::default();
            spans.push(wanted[0]);
            spans.append(&piece, |name| name + 10, |thread| thread + 20);
            let renamed = piece.iter().map(|span| Span { name: span.name + 10, thread: span.thread + 20, ..span });
            assert!(spans.iter().eq(std::iter::once(wanted[0]).chain(renamed)));
        }
    }

    proptest! {
        #[test]
        fn times_come_back(starts in proptest::collection::vec(any::<i128>().prop_map(|time| time >> 32), 1..20), near in any::<i64>()) {
            let mut times = Times::default();
            let near = starts.iter().flat_map(|start| [*start, start + i128::from(near)]);
            let starts: Vec<Picoseconds> = near.chain([Picoseconds::MIN, Picoseconds::MAX]).collect();
            let packed: Vec<(i64, i64)> = starts.iter().map(|time| (times.pack_start(*time), times.pack_duration(*time))).collect();
            for (packed, time) in packed.iter().zip(&starts) {
                prop_assert_eq!((times.start(packed.0), times.duration(packed.1)), (*time, *time));
            }
        }
    }
}
