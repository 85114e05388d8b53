//! Copies of a tensor with its dimensions in another order.

use crate::kernels::jobs::{Jobs, rows_per_job};
use crate::kernels::typed::Stored;

/// Rows of the result that are filled together: their elements often lie side by side in the source.
const ROWS: usize = 32;

/// The tensor's elements in the order of its dimensions `order[0]`, `order[1]`, …
pub fn permute<T: Stored>(source: &[T], shape: &[usize], order: &[usize]) -> Vec<T> {
    if source.is_empty() {
        return Vec::new();
    }
    let mut strides = vec![1; shape.len()];
    for at in (1..shape.len()).rev() {
        strides[at - 1] = strides[at] * shape[at];
    }
    // Neighbours in both tensors are one dimension.
    let mut dimensions: Vec<(usize, usize)> = Vec::new();
    for (size, stride) in order.iter().map(|from| (shape[*from], strides[*from])).filter(|(size, _)| *size != 1) {
        match dimensions.last_mut() {
            Some((outer, outer_stride)) if *outer_stride == size * stride => {
                *outer *= size;
                *outer_stride = stride;
            }
            _ => dimensions.push((size, stride)),
        }
    }
    let Some((width, stride)) = dimensions.pop() else {
        return source.to_vec();
    };
    let mut out = vec![T::default(); source.len()];
    let start = |mut row: usize| {
        let mut at = 0;
        for (size, stride) in dimensions.iter().rev() {
            at += row % size * stride;
            row /= size;
        }
        at
    };
    let rows = rows_per_job(width).next_multiple_of(ROWS);
    let copy = |job: usize, lines: &mut [T]| {
        let starts: Vec<usize> = (0..lines.len() / width).map(|row| start(job * ROWS + row)).collect();
        if stride == 1 {
            for (line, start) in lines.chunks_exact_mut(width).zip(starts) {
                line.copy_from_slice(&source[start..start + width]);
            }
        } else {
            for column in 0..width {
                for (row, start) in starts.iter().enumerate() {
                    lines[row * width + column] = source[start + column * stride];
                }
            }
        }
    };
    let mut jobs = Jobs::new();
    for (job, lines) in out.chunks_mut(rows * width).enumerate() {
        let copy = &copy;
        jobs.add(move || {
            lines.chunks_mut(ROWS * width).enumerate().for_each(|(part, lines)| copy(job * rows / ROWS + part, lines))
        });
    }
    jobs.run();
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_matrix_and_a_rotation() {
        assert_eq!(permute(&[1, 2, 3, 4, 5, 6], &[2, 3], &[1, 0]), [1, 4, 2, 5, 3, 6]);
        assert_eq!(permute(&(0..8).collect::<Vec<i32>>(), &[2, 2, 2], &[1, 2, 0]), [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(permute(&[7], &[], &[]), [7]);
    }

    proptest! {
        #[test]
        fn the_inverse_order_restores(sizes in proptest::collection::vec(1usize..5, 1..5), seed: u64) {
            let mut order: Vec<usize> = (0..sizes.len()).collect();
            order.sort_by_key(|at| seed.rotate_left(*at as u32 * 7) ^ *at as u64);
            let source: Vec<i64> = (0..sizes.iter().product::<usize>() as i64).collect();
            let there = permute(&source, &sizes, &order);
            let permuted: Vec<usize> = order.iter().map(|at| sizes[*at]).collect();
            let mut inverse = vec![0; order.len()];
            order.iter().enumerate().for_each(|(to, from)| inverse[*from] = to);
            prop_assert_eq!(permute(&there, &permuted, &inverse), source);
        }
    }
}
