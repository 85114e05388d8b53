//! Rotary position embedding of one row.

use crate::kernels::element::Wide;

/// `row` in the order of its elements 0, 2, 4, … then 1, 3, 5, …
pub(crate) fn even_then_odd<W: Wide>(row: &[W], to: &mut [W]) {
    let half = row.len() / 2;
    for (at, pair) in row.as_chunks::<2>().0.iter().enumerate() {
        (to[at], to[half + at]) = (pair[0], pair[1]);
    }
}

/// z · cos + (−second half of z, first half of z) · sin, in place.
pub(crate) fn rotate_halves<W: Wide>(z: &mut [W], cos: &[W], sin: &[W]) {
    let half = z.len() / 2;
    let (first, second) = z.split_at_mut(half);
    for (at, (a, b)) in first.iter_mut().zip(second).enumerate() {
        (*a, *b) = (*a * cos[at] - *b * sin[at], *b * cos[half + at] + *a * sin[half + at]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_turn_and_a_stretch() {
        let mut z = [0.0; 4];
        even_then_odd(&[1.0f32, 2.0, 3.0, 4.0], &mut z);
        assert_eq!(z, [1.0, 3.0, 2.0, 4.0]);
        rotate_halves(&mut z, &[0.0, 2.0, 0.0, 1.0], &[1.0, 0.0, 1.0, 0.5]);
        assert_eq!(z, [-2.0, 6.0, 1.0, 4.0 + 1.5]);
    }
}
