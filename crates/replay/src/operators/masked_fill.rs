//! MaskedFill: zeros where the mask is true, in place.

use crate::kernels::broadcast::{Stretched, mask_into};
use crate::kernels::cast::{Convert, cast};
use crate::kernels::number::Number;
use crate::kernels::shape::{broadcasts_to, elements};
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{require, values, values_mut};
use crate::kernels::with_type;
use perfdb_store::Semantics;
use perfdb_store::dtype::DType;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output};
use crate::case::Call;
use crate::inputs::{dtypes, require_fit, shapes};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("MaskedFill", INPUTS, plan, run);

fn plan(row: &Row<'_>, options: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let (x, mask) = match (inputs.slots(), options.semantics) {
        // The call gives the kernel the value as a tensor, and a profiler sees it.
        ([x, mask, value], Semantics::Corrected) if elements(&value.shape) == 1 => (x, mask),
        _ => inputs.exactly().map(|[x, mask]| (x, mask))?,
    };
    let [x_shape, mask_shape] = shapes([x, mask])?;
    let [dtype] = dtypes([x])?;
    require_fit(broadcasts_to(&mask_shape, &x_shape), || {
        format!("mask of shape {mask_shape:?} does not broadcast to {x_shape:?}")
    })?;
    Ok(Call::new("torch.Tensor.masked_fill_")
        .arg_tensor(x.tensor("x", x_shape, dtype))
        .arg_tensor(mask.tensor("mask", mask_shape, DType::Bool))
        .arg(0)
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let Argument::Number(value) = *bindings.arg(2)? else {
        return Err(CaseError::rejected("argument 2 must be a number"));
    };
    let mut x = bindings.take(0)?;
    let mask = bindings.tensor(1)?;
    require(broadcasts_to(mask.shape(), x.tensor.shape()), || {
        format!("mask of shape {:?} does not broadcast", mask.shape())
    })?;
    with_type!(x.tensor.dtype(), T => fill::<T>(&mut x.tensor, mask, value))?;
    Ok(vec![Output::InPlace(x)])
}

fn fill<T: Convert>(x: &mut Tensor, mask: &Tensor, value: Number) -> Result<(), CaseError> {
    let number = cast(&Tensor::scalar(Number::Float(value.as_f64())), x.dtype())?;
    let value = values::<T>(&number)?.first().copied().unwrap_or_default();
    let [way] = Stretched::all([mask.shape()], x.shape());
    mask_into(values_mut::<T>(x)?, (values::<bool>(mask)?, &way), value);
    Ok(())
}
