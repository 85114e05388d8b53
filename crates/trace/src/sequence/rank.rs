//! Percentiles without interpolation.

/// The ⌈`percent` · n / 100⌉-th smallest of n sorted values (nearest rank); `None` without values.
///
/// ```
/// let sorted = [10, 20, 30, 40, 50];
/// assert_eq!(perfdb_trace::sequence::nearest_rank(&sorted, 50), Some(30));
/// assert_eq!(perfdb_trace::sequence::nearest_rank(&sorted, 10), Some(10));
/// assert_eq!(perfdb_trace::sequence::nearest_rank(&sorted, 90), Some(50));
/// ```
pub fn nearest_rank<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (percent * sorted.len()).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}
