//! Elements of sorted lists.

/// The median: of n values the one at n/2.
pub(crate) fn median<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    at(values, values.len() / 2)
}

/// The p-th percentile: of n values the one at ⌊p·n/100⌋.
pub(crate) fn percentile<T: Ord + Copy>(values: &mut [T], percent: usize) -> Option<T> {
    at(values, values.len() * percent / 100)
}

fn at<T: Ord + Copy>(values: &mut [T], place: usize) -> Option<T> {
    if place >= values.len() {
        return None;
    }
    Some(*values.select_nth_unstable(place).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_even_numbers_the_upper_one() {
        assert_eq!(median(&mut [4, 1, 3, 2]), Some(3));
        assert_eq!(median::<u8>(&mut []), None);
        assert_eq!(percentile(&mut [5, 1, 4, 2, 3], 25), Some(2));
        assert_eq!(percentile(&mut [7], 5), Some(7));
    }
}
