//! Shapes of many rows in one piece of memory.

use crate::table::columns::is_empty_cell;
use perfdb_pycompat::text::trim;
use perfdb_store::slots::{integer, unquoted};
use smallvec::SmallVec;
use std::fmt;
use std::ops::Deref;
use std::slice;

/// Lists of shapes, one behind the other: the number of shapes, then the rank and the dimensions of each, as numbers of seven bits to the byte.
/// A list takes about half the room of its text.
#[derive(Debug, Clone)]
pub(crate) struct ShapePool {
    bytes: Vec<u8>,
}

/// Where a list begins in its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListAt(u32);

impl ShapePool {
    /// The list without shapes.
    pub(crate) const EMPTY: ListAt = ListAt(0);
    /// Stands for a list that could not be read.
    pub(crate) const UNREADABLE: ListAt = ListAt(u32::MAX);
    /// More digits might not fit.
    const PLAIN_DIGITS: usize = 18;
    /// Counts and ranks below this have one byte.
    const ONE_BYTE: u8 = 0x80;

    pub(crate) fn new() -> Self {
        ShapePool { bytes: vec![0] }
    }

    #[inline]
    pub(crate) fn list(&self, at: ListAt) -> Shapes<'_> {
        let mut rest = self.bytes.get(at.0 as usize..).unwrap_or_default().iter();
        let count = take(&mut rest) as usize;
        Shapes { count, rest: rest.as_slice() }
    }

    /// Adds a list.
    pub(crate) fn push(&mut self, shapes: &[Vec<i64>]) -> ListAt {
        let at = self.bytes.len();
        self.put(shapes.len() as u64);
        for shape in shapes {
            self.put(shape.len() as u64);
            shape.iter().for_each(|dimension| self.put(*dimension as u64));
        }
        ListAt(at as u32)
    }

    /// Adds the shapes of a cell, given without quotes at both ends; `None` if it is none of plain digits, which [`Self::push_cell`] may read.
    #[inline]
    pub(crate) fn push_plain(&mut self, cell: &[u8]) -> Option<ListAt> {
        let at = self.bytes.len();
        if !cell.is_empty() && at < u32::MAX as usize && self.plain(cell) {
            return Some(ListAt(at as u32));
        }
        self.bytes.truncate(at);
        None
    }

    /// Adds the shapes of a cell; `None` if the cell is empty or one of them cannot be read.
    pub(crate) fn push_cell(&mut self, cell: &str) -> Option<ListAt> {
        let is_full = self.bytes.len() >= u32::MAX as usize;
        if is_full || is_empty_cell(cell) {
            return None;
        }
        let shape = |slot: &str| match slot {
            "()" => Some(Vec::new()),
            slot => slot.split(',').map(|dimension| integer(trim(dimension))).collect(),
        };
        let shapes: Vec<Vec<i64>> = slots(cell).map(shape).collect::<Option<_>>()?;
        Some(self.push(&shapes))
    }

    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    #[inline]
    fn put(&mut self, mut number: u64) {
        if number >= u64::from(Self::ONE_BYTE) && number < 1 << 14 {
            return self.bytes.extend([number as u8 | Self::ONE_BYTE, (number >> 7) as u8]);
        }
        while number >= u64::from(Self::ONE_BYTE) {
            self.bytes.push(number as u8 | Self::ONE_BYTE);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Digits, `,` and `;` only, which is what nearly all cells hold. Whether it was that.
    fn plain(&mut self, cell: &[u8]) -> bool {
        let list = self.bytes.len();
        self.bytes.push(0);
        let (mut rest, mut count) = (cell, 0u8);
        while !rest.is_empty() {
            // An empty slot.
            if let [b';', behind @ ..] = rest {
                rest = behind;
                continue;
            }
            let rank_at = self.bytes.len();
            self.bytes.push(0);
            let mut rank = 0u8;
            loop {
                let (mut value, mut digits) = (0u64, 0);
                while let [byte @ b'0'..=b'9', behind @ ..] = rest {
                    value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                    digits += 1;
                    rest = behind;
                }
                if digits == 0 || digits > Self::PLAIN_DIGITS || rank + 1 == Self::ONE_BYTE {
                    return false;
                }
                self.put(value);
                rank += 1;
                match rest {
                    [b',', behind @ ..] => rest = behind,
                    [b';', behind @ ..] => {
                        rest = behind;
                        break;
                    }
                    [] => break,
                    _ => return false,
                }
            }
            self.bytes[rank_at] = rank;
            count += 1;
            if count == Self::ONE_BYTE {
                return false;
            }
        }
        self.bytes[list] = count;
        true
    }
}

/// The next number; 0 at the end.
#[inline(always)]
fn take(bytes: &mut slice::Iter<'_, u8>) -> u64 {
    let Some(&low) = bytes.next() else { return 0 };
    let mut number = u64::from(low & !ShapePool::ONE_BYTE);
    let (mut byte, mut shift) = (low, 7);
    while byte >= ShapePool::ONE_BYTE {
        let Some(&next) = bytes.next() else { break };
        number |= u64::from(next & !ShapePool::ONE_BYTE) << shift;
        (byte, shift) = (next, shift + 7);
    }
    number
}

/// The slots of a cell in which something stands.
pub(crate) fn slots(cell: &str) -> impl Iterator<Item = &str> {
    unquoted(cell).split(';').map(trim).filter(|slot| !slot.is_empty())
}

/// The dimensions of one tensor, outermost first.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Dimensions(SmallVec<[i64; Dimensions::INLINE]>);

impl Dimensions {
    /// More are allocated.
    const INLINE: usize = 6;
}

impl Deref for Dimensions {
    type Target = [i64];

    #[inline]
    fn deref(&self) -> &[i64] {
        &self.0
    }
}

impl PartialEq<[i64]> for Dimensions {
    fn eq(&self, other: &[i64]) -> bool {
        **self == *other
    }
}

impl PartialEq<&[i64]> for Dimensions {
    fn eq(&self, other: &&[i64]) -> bool {
        **self == **other
    }
}

/// As a list.
impl fmt::Debug for Dimensions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

/// Shapes of the arguments or the results of one row, in order.
#[derive(Clone, Copy)]
pub struct Shapes<'t> {
    count: usize,
    rest: &'t [u8],
}

