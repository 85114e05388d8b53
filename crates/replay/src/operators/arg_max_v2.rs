//! ArgMaxV2: index of the maximum along the last dimension, the first of equals; NaN counts as the largest.

use crate::kernels::rows::each_row;
use crate::kernels::shape::elements;
use crate::kernels::sort::{Ordered, first_largest};
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{require, values, zeros};
use crate::kernels::with_type;
use perfdb_store::Semantics;
use perfdb_store::dtype::DType;

use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::inputs::{dtypes, shapes};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::{Recorded, Row};

pub(super) const OPERATOR: Operator = Operator::new("ArgMaxV2", INPUTS, plan, run);

fn plan(row: &Row<'_>, options: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let x = match (inputs.slots(), options.semantics) {
        // The call gives the kernel the axis as a tensor, and a profiler sees it.
        ([x, axis], Semantics::Corrected) if is_axis(axis) => x,
        _ => &inputs.exactly::<1>()?[0],
    };
    let ([shape], [dtype]) = (shapes([x])?, dtypes([x])?);
    Ok(Call::new("torch.argmax").arg_tensor(x.tensor("x", shape, dtype)).kwarg("dim", -1).into())
}

fn is_axis(slot: &Recorded<'_>) -> bool {
    elements(&slot.shape) == 1 && matches!(slot.dtype(), Ok(DType::Int32 | DType::Int64))
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let x = bindings.tensor(0)?;
    with_type!(x.dtype(), T => largest::<T>(x)).map(|indices| vec![indices])
}

fn largest<T: Ordered>(x: &Tensor) -> Result<Output, CaseError> {
    let width = x.last_size();
    require(width > 0, || "argmax of nothing".to_owned())?;
    let outer = x.shape().split_last().map_or(&[][..], |(_, outer)| outer);
    let mut indices = zeros::<i64>(outer)?;
    let x = values::<T>(x)?;
    each_row(&mut indices, 1, width, |row, index| index[0] = first_largest(&x[row * width..(row + 1) * width]) as i64);
    output(outer, indices)
}
