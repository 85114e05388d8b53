//! Places on logarithmic axes, and what finds those around a target.

use super::among::Planes;
use super::is_flat;
use super::triangulation::Triangulation;
use super::walk::Simplex;
use crate::interpolate::near::Tree;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many places there are for each search after which all are triangulated, which takes as long as about one search for each of them.
const PLACES_PER_SEARCH: usize = 16;

/// Places on scaled axes. What finds them is made when it is first needed.
#[derive(Debug)]
pub(crate) struct ScaledPlaces {
    /// Two or three; coordinates on others are 0.
    pub(super) axes: usize,
    pub(crate) at: Box<[[f64; 3]]>,
    pub(super) planes: Planes,
    is_flat: OnceLock<bool>,
    tree: OnceLock<Tree>,
    searches: AtomicU32,
    triangulation: OnceLock<Option<Triangulation>>,
}

impl ScaledPlaces {
    pub(crate) fn new(axes: usize, at: Box<[[f64; 3]]>) -> ScaledPlaces {
        ScaledPlaces {
            axes,
            at,
            planes: Planes::default(),
            is_flat: OnceLock::new(),
            tree: OnceLock::new(),
            searches: AtomicU32::new(0),
            triangulation: OnceLock::new(),
        }
    }

    /// Triangulated from the first search on.
    #[cfg(test)]
    pub(super) fn triangulated(self) -> ScaledPlaces {
        self.triangulation.get_or_init(|| Triangulation::new(self.tree(), self.axes));
        self
    }

    /// Whether a target is known to lie outside of all places.
    pub(crate) fn exclude(&self, target: &[f64]) -> bool {
        self.planes.exclude(target)
    }

    /// Whether the places lie on a line or a plane.
    pub(crate) fn is_flat(&self) -> bool {
        *self.is_flat.get_or_init(|| {
            let coordinates: Vec<&[f64]> = self.at.iter().map(|at| &at[..self.axes]).collect();
            coordinates.len() <= self.axes || is_flat(&coordinates, self.axes)
        })
    }

    pub(super) fn tree(&self) -> &Tree {
        self.tree.get_or_init(|| Tree::new(&self.at))
    }

    /// The simplex around a target, if all places have been triangulated and no other simplex may be around it.
    pub(super) fn known_simplex(&self, target: [f64; 3]) -> Option<Simplex> {
        self.triangulation.get()?.as_ref()?.around(self.tree(), self.axes, target)
    }

    /// Notes that a simplex has been searched that a triangulation would have told. Others go on with searches while places are triangulated.
    pub(super) fn count_search(&self) {
        let searches = 1 + self.searches.fetch_add(1, Ordering::Relaxed);
        if searches as usize == self.at.len().div_ceil(PLACES_PER_SEARCH) {
            self.triangulation.get_or_init(|| Triangulation::new(self.tree(), self.axes));
        }
    }
}
