//! Orders of scores: largest first, NaN above all, the lower index first among equals.

use std::cmp::Ordering;

use crate::kernels::element::Wide;

/// Larger first; NaN counts as the largest.
pub fn descending<W: Wide>(a: W, b: W) -> Ordering {
    b.partial_cmp(&a).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

/// Indices of the `count` largest scores, highest first, the lower index first among equals; fewer where there are fewer.
pub fn largest<W: Wide>(scores: &[W], count: usize) -> Vec<usize> {
    let order = |a: &usize, b: &usize| descending(scores[*a], scores[*b]).then(a.cmp(b));
    let mut indices: Vec<usize> = (0..scores.len()).collect();
    if count == 0 {
        return Vec::new();
    }
    if count < indices.len() {
        indices.select_nth_unstable_by(count - 1, order);
        indices.truncate(count);
    }
    indices.sort_unstable_by(order);
    indices
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equals_keep_their_order() {
        assert_eq!(largest(&[1.0f32, 3.0, 3.0, 2.0, 3.0], 3), [1, 2, 4]);
        assert_eq!(largest(&[1.0f32, f32::NAN, 2.0], 2), [1, 2]);
        assert_eq!(largest::<f32>(&[], 2), [0usize; 0]);
        assert_eq!(largest(&[1.0f32], 0), [0usize; 0]);
    }

    proptest! {
        #[test]
        fn a_selection_is_the_head_of_the_whole_order(values in proptest::collection::vec(-4i8..4, 0..50), count in 0usize..60) {
            let scores: Vec<f32> = values.iter().map(|x| f32::from(*x)).collect();
            let whole = largest(&scores, scores.len());
            prop_assert_eq!(&largest(&scores, count)[..], &whole[..count.min(scores.len())]);
        }
    }
}
