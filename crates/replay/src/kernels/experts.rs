//! Feed-forward networks of the experts of a mixture: two products with SwiGLU between them.

use crate::kernels::element::{Element, Wide};
use crate::kernels::error::KernelError;
use crate::kernels::matmul::{Factor, Operand, product};
use crate::kernels::normalise::swiglu;
use crate::kernels::quantise::quantise_row;
use crate::kernels::rows::{map_plain_rows, map_rows};
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, Stored, require, scales, values};
use perfdb_store::dtype::DType;

/// One weight matrix: in the type of the tokens, or int8 with a scale per column.
enum Weight<'a, E: Element> {
    Plain(Operand<'a, E>),
    Quantised { matrix: Operand<'a, i8>, scales: Vec<E::Wide> },
}

/// The weights of one expert.
pub struct Expert<'a, E: Element> {
    up: Weight<'a, E>,
    down: Weight<'a, E>,
    hidden: usize,
    inner: usize,
}

/// The experts of a layer. Each list holds one tensor of all experts, or one per expert. Rows have `hidden` elements.
pub fn experts<'a, E: Float>(
    up: &[&'a Tensor],
    down: &[&'a Tensor],
    up_scales: &[&Tensor],
    down_scales: &[&Tensor],
    hidden: usize,
) -> Result<Vec<Expert<'a, E>>, KernelError> {
    let inner = up.first().map_or(0, |tensor| tensor.last_size());
    require(inner.is_multiple_of(2), || format!("{inner} columns have no two halves"))?;
    let ups = weights::<E>(up, up_scales, [hidden, inner])?;
    let downs = weights::<E>(down, down_scales, [inner / 2, hidden])?;
    require(ups.len() == downs.len(), || format!("{} and {} experts", ups.len(), downs.len()))?;
    Ok(ups.into_iter().zip(downs).map(|(up, down)| Expert { up, down, hidden, inner }).collect())
}

fn weights<'a, E: Float>(
    tensors: &[&'a Tensor],
    scale_tensors: &[&Tensor],
    [rows, columns]: [usize; 2],
) -> Result<Vec<Weight<'a, E>>, KernelError> {
    match tensors.first().map(|tensor| tensor.dtype()) {
        Some(DType::Int8) => {
            let matrices = matrices::<i8>(tensors, [rows, columns])?;
            let mut all = Vec::new();
            for tensor in scale_tensors {
                all.extend(scales::<E::Wide>(tensor)?);
            }
            require(all.len() == matrices.len() * columns, || {
                format!("{} scales for {} matrices of {columns} columns", all.len(), matrices.len())
            })?;
            let of_matrix = |at: usize| all[at * columns..(at + 1) * columns].to_vec();
            Ok(matrices
                .into_iter()
                .enumerate()
                .map(|(at, matrix)| Weight::Quantised { matrix, scales: of_matrix(at) })
                .collect())
        }
        _ => Ok(matrices::<E>(tensors, [rows, columns])?.into_iter().map(Weight::Plain).collect()),
    }
}

fn matrices<'a, F: Stored>(
    tensors: &[&'a Tensor],
    [rows, columns]: [usize; 2],
) -> Result<Vec<Operand<'a, F>>, KernelError> {
    let mut matrices = Vec::new();
    for tensor in tensors {
        let fits = matches!(*tensor.shape(), [r, c] | [_, r, c] if (r, c) == (rows, columns));
        require(fits && rows * columns > 0, || {
            format!("weight of shape {:?}, expected {rows} by {columns}", tensor.shape())
        })?;
        matrices.extend(
            values::<F>(tensor)?.chunks_exact(rows * columns).map(|values| Operand::row_major(values, rows, columns)),
        );
    }
    Ok(matrices)
}

