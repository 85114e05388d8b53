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
    /// That of a query, by how much more each neighbour has on each axis, in octaves; `None` where the query is outside the neighbours on
    /// several axes, or between them on several.
    fn of(differences: impl Iterator<Item = [f64; MOST_AXES]>) -> Option<Side> {
        let (mut least, mut most) = ([f64::INFINITY; MOST_AXES], [f64::NEG_INFINITY; MOST_AXES]);
        let mut nearest = least;
        for difference in differences {
            for (axis, by) in difference.into_iter().enumerate() {
                least[axis] = if by < least[axis] { by } else { least[axis] };
                most[axis] = if by > most[axis] { by } else { most[axis] };
                nearest[axis] = if by.abs() < nearest[axis] { by.abs() } else { nearest[axis] };
            }
        }
        let (mut side, mut is_one) = (Side::Shared, true);
        for axis in (0..MOST_AXES).filter(|axis| nearest[*axis] > SAME) {
            let own = match (least[axis] < 0.0, most[axis] > 0.0) {
                (true, true) => Side::Between(axis),
                (false, true) => Side::Below(axis),
                (true, false) => Side::Above(axis),
                (false, false) => continue,
            };
            match (side.outside().is_some(), own.outside().is_some()) {
                (true, false) => {}
                (false, true) => (side, is_one) = (own, true),
                _ => (side, is_one) = (own, side == Side::Shared),
            }
        }
        is_one.then_some(side)
    }

    /// The axis on which it is between the neighbours.
    pub(crate) fn between(self) -> Option<usize> {
        match self {
            Side::Between(axis) => Some(axis),
            Side::Shared | Side::Below(_) | Side::Above(_) => None,
        }
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
        // Coordinates are linear in octaves, so are differences.
        Side::of(rows.iter().map(|row| {
            let mut difference = [0.0; MOST_AXES];
            for ((by, there), here) in difference.iter_mut().zip(self.forest.row(*row)).zip(&spot.point) {
                *by = there - here;
            }
            self.scale.uncoupled(&difference)
        }))
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
        let side = |query: [f64; 3]| {
            Side::of(neighbours.into_iter().map(|there| {
                let mut difference = [0.0; MOST_AXES];
                for axis in 0..3 {
                    difference[axis] = there[axis] - query[axis];
                }
                difference
            }))
        };
        assert_eq!([side([2.0, 1.0, 5.0]), side([4.0 + 1e-12, 3.0, 1.0])], [Some(Side::Shared); 2]);
        assert_eq!([side([3.0, 1.0, 1.0]), side([2.0, 2.0, 5.0])], [Side::Between(0), Side::Between(1)].map(Some));
        assert_eq!([side([0.0, 1.0, 1.0]), side([4.0, 1.0, 6.0])], [Side::Below(0), Side::Above(2)].map(Some));
        // Outside on one axis counts more than between on others, in any order.
        assert_eq!([side([3.0, 2.0, 0.0]), side([6.0, 2.0, 4.0])], [Side::Below(2), Side::Above(0)].map(Some));
        assert_eq!([side([3.0, 2.0, 1.0]), side([0.0, 1.0, 6.0])], [None; 2]);
        assert_eq!(Side::of(std::iter::empty()), Some(Side::Shared));
    }
}
