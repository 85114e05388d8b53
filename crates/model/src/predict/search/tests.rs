//! What the search finds of fields whose ranges are known.

use super::*;
use crate::predict::point::mix;

/// Numbers between zero and one that have nothing to do with each other.
fn drawn(seed: u64) -> f64 {
    (mix(mix(seed)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Of two slices of forty rows on one axis, an octave apart.
fn slice_lengths(value: impl Fn(usize, u64) -> f64) -> Vec<f64> {
    let coordinates: Vec<f64> = (0..80).map(|row| f64::from(row % 40)).collect();
    let values: Vec<f64> = (0..80).map(|row| value(row / 40, row as u64 % 40)).collect();
    let slices = [0..40, 40..80];
    let field =
        Field { dims: 1, coordinates: &coordinates, values: &values, slices: &slices, steps: &[1.0], has_many: false };
    field.search(12, most_descents(1)).slice_lengths
}

#[test]
fn slices_are_as_near_as_they_are_alike() {
    // What a row says of its neighbours is nothing, but the row of the other slice says all.
    let collocated = slice_lengths(|_, at| drawn(at));
    assert!(collocated.iter().all(|length| *length >= 16.0), "{collocated:?}");
    // A smooth line in one slice, and one that goes the other way far above it.
    let strangers = slice_lengths(|slice, at| if slice == 0 { at as f64 / 10.0 } else { 50.0 - at as f64 / 10.0 });
    assert!(strangers.iter().any(|length| *length <= 1.0), "{strangers:?}");
}