impl<E: Float> Expert<'_, E>
where
    E::Wide: Element<Wide = E::Wide>,
{
    /// Σ over the inner dimension of silu(gate) · up · down for each row; the rows one after the other.
    pub fn feed_forward(&self, rows: &[&[E]]) -> Vec<E::Wide> {
        let (hidden, inner) = (self.hidden, self.inner);
        let first = match &self.up {
            Weight::Plain(matrix) => {
                let x = rows.concat();
                multiply::<E, E>(Operand::row_major(&x, rows.len(), hidden), *matrix, inner)
            }
            Weight::Quantised { matrix, scales } => {
                let x: Vec<Vec<E::Wide>> = rows.iter().map(|row| crate::kernels::element::widened(row)).collect();
                quantised_product(&x.concat(), hidden, *matrix, scales)
            }
        };
        let half = inner / 2;
        let mut second = vec![E::Wide::default(); rows.len() * half];
        map_plain_rows(&first, inner, &mut second, half, |_, row, to| to.copy_from_slice(swiglu(row)));
        match &self.down {
            Weight::Plain(matrix) => {
                multiply::<E::Wide, E>(Operand::row_major(&second, rows.len(), half), *matrix, hidden)
            }
            Weight::Quantised { matrix, scales } => quantised_product(&second, half, *matrix, scales),
        }
    }
}

fn multiply<F: Element, G: Element<Wide = F::Wide>>(
    a: Operand<'_, F>,
    b: Operand<'_, G>,
    columns: usize,
) -> Vec<F::Wide> {
    let mut out = vec![F::Wide::default(); a.rows() * columns];
    product(a, b, out.chunks_exact_mut(columns.max(1)).collect(), |_, _, sums: &[<F as Factor>::Sum], line| {
        line.copy_from_slice(sums)
    });
    out
}

/// Rows of `width` elements quantised one by one, multiplied, and scaled back per row and column.
fn quantised_product<W: Wide + Element<Wide = W>>(
    rows: &[W],
    width: usize,
    matrix: Operand<'_, i8>,
    scales: &[W],
) -> Vec<W> {
    let count = rows.len().checked_div(width).unwrap_or(0);
    let (mut quantised, mut row_scales) = (vec![0i8; rows.len()], vec![W::zero(); count]);
    map_rows(rows, width, &mut quantised, width, &mut row_scales, |_, row, to, scale| *scale = quantise_row(row, to));
    let mut out = vec![W::zero(); count * scales.len()];
    let lines = out.chunks_exact_mut(scales.len().max(1)).collect();
    product(Operand::row_major(&quantised, count, width), matrix, lines, |row, column, sums, line| {
        for ((to, sum), scale) in line.iter_mut().zip(sums).zip(&scales[column..]) {
            *to = W::from_f64(f64::from(*sum)) * *scale * row_scales[row];
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tensor::Data;

    fn tensor(shape: &[usize], data: Data) -> Tensor {
        Tensor::new(shape, data).expect("as many values as the shape has")
    }

    #[test]
    fn int8_experts_are_close_to_plain_ones() {
        let up: Vec<i8> = (0..2 * 4 * 6).map(|i| (i * 37 % 21) as i8 - 10).collect();
        let down: Vec<i8> = (0..2 * 3 * 4).map(|i| (i * 23 % 19) as i8 - 9).collect();
        let scales =
            |count: usize| tensor(&[count], Data::Float32((0..count).map(|i| 0.01 + i as f32 * 0.001).collect()));
        let (up_scales, down_scales) = (scales(12), scales(8));
        let plain = |values: &[i8], columns: usize, rows: usize, scale: f32| -> Vec<f32> {
            values
                .iter()
                .enumerate()
                .map(|(i, v)| f32::from(*v) * (scale + ((i / (rows * columns)) * columns + i % columns) as f32 * 0.001))
                .collect()
        };
        let plain_up = tensor(&[2, 4, 6], Data::Float32(plain(&up, 6, 4, 0.01)));
        let plain_down = tensor(&[2, 3, 4], Data::Float32(plain(&down, 4, 3, 0.01)));
        let (up, down) = (tensor(&[2, 4, 6], Data::Int8(up)), tensor(&[2, 3, 4], Data::Int8(down)));
        let row = [0.5f32, -1.0, 0.25, 0.75];
        let quantised = experts::<f32>(&[&up], &[&down], &[&up_scales], &[&down_scales], 4).expect("experts");
        let exact = experts::<f32>(&[&plain_up], &[&plain_down], &[], &[], 4).expect("experts");
        for (quantised, exact) in quantised.iter().zip(&exact) {
            for (a, b) in quantised.feed_forward(&[&row, &row]).into_iter().zip(exact.feed_forward(&[&row, &row])) {
                assert!((a - b).abs() < 2e-4, "{a} {b}");
            }
        }
        assert!(experts::<f32>(&[&up], &[&down], &[], &[], 4).is_err(), "scales are missing");
    }
}
