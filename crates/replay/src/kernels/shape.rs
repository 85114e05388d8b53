//! Shapes: sizes of a tensor's dimensions, outermost first, row-major.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize};
use smallvec::SmallVec;

/// Sizes of the dimensions, outermost first; empty for a scalar. Up to rank 4 nothing is allocated: a plan holds many.
///
/// ```
/// use perfdb_replay::kernels::shape::Shape;
/// let mut shape = Shape::from([2, 3]);
/// shape.push(4);
/// assert_eq!(shape, [2, 3, 4]);
/// assert_eq!(shape.iter().product::<usize>(), 24);
/// ```
#[derive(Clone, Default, Serialize)]
pub struct Shape(SmallVec<[usize; 4]>);

impl Shape {
    /// The shape of a scalar.
    pub const fn new() -> Shape {
        Shape(SmallVec::new_const())
    }

    /// Appends an innermost dimension.
    pub fn push(&mut self, size: usize) {
        self.0.push(size);
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl DerefMut for Shape {
    fn deref_mut(&mut self) -> &mut [usize] {
        &mut self.0
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shape, D::Error> {
        Vec::deserialize(deserializer).map(Shape::from)
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(sizes: [usize; N]) -> Shape {
        Shape::from(sizes.as_slice())
    }
}

impl From<&[usize]> for Shape {
    fn from(sizes: &[usize]) -> Shape {
        Shape(SmallVec::from_slice(sizes))
    }
}

impl From<Vec<usize>> for Shape {
    fn from(sizes: Vec<usize>) -> Shape {
        Shape::from(sizes.as_slice())
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(sizes: I) -> Shape {
        Shape(sizes.into_iter().collect())
    }
}

impl Extend<usize> for Shape {
    fn extend<I: IntoIterator<Item = usize>>(&mut self, sizes: I) {
        self.0.extend(sizes);
    }
}

impl AsRef<[usize]> for Shape {
    fn as_ref(&self) -> &[usize] {
        self
    }
}

/// Equal to everything with the same sizes: another shape, an array, a vector.
impl<T: AsRef<[usize]> + ?Sized> PartialEq<T> for Shape {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for Shape {}

impl<'a> IntoIterator for &'a Shape {
    type Item = &'a usize;
    type IntoIter = std::slice::Iter<'a, usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// As a list: `[2, 3]`.
impl fmt::Debug for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Number of elements; `usize::MAX` where the product is larger.
pub fn elements(shape: &[usize]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1_usize, |product, &size| product.saturating_mul(size))
}

/// The shape that two operands broadcast to by the usual rules (aligned at the last dimension, 1 stretches), or `None`.
pub fn broadcast(a: &[usize], b: &[usize]) -> Option<Shape> {
    let rank = a.len().max(b.len());
    let size = |i: usize| {
        let x = (i + a.len()).checked_sub(rank).map_or(1, |at| a[at]);
        let y = (i + b.len()).checked_sub(rank).map_or(1, |at| b[at]);
        match (x, y) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        }
    };
    (0..rank).map(size).collect()
}

/// True if `shape` broadcasts to `target` without changing it.
pub(crate) fn broadcasts_to(shape: &[usize], target: &[usize]) -> bool {
    broadcast(shape, target).is_some_and(|out| *out == *target)
}

/// Logical shape of a `FRACTAL_NZ` tensor: `(…, a, b, c, d)` holds `(…, b·c, a·d)`. `None` below rank 4.
pub(crate) fn unfold_fractal_nz(blocked: &[usize]) -> Option<Shape> {
    let (outer, &[a, b, c, d]) = blocked.split_last_chunk::<4>()?;
    let mut logical = Shape::from(outer);
    logical.extend([b.checked_mul(c)?, a.checked_mul(d)?]);
    Some(logical)
}

/// The shape with its last two dimensions swapped; shapes of lower rank stay.
pub fn swap_last_two(shape: &[usize]) -> Shape {
    let mut swapped = Shape::from(shape);
    if let [.., a, b] = &mut *swapped {
        std::mem::swap(a, b);
    }
    swapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting() {
        assert_eq!(broadcast(&[16, 8, 64], &[1, 8, 64]), Some(Shape::from([16, 8, 64])));
        assert_eq!(broadcast(&[3, 1], &[4]), Some(Shape::from([3, 4])));
        assert_eq!(broadcast(&[], &[2]), Some(Shape::from([2])));
        assert_eq!(broadcast(&[3], &[2]), None);
        assert!(broadcasts_to(&[1, 4], &[3, 4]));
        assert!(!broadcasts_to(&[3, 4], &[1, 4]));
    }

    #[test]
    fn fractal_nz() {
        assert_eq!(unfold_fractal_nz(&[320, 48, 16, 16]), Some(Shape::from([768, 5120])));
        assert_eq!(unfold_fractal_nz(&[66, 448, 16, 32]), Some(Shape::from([7168, 2112])));
        assert_eq!(unfold_fractal_nz(&[2, 3, 4, 5, 6]), Some(Shape::from([2, 20, 18])));
        assert_eq!(unfold_fractal_nz(&[8, 4, 16]), None);
    }

    #[test]
    fn element_counts_do_not_overflow() {
        assert_eq!(elements(&[]), 1);
        assert_eq!(elements(&[usize::MAX, 2]), usize::MAX);
        assert_eq!(elements(&[usize::MAX, 0, 2]), 0);
    }
}
