//! The time in which anything happened, up to pauses that do not matter.

use std::cmp::Reverse;

use crate::time::{MICROSECOND, Picoseconds};

/// Shorter pauses are ignored: one second.
pub const PAUSE: Picoseconds = 1_000_000 * MICROSECOND;

/// Stretches of time with pauses of at least [`PAUSE`] between them, in order.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    stretches: Vec<(Picoseconds, Picoseconds)>,
    last: usize,
}

impl Coverage {
    /// Adds the time from `start` to `end`.
    #[inline]
    pub fn add(&mut self, start: Picoseconds, end: Picoseconds) {
        let is_last = self.last + 1 == self.stretches.len();
        if let Some((from, to)) = self.stretches.get_mut(self.last)
            && *from <= start
        {
            if end <= *to {
                return;
            }
            if is_last && start < *to + PAUSE {
                *to = end;
                return;
            }
        }
        self.insert(start, end.max(start));
    }

    fn insert(&mut self, mut start: Picoseconds, mut end: Picoseconds) {
        // Those that end too long before, and those that begin too long behind, stay as they are.
        let first = self.stretches.partition_point(|(_, to)| to + PAUSE <= start);
        let behind = self.stretches.partition_point(|(from, _)| *from < end + PAUSE);
        if let Some(touched) = self.stretches.get(first..behind)
            && let (Some((from, _)), Some((_, to))) = (touched.first(), touched.last())
        {
            start = start.min(*from);
            end = end.max(*to);
        }
        self.stretches.splice(first..behind.max(first), [(start, end)]);
        self.last = first;
    }

    /// Adds all of another one.
    pub fn join(&mut self, other: &Coverage) {
        for (start, end) in &other.stretches {
            self.add(*start, *end);
        }
    }

    /// The longest pause, the first of equal ones.
    pub fn longest_pause(&self) -> Option<Pause> {
        let pauses = self.stretches.windows(2).map(|pair| (pair[0].1, pair[1].0));
        let (start, end) = pauses.max_by_key(|(start, end)| (end - start, Reverse(*start)))?;
        let whole = self.stretches.last()?.1 - self.stretches.first()?.0;
        Some(Pause { start, end, rest: whole - (end - start) })
    }
}

/// Time in which nothing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Where it begins.
    pub start: Picoseconds,
    /// Where it ends.
    pub end: Picoseconds,
    /// The time from first to last without it.
    pub rest: Picoseconds,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_pauses_are_kept() {
        let mut coverage = Coverage::default();
        coverage.add(0, 10);
        coverage.add(5 * PAUSE, 5 * PAUSE + 7);
        coverage.add(PAUSE - 1, PAUSE);
        let pause = |start: Picoseconds, end: Picoseconds, rest: Picoseconds| Some(Pause { start, end, rest });
        assert_eq!(coverage.longest_pause(), pause(PAUSE, 5 * PAUSE, PAUSE + 7));
        coverage.add(2 * PAUSE, 4 * PAUSE + 1);
        assert_eq!(coverage.longest_pause(), pause(PAUSE, 2 * PAUSE, 4 * PAUSE + 7));
    }

    proptest! {
        #[test]
        fn order_does_not_matter(mut stretches in proptest::collection::vec((0i128..60, 0i128..20), 1..30)) {
            let of = |stretches: &[(i128, i128)]| {
                let mut coverage = Coverage::default();
                for (start, length) in stretches {
                    coverage.add(start * PAUSE / 4, (start + length) * PAUSE / 4);
                }
                coverage.stretches
            };
            let forward = of(&stretches);
            stretches.reverse();
            prop_assert_eq!(&forward, &of(&stretches));
            prop_assert!(forward.windows(2).all(|pair| pair[0].1 + PAUSE <= pair[1].0));
        }
    }
}
