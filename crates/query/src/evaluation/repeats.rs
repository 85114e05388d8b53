//! Rows of one place: how far they agree.

use super::score::quantile;
use perfdb_model::predict::Point;
use rustc_hash::FxHashMap;

/// Repeats that differ by a larger share contradict each other: repeats of one kernel on one machine lie within 5 % in 90 % of cases.
const CONTRADICTION: f64 = 0.1;
/// Places with several rows from which on a drift is reported, the share of them that go the same way, and by how much.
const FEWEST_OF_A_DRIFT: usize = 5;
const SAME_WAY: f64 = 0.8;
const LEAST_DRIFT: f64 = 0.05;

/// Several rows of one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeats {
    /// Their lines and durations in microseconds, by line.
    pub rows: Vec<(u32, f64)>,
}

impl Repeats {
    /// The longest duration over the shortest, less one.
    pub fn spread(&self) -> f64 {
        let durations = || self.rows.iter().map(|(_, us)| *us);
        durations().fold(0.0, f64::max) / durations().fold(f64::INFINITY, f64::min) - 1.0
    }

    /// Whether they differ by more than repeats of one kernel do.
    pub(crate) fn is_contradiction(&self) -> bool {
        self.spread() > CONTRADICTION
    }

    /// The logarithm of the last duration over the first.
    fn drift(&self) -> f64 {
        match (self.rows.first(), self.rows.last()) {
            (Some((_, first)), Some((_, last))) => (last / first).ln(),
            _ => 0.0,
        }
    }
}

/// A difference between first and last rows of places that goes one way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// How much longer the last row takes than the first, in the median; below 0: shorter.
    pub change: f64,
    /// In how many places it goes this way.
    pub places: usize,
    /// Of this many.
    pub of: usize,
}

impl Drift {
    pub(super) fn of(repeats: &[Repeats]) -> Option<Drift> {
        let mut drifts: Vec<f64> = repeats.iter().map(Repeats::drift).collect();
        drifts.sort_unstable_by(f64::total_cmp);
        let middle = quantile(&drifts, 0.5);
        let places = drifts.iter().filter(|drift| drift.signum() == middle.signum() && **drift != 0.0).count();
        let is_one_way = places as f64 >= SAME_WAY * drifts.len() as f64;
        let is_told = drifts.len() >= FEWEST_OF_A_DRIFT && is_one_way && middle.abs() >= LEAST_DRIFT;
        is_told.then(|| Drift { change: middle.exp() - 1.0, places, of: drifts.len() })
    }
}

/// Lines and durations by the axes, as bits, and the configuration of a place.
type ByPlace = FxHashMap<(Vec<u64>, u64), Vec<(u32, f64)>>;

/// Whether all rows of a slice are of one place.
pub(super) fn is_one_place(slice: &[(Point, u32, f64)]) -> bool {
    slice.windows(2).all(|pair| {
        let ((one, ..), (other, ..)) = (&pair[0], &pair[1]);
        one.axes == other.axes && one.configuration == other.configuration
    })
}

/// The places of slices that several rows have.
pub(super) fn find<'s>(slices: impl Iterator<Item = &'s [(Point, u32, f64)]>) -> Vec<Repeats> {
    let mut all = Vec::new();
    for places in slices {
        let mut by_place: ByPlace = FxHashMap::default();
        for (place, line, us) in places.iter().filter(|(_, _, us)| *us > 0.0 && us.is_finite()) {
            let axes = place.axes.iter().map(|value| value.to_bits()).collect();
            by_place.entry((axes, place.configuration)).or_default().push((*line, *us));
        }
        let repeats = by_place.into_values().filter(|rows| rows.len() > 1).map(|mut rows| {
            rows.sort_unstable_by_key(|(line, _)| *line);
            Repeats { rows }
        });
        all.extend(repeats);
    }
    all.sort_unstable_by_key(|repeats| repeats.rows.first().map(|(line, _)| *line));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(first: f64, last: f64) -> Repeats {
        Repeats { rows: vec![(2, first), (9, last)] }
    }

    #[test]
    fn repeats_contradict_each_other_by_more_than_a_tenth() {
        assert!(!pair(10.0, 10.9).is_contradiction());
        assert!(pair(10.0, 11.1).is_contradiction() && pair(11.1, 10.0).is_contradiction());
    }

    #[test]
    fn a_drift_is_told_where_nearly_all_places_go_one_way() {
        let slower = [pair(10.0, 12.0), pair(20.0, 24.0), pair(5.0, 6.0), pair(1.0, 1.2), pair(8.0, 7.9)];
        let drift = Drift::of(&slower).expect("a drift");
        assert!((drift.change - 0.2).abs() < 1e-12);
        assert_eq!((drift.places, drift.of), (4, 5));
        assert_eq!(Drift::of(&slower[..4]), None);
        let noise = [pair(10.0, 12.0), pair(24.0, 20.0), pair(5.0, 6.0), pair(1.2, 1.0), pair(8.0, 8.4)];
        assert_eq!(Drift::of(&noise), None);
        assert_eq!(Drift::of(&vec![pair(10.0, 10.2); 9]), None);
    }

    #[test]
    fn places_of_several_rows_are_found() {
        let place = |size: f64| Point::sizes(&[size]);
        let rows = [(place(1.0), 7, 5.0), (place(2.0), 3, 6.0), (place(1.0), 4, 4.0), (place(2.0), 9, f64::NAN)];
        assert_eq!(find([&rows[..]].into_iter()), [Repeats { rows: vec![(4, 4.0), (7, 5.0)] }]);
    }
}
