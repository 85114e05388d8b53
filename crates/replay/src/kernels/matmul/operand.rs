//! Matrices of a product, and their blocks.

use super::Factor;
use crate::kernels::element::Wide;
use crate::kernels::product::Matrix;

/// A matrix in its own element type: `rows` by `columns` as the product sees it, row-major in memory or transposed.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a, F> {
    pub(super) values: &'a [F],
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) transposed: bool,
}

impl<'a, F> Operand<'a, F> {
    /// `values` hold the rows one after the other.
    ///
    /// # Panics
    /// If there are not exactly `rows · columns` values.
    pub(crate) fn row_major(values: &'a [F], rows: usize, columns: usize) -> Self {
        assert_eq!(values.len(), rows * columns, "a {rows} by {columns} matrix");
        Self { values, rows, columns, transposed: false }
    }

    /// `values` hold the columns one after the other: a row-major `columns` by `rows` matrix, read transposed.
    ///
    /// # Panics
    /// If there are not exactly `rows · columns` values.
    pub(crate) fn column_major(values: &'a [F], rows: usize, columns: usize) -> Self {
        Self { transposed: true, ..Self::row_major(values, rows, columns) }
    }

    /// One or the other.
    pub fn new(values: &'a [F], rows: usize, columns: usize, transposed: bool) -> Self {
        if transposed { Self::column_major(values, rows, columns) } else { Self::row_major(values, rows, columns) }
    }

    /// Rows as the product sees them.
    pub fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn exchanged(self) -> Self {
        Self { rows: self.columns, columns: self.rows, transposed: !self.transposed, ..self }
    }
}

/// A block of an [`Operand`], widened and dense.
#[derive(Default)]
pub(super) struct Panel<W> {
    pub(super) values: Vec<W>,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) transposed: bool,
}

impl<W: Wide> Panel<W> {
    pub(super) fn load<F: Factor<Panel = W>>(
        &mut self,
        from: Operand<'_, F>,
        rows: std::ops::Range<usize>,
        columns: std::ops::Range<usize>,
    ) {
        let (outer, inner) =
            if from.transposed { (columns.clone(), rows.clone()) } else { (rows.clone(), columns.clone()) };
        let stride = if from.transposed { from.rows } else { from.columns };
        (self.rows, self.columns, self.transposed) = (rows.len(), columns.len(), from.transposed);
        self.values.resize(outer.len() * inner.len(), W::zero());
        for (line, to) in outer.zip(self.values.chunks_exact_mut(inner.len())) {
            F::widen_slice(&from.values[line * stride + inner.start..line * stride + inner.end], to);
        }
    }

    pub(super) fn matrix(&self) -> Matrix<'_, W> {
        if self.transposed {
            Matrix::row_major(&self.values, self.columns, self.rows).transposed()
        } else {
            Matrix::row_major(&self.values, self.rows, self.columns)
        }
    }
}