impl<'t> Shapes<'t> {
    /// How many there are.
    #[inline]
    pub fn len(self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// One of them.
    #[inline]
    pub fn get(self, at: usize) -> Option<Dimensions> {
        self.iter().nth(at)
    }

    /// Goes through the dimensions of the first `count` without copying them; `begin` is called in front of each shape.
    #[inline]
    pub(crate) fn walk<T>(self, count: usize, state: &mut T, begin: impl Fn(&mut T), dimension: impl Fn(&mut T, i64)) {
        let mut rest = self.rest.iter();
        for _ in 0..count.min(self.count) {
            begin(state);
            for _ in 0..take(&mut rest) {
                dimension(state, take(&mut rest) as i64);
            }
        }
    }

    /// All of them.
    #[inline]
    pub fn iter(self) -> ShapesIter<'t> {
        ShapesIter { left: self }
    }
}

impl<'t> IntoIterator for Shapes<'t> {
    type Item = Dimensions;
    type IntoIter = ShapesIter<'t>;

    #[inline]
    fn into_iter(self) -> ShapesIter<'t> {
        self.iter()
    }
}

/// As a list of lists.
impl fmt::Debug for Shapes<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

/// The dimensions of one of the [`Shapes`] after the other.
#[derive(Debug, Clone)]
pub struct ShapesIter<'t> {
    left: Shapes<'t>,
}

impl ShapesIter<'_> {
    /// Whether the next one has these dimensions; then it is passed.
    #[inline]
    pub(crate) fn next_is(&mut self, shape: &[i64]) -> bool {
        let mut rest = self.left.rest.iter();
        if self.left.count == 0 || take(&mut rest) != shape.len() as u64 {
            return false;
        }
        if shape.iter().any(|dimension| take(&mut rest) != *dimension as u64) {
            return false;
        }
        self.left = Shapes { count: self.left.count - 1, rest: rest.as_slice() };
        true
    }
}

impl Iterator for ShapesIter<'_> {
    type Item = Dimensions;

    #[inline]
    fn next(&mut self) -> Option<Dimensions> {
        let count = self.left.count.checked_sub(1)?;
        let mut rest = self.left.rest.iter();
        let rank = take(&mut rest) as usize;
        let mut first = [0; Dimensions::INLINE];
        let dimensions = if rank > first.len() {
            (0..rank).map(|_| take(&mut rest) as i64).collect()
        } else {
            first[..rank].iter_mut().for_each(|dimension| *dimension = take(&mut rest) as i64);
            SmallVec::from_buf_and_len(first, rank)
        };
        self.left = Shapes { count, rest: rest.as_slice() };
        Some(Dimensions(dimensions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The shapes of a cell, read the plain way.
    fn shapes(cell: &str) -> Option<Vec<Vec<i64>>> {
        let shape = |slot: &str| match slot {
            "()" => Some(Vec::new()),
            slot => slot.split(',').map(|dimension| integer(trim(dimension))).collect::<Option<Vec<_>>>(),
        };
        (!is_empty_cell(cell)).then(|| slots(cell).map(shape).collect::<Option<Vec<_>>>())?
    }

    proptest! {
        #[test]
        fn cells_are_read_as_slot_by_slot(
            cells in prop::collection::vec("[0-9,;]{0,12}|[0-9 ,;\"_+-]{0,8}|[0-9]{17,20}(,[0-9])?;?|[0-9]?;?\\(\\);?", 0..6),
        ) {
            let mut pool = ShapePool::new();
            let lists: Vec<_> = cells.iter().map(|cell| pool.push_plain(cell.as_bytes()).or_else(|| pool.push_cell(cell))).collect();
            for (cell, list) in cells.iter().zip(lists) {
                let found = list.map(|at| pool.list(at).iter().map(|shape| shape.to_vec()).collect::<Vec<_>>());
                prop_assert_eq!(&found, &shapes(cell), "{}", cell);
                if let (Some(at), Some(shapes)) = (list, &found) {
                    prop_assert_eq!(pool.list(at).len(), shapes.len());
                    let again = pool.push(shapes);
                    prop_assert!(pool.list(again).iter().eq(shapes.iter().map(Vec::as_slice)));
                }
            }
            prop_assert!(pool.list(ShapePool::EMPTY).is_empty());
        }
    }
}
