//! On which side of its neighbours' values a query is, on the axis where none of them has its value.

use crate::predict::model::{Model, Spot};
use crate::predict::point::MOST_AXES;

/// Rows below which sides are not told apart: too few of them share one value.
const FEWEST_ROWS: usize = 1000;
/// In octaves: coordinates went through a logarithm.
pub(crate) const SAME: f64 = 1e-9;

/// Where a query is among its neighbours, with the axis that decides by its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// On each axis a neighbour has its value.
    Shared,
    /// On one axis some neighbours have less and the others more; on the rest one has its value.
    Between(usize),
    /// On one axis all neighbours have more; on none of the rest is it outside.
    Below(usize),
    /// On one axis all neighbours have less; on none of the rest is it outside.
    Above(usize),
}

impl Side {
    /// `None` where it is outside the neighbours on several axes, or between them on several.
    fn among(query: &[f64], neighbours: impl Iterator<Item = impl IntoIterator<Item = f64>>) -> Option<Side> {
        // Whether a neighbour has less, the same, more.
        let mut found = [[false; 3]; MOST_AXES];
        for neighbour in neighbours {
            for ((found, there), here) in found.iter_mut().zip(neighbour).zip(query) {
                let difference = there - here;
                found[usize::from(difference >= -SAME) + usize::from(difference > SAME)] = true;
            }
        }
        let on_axis = |(axis, found): (usize, &[bool; 3])| match found {
            [true, false, true] => Side::Between(axis),
            [false, false, true] => Side::Below(axis),
            [true, false, false] => Side::Above(axis),
            _ => Side::Shared,
        };
        let sides = || found[..query.len()].iter().enumerate().map(on_axis).filter(|side| *side != Side::Shared);
        let mut outside = sides().filter(|side| side.outside().is_some());
        if let Some(side) = outside.next() {
            return outside.next().is_none().then_some(side);
        }
        let mut between = sides();
        let side = between.next().unwrap_or(Side::Shared);
        between.next().is_none().then_some(side)
    }

    /// The axis on which it is outside the neighbours.
    pub(crate) fn outside(self) -> Option<usize> {
        match self {
            Side::Below(axis) | Side::Above(axis) => Some(axis),
            Side::Shared | Side::Between(_) => None,
        }
    }
}

impl Model {
    /// Whether rows are many enough to tell sides apart.
    pub(crate) fn has_sides(&self) -> bool {
        self.len() >= FEWEST_ROWS
    }

    /// On which side of these rows a spot is; `None` if not on one, or where sides are not told apart.
    pub(crate) fn side(&self, spot: &Spot, rows: &[u32]) -> Option<Side> {
        if !self.has_sides() || spot.beside_distance > 0.0 {
            return None;
        }
        let dims = self.forest.dims;
        let query = self.scale.uncoupled(&spot.point[..dims]);
        Side::among(&query[..dims], rows.iter().map(|row| self.scale.uncoupled(self.forest.row(*row))))
    }

    /// The axis along which a spot is extrapolated: that on which it is outside the rows, else the size.
    pub(crate) fn along(&self, side: Option<Side>) -> Option<usize> {
        side.and_then(Side::outside).or_else(|| self.size_axis().map(|(axis, _)| axis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_no_neighbour_has_decide() {
        let neighbours = [[1.0, 1.0, 1.0], [2.0, 3.0, 1.0], [4.0, 3.0, 5.0]];
        let side = |query: [f64; 3]| Side::among(&query, neighbours.into_iter());
        assert_eq!([side([2.0, 1.0, 5.0]), side([4.0 + 1e-12, 3.0, 1.0])], [Some(Side::Shared); 2]);
        assert_eq!([side([3.0, 1.0, 1.0]), side([2.0, 2.0, 5.0])], [Side::Between(0), Side::Between(1)].map(Some));
        assert_eq!([side([0.0, 1.0, 1.0]), side([4.0, 1.0, 6.0])], [Side::Below(0), Side::Above(2)].map(Some));
        // Outside on one axis counts more than between on others, in any order.
        assert_eq!([side([3.0, 2.0, 0.0]), side([6.0, 2.0, 4.0])], [Side::Below(2), Side::Above(0)].map(Some));
        assert_eq!([side([3.0, 2.0, 1.0]), side([0.0, 1.0, 6.0])], [None; 2]);
        assert_eq!(Side::among(&[1.0], std::iter::empty::<[f64; 1]>()), Some(Side::Shared));
    }
}
