//! Products of groups of rows, each with a matrix of its own.

use std::ops::Range;

use crate::kernels::jobs::Jobs;
use crate::kernels::matmul::{Factor, Operand, product};

/// Rows that one matrix belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The rows. Groups are in the order of their rows, which do not overlap.
    pub rows: Range<usize>,
    /// Number of the matrix.
    pub matrix: usize,
}

/// Matrices of one size, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrices<'a, G> {
    pub values: &'a [G],
    /// Rows of each matrix.
    pub rows: usize,
    /// Columns of each matrix.
    pub columns: usize,
}

impl<'a, G> Matrices<'a, G> {
    /// The matrix of that number.
    pub(crate) fn get(&self, at: usize) -> Operand<'a, G> {
        let size = self.rows * self.columns;
        Operand::row_major(&self.values[at * size..(at + 1) * size], self.rows, self.columns)
    }
}

/// Multiplies each group of rows of `x` by its matrix and hands the sums to
/// `finish(row, matrix, first column, sums, result)`. Rows of `out` outside all groups stay as they are.
pub(crate) fn grouped_product<F, G, O>(
    x: &[F],
    matrices: Matrices<'_, G>,
    groups: &[Group],
    out: &mut [O],
    finish: impl Fn(usize, usize, usize, &[F::Sum], &mut [O]) + Sync,
) where
    F: Factor,
    G: Factor<Panel = F::Panel>,
    O: Send,
{
    let (depth, columns) = (matrices.rows, matrices.columns);
    if columns == 0 {
        return;
    }
    let mut rest = out;
    let mut row = 0;
    let multiply = |group: &Group, lines: &mut [O]| {
        let a = Operand::row_major(&x[group.rows.start * depth..group.rows.end * depth], group.rows.len(), depth);
        product(a, matrices.get(group.matrix), lines.chunks_exact_mut(columns).collect(), |line, column, sums, to| {
            finish(group.rows.start + line, group.matrix, column, sums, to);
        });
    };
    let mut jobs = Jobs::new();
    for group in groups.iter().filter(|group| !group.rows.is_empty()) {
        let (_, after) = rest.split_at_mut((group.rows.start - row) * columns);
        let (lines, after) = after.split_at_mut(group.rows.len() * columns);
        let multiply = &multiply;
        jobs.add(move || multiply(group, lines));
        (rest, row) = (after, group.rows.end);
    }
    jobs.run();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_meet_the_matrix_of_their_group() {
        let x = [1.0f32, 2.0, 3.0, 4.0, 5.0];
        let weights = Matrices { values: &[1.0f32, -1.0, 10.0, -10.0], rows: 1, columns: 2 };
        let groups =
            [Group { rows: 0..2, matrix: 0 }, Group { rows: 2..2, matrix: 1 }, Group { rows: 3..5, matrix: 1 }];
        let mut out = [7.0f32; 10];
        grouped_product(&x, weights, &groups, &mut out, |row, matrix, _, sums, to| {
            assert_eq!(matrix, usize::from(row > 2));
            to.copy_from_slice(sums);
        });
        assert_eq!(out, [1.0, -1.0, 2.0, -2.0, 7.0, 7.0, 40.0, -40.0, 50.0, -50.0]);
    }
}
