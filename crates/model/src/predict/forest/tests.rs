//! Trees against a look at all rows.

use super::*;
use crate::predict::point::mix;

/// Numbers between zero and one, always the same.
fn drawn(count: usize) -> Vec<f64> {
    (0..count as u64).map(|number| (mix(number) >> 11) as f64 / (1u64 << 53) as f64).collect()
}

/// All rows that pass by their distance; `penalties` lie between two slices.
fn scanned(
    forest: &Forest,
    slice: usize,
    point: &[f64],
    limit: usize,
    passes: &dyn Fn(u32) -> bool,
) -> Vec<(u32, f64)> {
    let count = forest.slices.last().map_or(0, |slice| slice.end);
    let mut all: Vec<(u32, f64)> = (0..count)
        .filter(|row| passes(*row))
        .map(|row| {
            let own = forest.slices.iter().position(|slice| slice.contains(&row)).expect("a slice");
            let apart = if own == slice { 0.0 } else { forest.penalties[own] + forest.penalties[slice] };
            let differences = forest.row(row).iter().zip(point).map(|(a, b)| (a - b).abs());
            (row, apart + differences.sum::<f64>())
        })
        .collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all.truncate(limit);
    all
}

#[test]
fn the_nearest_are_those_of_a_look_at_all_rows() {
    for dims in 1..=8 {
        let scaled = drawn(300 * dims);
        let (forest, mut order) = Forest::plant(dims, &scaled, &[0..170, 170..170, 170..300], vec![0.05, 0.0, 0.1]);
        for (at, row) in order.iter().enumerate() {
            assert_eq!(forest.row(at as u32), &scaled[*row as usize * dims..][..dims]);
        }
        order.sort_unstable();
        assert_eq!(order, (0..300).collect::<Vec<_>>());
        for (number, point) in drawn(40 * dims).rchunks(dims).enumerate() {
            // Some points lie outside of all rows.
            let point: Vec<f64> = point.iter().map(|x| 2.0 * x - 0.5).collect();
            let (slice, limit) = ([0, 2][number % 2], [1, 5, 12, 16][number % 4]);
            let passes = |row: u32| !number.is_multiple_of(3) || row.is_multiple_of(2);
            let found = forest.nearest::<16>(slice, &point, limit, &passes);
            let expected = scanned(&forest, slice, &point, limit, &passes);
            assert_eq!(found.rows(), expected.iter().map(|(row, _)| *row).collect::<Vec<_>>(), "{dims} axes");
            for (found, (_, expected)) in found.distances().iter().zip(expected) {
                assert!((found - expected).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn few_rows_and_equal_ones_are_all_found() {
    let equal = [0.5; 40];
    let (forest, _) = Forest::plant(1, &equal, std::slice::from_ref(&(0..40)), vec![0.0]);
    assert_eq!(forest.nearest::<16>(0, &[0.25], 16, &|row| row > 2).rows(), (3..19).collect::<Vec<_>>());
    assert_eq!(forest.nearest::<16>(0, &[0.25], 16, &|row| row > 37).rows(), [38, 39]);
    assert!(forest.nearest::<16>(0, &[0.25], 0, &|_| true).rows().is_empty());
}

#[test]
fn the_memory_is_at_least_that_of_the_coordinates() {
    let (forest, _) = Forest::plant(2, &drawn(2000), std::slice::from_ref(&(0..1000)), vec![0.0]);
    assert!((16_000..20_000).contains(&forest.bytes()), "{}", forest.bytes());
}
