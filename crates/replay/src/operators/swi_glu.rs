//! SwiGlu: silu of the first half of each row times the second half.

use crate::kernels::normalise::swiglu;
use crate::kernels::rows::map_plain_rows;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, require, values, zeros};
use crate::kernels::with_float;

use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::inputs::{floats, require_fit, shapes};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("SwiGlu", INPUTS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let [x] = inputs.exactly()?;
    let [shape] = shapes([x])?;
    let [dtype] = floats([x])?;
    require_fit(shape.last().is_some_and(|size| size.is_multiple_of(2)), || format!("{shape:?} has no two halves"))?;
    Ok(Call::new("torch_npu.npu_swiglu").arg_tensor(x.tensor("x", shape, dtype)).kwarg("dim", -1).into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let x = bindings.tensor(0)?;
    with_float!(x.dtype(), E => of_rows::<E>(x)).map(|out| vec![out])
}

fn of_rows<E: Float>(x: &Tensor) -> Result<Output, CaseError> {
    let width = x.last_size();
    require(!x.shape().is_empty() && width.is_multiple_of(2), || format!("{:?} has no two halves", x.shape()))?;
    let mut shape = x.shape().to_vec();
    shape.last_mut().into_iter().for_each(|size| *size /= 2);
    let mut out = zeros::<E>(&shape)?;
    map_plain_rows(values::<E>(x)?, width, &mut out, width / 2, |_, row, out| E::round_slice(swiglu(row), out));
    output(shape, out)
}
