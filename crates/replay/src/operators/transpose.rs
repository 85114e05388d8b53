//! Transpose: two dimensions swapped, or all of them in the order that gives the recorded output, and copied.

use crate::kernels::permute::permute;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Stored, require, values};
use crate::kernels::with_type;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::inputs::{dtypes, shapes};
use crate::operator::{Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, output_count, shape_mismatch};
use crate::row::{Row, column};

const READS: &[&str] = &[column::INPUT_SHAPES, column::INPUT_DATA_TYPES, column::INPUT_FORMATS, column::OUTPUT_SHAPES];

pub(super) const OPERATOR: Operator = Operator::new("Transpose", READS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let recorded = row.outputs()?.first_shape();
    let [x] = inputs.at_least()?;
    let recorded = recorded.ok_or_else(|| output_count("no recorded output"))?;
    let ([shape], [dtype]) = (shapes([x])?, dtypes([x])?);
    let [first, second] = swap(&shape, &recorded);
    let mut swapped = shape.clone();
    if first < swapped.len() && second < swapped.len() {
        swapped.swap(first, second);
    }
    let spec = x.tensor("x", shape.clone(), dtype);
    // Equal shapes keep the swap, even where its result has another shape.
    let mut call = if swapped == recorded || shape == recorded {
        Call::new("torch.transpose").arg_tensor(spec).arg(first).arg(second)
    } else {
        let order = smallest_permutation(&shape, &recorded)
            .ok_or_else(|| shape_mismatch(format!("{recorded:?} is not a permutation of {shape:?}")))?;
        let order: Vec<i64> = order.into_iter().map(|at| at as i64).collect();
        Call::new("torch.permute").arg_tensor(spec).arg(order)
    };
    call.then = Some("contiguous".into());
    Ok(call.into())
}

/// The first two positions where the sizes differ; 0 and 1 where fewer do, 0 and 0 for a vector.
fn swap(shape: &[usize], recorded: &[usize]) -> [usize; 2] {
    let mut differing = shape.iter().zip(recorded).enumerate().filter(|(_, (from, to))| from != to).map(|(at, _)| at);
    match (differing.next(), differing.next()) {
        (Some(first), Some(second)) => [first, second],
        _ => [0, usize::from(shape.len() > 1)],
    }
}

/// The lexicographically smallest order of dimensions that turns `shape` into `recorded`.
fn smallest_permutation(shape: &[usize], recorded: &[usize]) -> Option<Vec<usize>> {
    if shape.len() != recorded.len() {
        return None;
    }
    // Dimensions of one size are interchangeable, so taking the first free one at each place is smallest.
    let mut free: Vec<bool> = vec![true; shape.len()];
    recorded
        .iter()
        .map(|size| {
            let at = (0..shape.len()).find(|at| free[*at] && shape[*at] == *size)?;
            free[at] = false;
            Some(at)
        })
        .collect()
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let x = bindings.tensor(0)?;
    let rank = x.shape().len();
    let dimension = |number: i64| {
        let at = if number < 0 { number + rank as i64 } else { number };
        usize::try_from(at)
            .ok()
            .filter(|at| *at < rank)
            .ok_or_else(|| CaseError::rejected(format!("dimension {number} of {rank}")))
    };
    let order = match (bindings.arg(1)?, bindings.call().args.get(2)) {
        (Argument::List(items), None) => items
            .iter()
            .map(|item| {
                if let Argument::Number(number) = item {
                    dimension(number.as_i64())
                } else {
                    Err(CaseError::rejected("a dimension must be a number"))
                }
            })
            .collect::<Result<Vec<_>, _>>()?,
        (Argument::Number(first), Some(Argument::Number(second))) => {
            let mut order: Vec<usize> = (0..rank).collect();
            order.swap(dimension(first.as_i64())?, dimension(second.as_i64())?);
            order
        }
        _ => return Err(CaseError::rejected("two dimensions or a list of all are needed")),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    require(sorted.into_iter().eq(0..rank), || format!("{order:?} is not an order of {rank} dimensions"))?;
    with_type!(x.dtype(), T => permuted::<T>(x, &order)).map(|permuted| vec![permuted])
}

fn permuted<T: Stored>(x: &Tensor, order: &[usize]) -> Result<Output, CaseError> {
    let shape: Vec<usize> = order.iter().map(|at| x.shape()[*at]).collect();
    output(shape, permute(values::<T>(x)?, x.shape(), order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_dimensions_are_swapped() {
        assert_eq!(swap(&[4, 1024, 12288], &[1024, 4, 12288]), [0, 1]);
        assert_eq!(swap(&[2, 3, 4], &[2, 4, 3]), [1, 2]);
        assert_eq!(swap(&[9], &[9]), [0, 0]);
        assert_eq!(swap(&[3, 3], &[3, 3]), [0, 1]);
    }

    #[test]
    fn smallest_orders() {
        assert_eq!(smallest_permutation(&[2, 3, 4], &[3, 4, 2]), Some(vec![1, 2, 0]));
        assert_eq!(smallest_permutation(&[2, 3, 2, 4], &[4, 2, 3, 2]), Some(vec![3, 0, 1, 2]));
        assert_eq!(smallest_permutation(&[2, 3], &[2, 4]), None);
        assert_eq!(smallest_permutation(&[2, 3], &[2, 3, 1]), None);
    }
}
