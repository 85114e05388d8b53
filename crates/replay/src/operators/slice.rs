//! Slice: the corner of a tensor. Real offsets are not in the database, so it starts at 0.

use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Stored, require, values, zeros};
use crate::kernels::window::copy_window;
use crate::kernels::with_type;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::inputs::resized;
use crate::operator::{Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, out_of_range};
use crate::row::{Row, column};

const READS: &[&str] = &[column::INPUT_SHAPES, column::INPUT_DATA_TYPES, column::INPUT_FORMATS, column::OUTPUT_SHAPES];

pub(super) const OPERATOR: Operator = Operator::new("Slice", READS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let (x, shape, dtype, recorded) = resized(row, |shape, recorded| format!("{recorded:?} of {shape:?}"))?;
    if recorded.iter().zip(&shape).any(|(to, from)| to > from) {
        return Err(out_of_range(format!("{recorded:?} of {shape:?}")));
    }
    let sizes: Vec<i64> = recorded.iter().map(|size| *size as i64).collect();
    Ok(Call::new("torch_npu.npu_slice")
        .arg_tensor(x.tensor("x", shape, dtype))
        .arg(vec![0_i64; sizes.len()])
        .arg(sizes)
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let x = bindings.tensor(0)?;
    let (offsets, sizes) = (integers(bindings.arg(1)?)?, integers(bindings.arg(2)?)?);
    with_type!(x.dtype(), T => part::<T>(x, &offsets, &sizes)).map(|part| vec![part])
}

fn integers(argument: &Argument) -> Result<Vec<i64>, CaseError> {
    let refusal = || CaseError::rejected("offsets and sizes must be lists of integers");
    let Argument::List(items) = argument else {
        return Err(refusal());
    };
    items
        .iter()
        .map(|item| if let Argument::Number(number) = item { Ok(number.as_i64()) } else { Err(refusal()) })
        .collect()
}

fn part<T: Stored>(x: &Tensor, offsets: &[i64], sizes: &[i64]) -> Result<Output, CaseError> {
    let rank = x.shape().len();
    let inside = |at: usize| {
        offsets[at] >= 0
            && sizes[at] >= 0
            && offsets[at].checked_add(sizes[at]).is_some_and(|end| end <= x.shape()[at] as i64)
    };
    let fits = offsets.len() == rank && sizes.len() == rank && (0..rank).all(inside);
    require(fits, || format!("{sizes:?} at {offsets:?} of {:?}", x.shape()))?;
    let shape: Vec<usize> = sizes.iter().map(|size| *size as usize).collect();
    let mut out = zeros::<T>(&shape)?;
    copy_window(values::<T>(x)?, x.shape(), &mut out, &shape, offsets);
    output(shape, out)
}
