//! Products of dense matrices of `f32` or `f64`: a bounds-checked face of the `gemm` crate.
//!
//! The only unsafe code of this crate is the call below: `gemm` takes raw pointers and strides. Everything it reads or
//! writes is checked against the slices first.

use crate::kernels::element::Wide;

/// A matrix in a slice: element (r, c) is `values[r * row_stride + c * column_stride]`.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, W> {
    values: &'a [W],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a, W> Matrix<'a, W> {
    /// A matrix whose rows lie one after the other.
    ///
    /// # Panics
    /// If `values` is shorter than `rows · columns`.
    pub(crate) fn row_major(values: &'a [W], rows: usize, columns: usize) -> Self {
        let fits = rows.checked_mul(columns).is_some_and(|count| count <= values.len());
        assert!(fits, "a {rows} by {columns} matrix in {} values", values.len());
        Self { values, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// The same values read with rows and columns exchanged.
    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

/// What becomes of the values that the result had before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Previous {
    /// They are overwritten.
    Replaced,
    /// The product is added to them.
    Kept,
}

/// `out` (row-major, as many rows as `a`, as many columns as `b`) = `a` · `b`, on the calling thread.
///
/// # Panics
/// If the inner dimensions differ or `out` has another length.
#[expect(unsafe_code, reason = "gemm takes raw pointers")]
pub fn multiply<W: Wide>(a: Matrix<'_, W>, b: Matrix<'_, W>, out: &mut [W], previous: Previous) {
    let (m, n, k) = (a.rows, b.columns, a.columns);
    assert_eq!(b.rows, k, "inner dimensions");
    assert_eq!(Some(out.len()), m.checked_mul(n), "size of the product");
    if out.is_empty() {
        return;
    }
    if k == 0 {
        if previous == Previous::Replaced {
            out.fill(W::zero());
        }
        return;
    }
    let stride = |stride: usize| isize::try_from(stride).expect("a stride within a slice fits isize");
    // SAFETY: `Matrix` holds at least rows · columns values and its strides are those of a dense matrix of that size
    // (row_major) or of its transpose, so every element that gemm reads lies within the slices. `out` holds exactly
    // m · n values, is borrowed mutably (so it overlaps neither input) and initialised. gemm takes T = f32 or f64, the
    // only types that implement `Wide`.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            stride(n),
            previous == Previous::Kept,
            a.values.as_ptr(),
            stride(a.column_stride),
            stride(a.row_stride),
            b.values.as_ptr(),
            stride(b.column_stride),
            stride(b.row_stride),
            W::one(),
            W::one(),
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_and_transposed() {
        let a = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let b = [1.0f32, 0.0, -1.0, 2.0, 0.5, 1.0];
        let mut out = [9.0; 4];
        multiply(Matrix::row_major(&a, 2, 3), Matrix::row_major(&b, 3, 2), &mut out, Previous::Replaced);
        assert_eq!(out, [0.5, 7.0, 2.0, 16.0]);
        multiply(
            Matrix::row_major(&a, 3, 2).transposed(),
            Matrix::row_major(&b, 2, 3).transposed(),
            &mut out,
            Previous::Kept,
        );
        assert_eq!(out, [0.5 - 4.0, 7.0 + 8.5, 2.0 - 4.0, 16.0 + 12.0]);
    }

    #[test]
    fn no_inner_dimension_gives_zeros() {
        let mut out = [1.0f64; 2];
        multiply(Matrix::row_major(&[], 2, 0), Matrix::row_major(&[], 0, 1), &mut out, Previous::Replaced);
        assert_eq!(out, [0.0; 2]);
    }

    #[test]
    #[should_panic(expected = "a 2 by 3 matrix in 5 values")]
    fn short_slices_are_refused() {
        Matrix::row_major(&[0.0f32; 5], 2, 3);
    }

    /// The sizes overflow to one that fits, without overflow checks.
    #[test]
    #[should_panic(expected = "matrix in 2 values")]
    fn sizes_beyond_memory_are_refused() {
        Matrix::row_major(&[0.0f32; 2], usize::MAX / 2 + 2, 2);
    }

    #[test]
    #[should_panic(expected = "size of the product")]
    fn a_product_beyond_memory_is_refused() {
        let rows = usize::MAX / 2 + 2;
        let (a, b) = (Matrix::row_major(&[], rows, 0), Matrix::row_major(&[], 0, 2));
        multiply(a, b, &mut [0.0f32; 2], Previous::Replaced);
    }

    const GUARD: usize = 70;

    /// Values between guards that are not numbers: one that is read makes a sum none, one that is written is one.
    fn between_guards(values: impl Iterator<Item = f64>) -> Vec<f64> {
        let guard = || std::iter::repeat_n(f64::NAN, GUARD);
        guard().chain(values).chain(guard()).collect()
    }

    proptest! {
        #[test]
        fn nothing_outside_the_slices_is_read_or_written(
            (m, n, k) in (0usize..40, 0usize..40, 0usize..40),
            transposed: (bool, bool),
            kept: bool,
        ) {
            let small = |index: usize, step: usize| (index * step % 13) as f64 - 6.0;
            let left = between_guards((0..m * k).map(|index| small(index, 5)));
            let right = between_guards((0..k * n).map(|index| small(index, 7)));
            let mut out = between_guards((0..m * n).map(|_| 1.0));
            let matrix = |values: &'_ [f64], rows: usize, columns: usize, transposed: bool| {
                let at = move |row: usize, column: usize| if transposed { column * rows + row } else { row * columns + column };
                let values = values[GUARD..GUARD + rows * columns].to_vec();
                move |row, column| values[at(row, column)]
            };
            let (a_at, b_at) = (matrix(&left, m, k, transposed.0), matrix(&right, k, n, transposed.1));
            let face = |values, rows, columns, transposed| if transposed { Matrix::row_major(values, columns, rows).transposed() } else { Matrix::row_major(values, rows, columns) };
            let a = face(&left[GUARD..GUARD + m * k], m, k, transposed.0);
            let b = face(&right[GUARD..GUARD + k * n], k, n, transposed.1);
            let previous = if kept { Previous::Kept } else { Previous::Replaced };
            multiply(a, b, &mut out[GUARD..GUARD + m * n], previous);
            for row in 0..m {
                for column in 0..n {
                    let sum: f64 = (0..k).map(|inner| a_at(row, inner) * b_at(inner, column)).sum();
                    let before = if kept { 1.0 } else { 0.0 };
                    prop_assert_eq!(out[GUARD + row * n + column], sum + before);
                }
            }
            prop_assert!(out[..GUARD].iter().chain(&out[GUARD + m * n..]).all(|value| value.is_nan()));
        }
    }
}
