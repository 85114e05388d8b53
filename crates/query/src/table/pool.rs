//! Shapes of many rows in one piece of memory.

use crate::table::columns::is_empty_cell;
use perfdb_pycompat::text::trim;
use perfdb_store::slots::{integer, unquoted};
use std::fmt;

/// Lists of shapes, one behind the other: the number of shapes, then the rank and the dimensions of each. Millions of small allocations less,
/// and what is compared together lies together.
#[derive(Debug)]
pub(crate) struct ShapePool {
    numbers: Vec<i64>,
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

    pub(crate) fn new() -> Self {
        ShapePool { numbers: vec![0] }
    }

    #[inline]
    pub(crate) fn list(&self, at: ListAt) -> Shapes<'_> {
        match self.numbers.get(at.0 as usize..) {
            Some([count, rest @ ..]) => Shapes { count: *count as usize, rest },
            _ => Shapes { count: 0, rest: &[] },
        }
    }

    /// Adds a list.
    pub(crate) fn push(&mut self, shapes: &[Vec<i64>]) -> ListAt {
        let at = self.begin();
        for shape in shapes {
            let rank_at = self.begin();
            self.numbers.extend(shape);
            self.close_shape(at, rank_at);
        }
        ListAt(at as u32)
    }

    /// Adds the shapes of a cell; `None` if the cell is empty or one of them cannot be read.
    pub(crate) fn push_cell(&mut self, cell: &str) -> Option<ListAt> {
        let at = self.begin();
        let mut is_read = !cell.is_empty() && self.push_plain(at, cell.as_bytes());
        if !is_read {
            self.numbers.truncate(at + 1);
            self.numbers[at] = 0;
            is_read = !is_empty_cell(cell) && self.push_any(at, cell);
        }
        if is_read && at < u32::MAX as usize {
            return Some(ListAt(at as u32));
        }
        self.numbers.truncate(at);
        None
    }

    pub(crate) fn shrink(&mut self) {
        self.numbers.shrink_to_fit();
    }

    fn begin(&mut self) -> usize {
        self.numbers.push(0);
        self.numbers.len() - 1
    }

    /// Counts a shape whose rank stands at `rank_at` and whose dimensions follow to the end.
    fn close_shape(&mut self, list: usize, rank_at: usize) {
        self.numbers[rank_at] = (self.numbers.len() - rank_at - 1) as i64;
        self.numbers[list] += 1;
    }

    /// Digits, `,` and `;` only, which is what nearly all cells hold. Whether it was that.
    fn push_plain(&mut self, list: usize, cell: &[u8]) -> bool {
        let mut rank_at = self.begin();
        let (mut value, mut digits) = (0i64, 0);
        for &byte in cell.iter().chain(b";") {
            match byte {
                b'0'..=b'9' => {
                    value = value.wrapping_mul(10).wrapping_add(i64::from(byte - b'0'));
                    digits += 1;
                }
                // An empty slot.
                b';' if digits == 0 && rank_at + 1 == self.numbers.len() => {}
                b',' | b';' if (1..=Self::PLAIN_DIGITS).contains(&digits) => {
                    self.numbers.push(value);
                    (value, digits) = (0, 0);
                    if byte == b';' {
                        self.close_shape(list, rank_at);
                        rank_at = self.begin();
                    }
                }
                _ => return false,
            }
        }
        // The rank of a shape that does not follow.
        self.numbers.pop();
        true
    }

    fn push_any(&mut self, list: usize, cell: &str) -> bool {
        for slot in slots(cell) {
            let rank_at = self.begin();
            if slot != "()" {
                for dimension in slot.split(',') {
                    let Some(dimension) = integer(trim(dimension)) else { return false };
                    self.numbers.push(dimension);
                }
            }
            self.close_shape(list, rank_at);
        }
        true
    }
}

/// The slots of a cell in which something stands.
pub(crate) fn slots(cell: &str) -> impl Iterator<Item = &str> {
    unquoted(cell).split(';').map(trim).filter(|slot| !slot.is_empty())
}

/// Shapes of the arguments or the results of one row, in order.
#[derive(Clone, Copy)]
pub struct Shapes<'t> {
    count: usize,
    rest: &'t [i64],
}

impl<'t> Shapes<'t> {
    /// How many there are.
    pub fn len(self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// One of them: its dimensions, outermost first.
    pub fn get(self, at: usize) -> Option<&'t [i64]> {
        self.iter().nth(at)
    }

    /// All of them.
    pub fn iter(self) -> ShapesIter<'t> {
        ShapesIter { left: self }
    }
}

impl<'t> IntoIterator for Shapes<'t> {
    type Item = &'t [i64];
    type IntoIter = ShapesIter<'t>;

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

impl<'t> Iterator for ShapesIter<'t> {
    type Item = &'t [i64];

    #[inline]
    fn next(&mut self) -> Option<&'t [i64]> {
        let count = self.left.count.checked_sub(1)?;
        let (rank, rest) = self.left.rest.split_first()?;
        let (shape, rest) = rest.split_at_checked(*rank as usize)?;
        self.left = Shapes { count, rest };
        Some(shape)
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
            let lists: Vec<_> = cells.iter().map(|cell| pool.push_cell(cell)).collect();
            for (cell, list) in cells.iter().zip(lists) {
                let found = list.map(|at| pool.list(at).iter().map(<[i64]>::to_vec).collect::<Vec<_>>());
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
