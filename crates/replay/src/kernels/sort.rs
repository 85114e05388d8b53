//! Orders of elements of any type: largest first, NaN above all, equal ones in their old order.

use half::{bf16, f16};

use crate::kernels::typed::Stored;

/// An element type with a total order.
pub trait Ordered: Stored {
    /// A number that grows with the element; equal elements have equal numbers.
    fn key(self) -> u64;
}

macro_rules! ordered {
    ($($type:ty, $key:expr);* $(;)?) => {
        $(impl Ordered for $type {
            fn key(self) -> u64 {
                $key(self)
            }
        })*
    };
}

ordered! {
    f64, float_key;
    f32, |value: f32| float_key(f64::from(value));
    f16, |value: f16| float_key(value.to_f64());
    bf16, |value: bf16| float_key(value.to_f64());
    i8, |value: i8| integer_key(value.into());
    u8, |value: u8| integer_key(value.into());
    i16, |value: i16| integer_key(value.into());
    i32, |value: i32| integer_key(value.into());
    i64, integer_key;
    bool, u64::from;
}

fn integer_key(value: i64) -> u64 {
    value.cast_unsigned() ^ (1 << 63)
}

fn float_key(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    // −0 + 0 is +0: both zeros are equal.
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Sorts a row in descending order; writes the values and where they were.
pub fn descending<T: Ordered>(row: &[T], values: &mut [T], indices: &mut [i64]) {
    let mut order: Vec<(u64, usize)> = row.iter().enumerate().map(|(at, value)| (!value.key(), at)).collect();
    order.sort_unstable();
    for (((_, at), value), index) in order.into_iter().zip(values).zip(indices) {
        *value = row[at];
        *index = at as i64;
    }
}

/// Index of the largest element, the first of equals; 0 for an empty row.
pub(crate) fn first_largest<T: Ordered>(row: &[T]) -> usize {
    let mut best = 0;
    for (at, value) in row.iter().enumerate() {
        if value.key() > row[best].key() {
            best = at;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<T: Ordered>(row: &[T]) -> (Vec<T>, Vec<i64>) {
        let (mut values, mut indices) = (vec![T::default(); row.len()], vec![0; row.len()]);
        descending(row, &mut values, &mut indices);
        (values, indices)
    }

    #[test]
    fn descending_with_ties_zeros_and_nan() {
        let (values, indices) = sorted(&[-0.0f32, 2.0, 0.0, f32::NEG_INFINITY, 2.0, -1.5]);
        assert_eq!(indices, [1, 4, 0, 2, 5, 3]);
        assert_eq!(values[..3], [2.0, 2.0, -0.0]);
        assert_eq!(sorted(&[1.0f64, f64::NAN, f64::INFINITY]).1, [1, 2, 0]);
        assert_eq!(sorted(&[i64::MIN, 5, -5, i64::MAX]).1, [3, 1, 2, 0]);
        assert_eq!(sorted(&[false, true]).0, [true, false]);
    }

    #[test]
    fn the_first_of_equal_maxima() {
        assert_eq!(first_largest(&[1.0f32, 5.0, 5.0, 2.0]), 1);
        assert_eq!(first_largest(&[1.0f32, f32::NAN, f32::INFINITY, f32::NAN]), 1);
        assert_eq!(first_largest::<i8>(&[]), 0);
    }
}
