//! A sequence cut at one symbol.

use crate::sequence::fingerprint::Fingerprint;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// What stands from one occurrence of the anchor to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Position of its first kernel, the anchor.
    pub first: usize,
    /// Number of its kind, counted in order of first appearance: segments with equal multisets are of one kind.
    pub kind: usize,
}

/// The segments of a sequence, in order. Kernels before the first anchor are in none; the last one goes on to the end.
///
/// ```
/// use perfdb_trace::sequence::Segments;
///
/// let segments = Segments::cut([9, 0, 1, 2, 0, 2, 1, 0, 5], |&symbol| symbol == 0, |&symbol| symbol);
/// assert_eq!(segments.iter().map(|segment| segment.kind).collect::<Vec<_>>(), [0, 0, 1]);
/// assert_eq!(segments.range(2), 7..9);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Segments {
    list: Vec<(u32, u32)>,
    kinds: Vec<Fingerprint>,
    end: usize,
}

impl Segments {
    /// Cuts where `is_anchor` says so; `kind` gives the symbol of an item that counts for its segment's multiset.
    pub fn cut<T>(
        items: impl IntoIterator<Item = T>,
        is_anchor: impl Fn(&T) -> bool,
        kind: impl Fn(&T) -> u32,
    ) -> Segments
    where
        T: Copy,
    {
        let mut segments = Segments::default();
        let mut numbers: FxHashMap<Fingerprint, u32> = FxHashMap::default();
        let mut open: Option<(u32, Fingerprint)> = None;
        let mut close = |segments: &mut Segments, (first, fingerprint): (u32, Fingerprint)| {
            let number = *numbers.entry(fingerprint).or_insert_with(|| {
                segments.kinds.push(fingerprint);
                segments.kinds.len() as u32 - 1
            });
            segments.list.push((first, number));
        };
        for item in items {
            if is_anchor(&item)
                && let Some(done) = open.replace((segments.end as u32, Fingerprint::default()))
            {
                close(&mut segments, done);
            }
            if let Some((_, fingerprint)) = &mut open {
                fingerprint.add(kind(&item));
            }
            segments.end += 1;
        }
        if let Some(last) = open {
            close(&mut segments, last);
        }
        segments
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether the anchor never occurs.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Segment> + '_ {
        self.list.iter().map(|&(first, kind)| Segment { first: first as usize, kind: kind as usize })
    }

    /// The positions of the kernels of one.
    pub fn range(&self, at: usize) -> Range<usize> {
        self.list[at].0 as usize..self.list.get(at + 1).map_or(self.end, |next| next.0 as usize)
    }

    /// The kind of one.
    pub fn kind(&self, at: usize) -> usize {
        self.list[at].1 as usize
    }

    /// Number of kinds.
    pub fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// Number of kernels of a segment of this kind.
    pub fn kernels(&self, kind: usize) -> usize {
        self.kinds[kind].kernels()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_anchor_there_is_nothing() {
        let segments = Segments::cut([1, 2, 3], |_| false, |&symbol| symbol);
        assert!(segments.is_empty() && segments.kinds() == 0);
    }

    #[test]
    fn kinds_are_numbered_as_they_appear() {
        let segments = Segments::cut([0, 1, 0, 2, 2, 0, 1], |&symbol| symbol == 0, |&symbol| symbol);
        let all: Vec<_> = segments.iter().map(|segment| (segment.first, segment.kind)).collect();
        assert_eq!(all, [(0, 0), (2, 1), (5, 0)]);
        assert_eq!((segments.kernels(1), segments.range(1), segments.kind(2)), (3, 2..5, 0));
    }
}
