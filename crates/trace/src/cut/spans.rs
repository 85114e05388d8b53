//! Spans of time.

use crate::time::Picoseconds;

/// Half-open spans of time, ascending and apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans(Vec<(Picoseconds, Picoseconds)>);

impl Spans {
    /// Spans in any order; those that touch become one.
    pub fn new(spans: impl IntoIterator<Item = (Picoseconds, Picoseconds)>) -> Spans {
        let mut all: Vec<_> = spans.into_iter().filter(|(start, end)| start < end).collect();
        all.sort_unstable();
        let mut joined: Vec<(Picoseconds, Picoseconds)> = Vec::with_capacity(all.len());
        for (start, end) in all {
            match joined.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((start, end)),
            }
        }
        Spans(joined)
    }

    /// The spans.
    pub fn as_slice(&self) -> &[(Picoseconds, Picoseconds)] {
        &self.0
    }

    /// The last span that begins at or before a time.
    fn before(&self, time: Picoseconds) -> Option<(Picoseconds, Picoseconds)> {
        let behind = self.0.partition_point(|(start, _)| *start <= time);
        behind.checked_sub(1).map(|at| self.0[at])
    }

    /// Whether a time is in one.
    pub fn holds(&self, time: Picoseconds) -> bool {
        self.before(time).is_some_and(|(_, end)| time < end)
    }

    /// Whether something that starts or runs then is in one, at least in part.
    pub fn reaches(&self, start: Picoseconds, end: Picoseconds) -> bool {
        let next = self.0.partition_point(|(from, _)| *from <= start);
        self.holds(start) || self.0.get(next).is_some_and(|(from, _)| *from < end)
    }

    /// Whether something that starts or runs then is outside of all, at least in part.
    pub fn leaves(&self, start: Picoseconds, end: Picoseconds) -> bool {
        self.before(start).is_none_or(|(_, to)| start >= to || end > to)
    }

    /// Whether one ends at a time.
    pub(crate) fn end_at(&self, time: Picoseconds) -> bool {
        let at = self.0.partition_point(|(_, end)| *end < time);
        self.0.get(at).is_some_and(|(_, end)| *end == time)
    }

    /// Whether one begins at a time.
    pub(crate) fn begin_at(&self, time: Picoseconds) -> bool {
        self.before(time).is_some_and(|(start, _)| start == time)
    }
}

#[cfg(test)]
mod tests {
    use super::Spans;

    #[test]
    fn spans_hold_their_start_and_not_their_end() {
        let spans = Spans::new([(30, 40), (10, 20), (40, 50), (7, 7)]);
        assert_eq!(spans.as_slice(), [(10, 20), (30, 50)]);
        assert_eq!(
            [9, 10, 19, 20, 30, 49, 50].map(|time| spans.holds(time)),
            [false, true, true, false, true, true, false]
        );
        for (start, end, reaches, leaves) in [
            (0, 10, false, true),
            (0, 11, true, true),
            (10, 10, true, false),
            (10, 20, true, false),
            (19, 25, true, true),
            (20, 30, false, true),
            (20, 31, true, true),
            (45, 60, true, true),
            (50, 60, false, true),
        ] {
            assert_eq!((spans.reaches(start, end), spans.leaves(start, end)), (reaches, leaves), "{start}..{end}");
        }
        assert_eq!(
            [10, 20, 30, 50].map(|time| (spans.begin_at(time), spans.end_at(time))),
            [(true, false), (false, true), (true, false), (false, true)]
        );
    }
}
