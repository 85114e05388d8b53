//! Batched matrix products of whole tensors, of every element type.

use crate::kernels::error::KernelError;
use crate::kernels::jobs::Jobs;
use crate::kernels::matmul::{Operand, integer_product, product, rounded_product};
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, Stored, zeros};
use perfdb_store::dtype::DType;

/// Where a batch's rows lie in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// (batch, row, column).
    BatchFirst,
    /// (row, batch, column).
    RowFirst,
}

/// Sizes of a product: every batch multiplies (m, k) by (k, n).
#[derive(Clone, Copy, Debug)]
struct Sizes {
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
}

/// `a` · `b` for matrices, or for each pair of matrices of two three-dimensional tensors; the result has the inputs' type.
pub fn matrix_product(a: &Tensor, b: &Tensor, order: Order) -> Result<Tensor, KernelError> {
    let refusal = || KernelError::rejected(format!("shapes {:?} and {:?} cannot be multiplied", a.shape(), b.shape()));
    let sizes = match (a.shape(), b.shape()) {
        (&[m, k], &[inner, n]) if k == inner => Sizes { batch: 1, m, n, k },
        (&[batch, m, k], &[b_batch, inner, n]) if k == inner && batch == b_batch => Sizes { batch, m, n, k },
        _ => return Err(refusal()),
    };
    if a.dtype() != b.dtype() {
        return Err(KernelError::rejected(format!("a product of {} and {}", a.dtype(), b.dtype())));
    }
    let shape = match (a.shape().len(), order) {
        (2, _) => vec![sizes.m, sizes.n],
        (_, Order::BatchFirst) => vec![sizes.batch, sizes.m, sizes.n],
        (_, Order::RowFirst) => vec![sizes.m, sizes.batch, sizes.n],
    };
    match a.dtype() {
        DType::Float32 => floats::<f32>(a, b, sizes, order, shape),
        DType::Float16 => floats::<half::f16>(a, b, sizes, order, shape),
        DType::BFloat16 => floats::<half::bf16>(a, b, sizes, order, shape),
        DType::Float64 => floats::<f64>(a, b, sizes, order, shape),
        DType::Int8 => each_batch::<i8>(a, b, sizes, order, shape, |a, b, lines| {
            product(a, b, lines, |_, _, sums, line| line.iter_mut().zip(sums).for_each(|(to, sum)| *to = *sum as i8));
        }),
        DType::UInt8 => integers::<u8>(a, b, sizes, order, shape, i64::from, |sum| sum as u8),
        DType::Int16 => integers::<i16>(a, b, sizes, order, shape, i64::from, |sum| sum as i16),
        DType::Int32 => integers::<i32>(a, b, sizes, order, shape, i64::from, |sum| sum as i32),
        DType::Int64 => integers::<i64>(a, b, sizes, order, shape, |value| value, |sum| sum),
        DType::Bool => integers::<bool>(a, b, sizes, order, shape, i64::from, |sum| sum != 0),
        other => Err(KernelError::unsupported(format!("products of {other}"))),
    }
}

fn floats<E: Float>(
    a: &Tensor,
    b: &Tensor,
    sizes: Sizes,
    order: Order,
    shape: Vec<usize>,
) -> Result<Tensor, KernelError> {
    each_batch::<E>(a, b, sizes, order, shape, rounded_product)
}

fn integers<I: Stored>(
    a: &Tensor,
    b: &Tensor,
    sizes: Sizes,
    order: Order,
    shape: Vec<usize>,
    widen: impl Fn(I) -> i64 + Sync,
    narrow: impl Fn(i64) -> I + Sync,
) -> Result<Tensor, KernelError> {
    each_batch::<I>(a, b, sizes, order, shape, |a, b, lines| integer_product(a, b, lines, &widen, &narrow))
}

fn each_batch<T: Stored>(
    a: &Tensor,
    b: &Tensor,
    sizes: Sizes,
    order: Order,
    shape: Vec<usize>,
    multiply: impl Fn(Operand<'_, T>, Operand<'_, T>, Vec<&mut [T]>) + Sync,
) -> Result<Tensor, KernelError> {
    let Sizes { batch, m, n, k } = sizes;
    let internal = || KernelError::rejected("operands of another type");
    let (left, right) = (T::slice(a.data()).ok_or_else(internal)?, T::slice(b.data()).ok_or_else(internal)?);
    let mut out = zeros::<T>(&shape)?;
    if !out.is_empty() && k > 0 {
        let mut lines: Vec<Vec<&mut [T]>> = (0..batch).map(|_| Vec::with_capacity(m)).collect();
        for (at, line) in out.chunks_exact_mut(n).enumerate() {
            let owner = if order == Order::BatchFirst { at / m } else { at % batch };
            lines[owner].push(line);
        }
        let mut jobs = Jobs::new();
        for ((left, right), lines) in left.chunks_exact(m * k).zip(right.chunks_exact(k * n)).zip(lines) {
            let (left, right) =
                (Operand::new(left, m, k, a.is_transposed()), Operand::new(right, k, n, b.is_transposed()));
            let multiply = &multiply;
            jobs.add(move || multiply(left, right, lines));
        }
        jobs.run();
    }
    Tensor::new(shape, T::wrap(out)).ok_or_else(|| KernelError::Internal("a product of another size".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tensor::Data;

    fn tensor(shape: &[usize], values: &[f32]) -> Tensor {
        Tensor::new(shape, Data::Float32(values.to_vec())).expect("as many values as the shape has")
    }

    #[test]
    fn batches_in_both_orders() {
        let a = tensor(&[2, 2, 1], &[1.0, 2.0, 3.0, 4.0]);
        let b = tensor(&[2, 2, 1], &[1.0, 10.0, 100.0, 1000.0]).transposed_view();
        let values = |order| match matrix_product(&a, &b, order).expect("a product").data() {
            Data::Float32(values) => values.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(values(Order::BatchFirst), [1.0, 10.0, 2.0, 20.0, 300.0, 3000.0, 400.0, 4000.0]);
        assert_eq!(values(Order::RowFirst), [1.0, 10.0, 300.0, 3000.0, 2.0, 20.0, 400.0, 4000.0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |a: &[usize], b: &[usize]| {
            let zeros = |shape: &[usize]| Tensor::new(shape, Data::Int8(vec![0; shape.iter().product()]));
            matrix_product(&zeros(a).expect("a tensor"), &zeros(b).expect("a tensor"), Order::BatchFirst).is_err()
        };
        assert!(refused(&[2, 3], &[2, 3]) && refused(&[2, 3, 4], &[4, 4]) && refused(&[2, 3, 4], &[1, 4, 4]));
        assert!(!refused(&[2, 3], &[3, 2]));
    }
}
