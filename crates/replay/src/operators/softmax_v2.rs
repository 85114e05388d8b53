//! SoftmaxV2: softmax over the last dimension.

use crate::kernels::normalise::softmax;
use crate::kernels::rows::map_plain_rows;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, values, zeros};
use crate::kernels::with_float;

use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::inputs::{floats, shapes};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("SoftmaxV2", INPUTS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let [x] = inputs.exactly()?;
    let [shape] = shapes([x])?;
    let [dtype] = floats([x])?;
    Ok(Call::new("torch.nn.functional.softmax").arg_tensor(x.tensor("x", shape, dtype)).kwarg("dim", -1).into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let x = bindings.tensor(0)?;
    with_float!(x.dtype(), E => of_rows::<E>(x)).map(|out| vec![out])
}

fn of_rows<E: Float>(x: &Tensor) -> Result<Output, CaseError> {
    let width = x.last_size();
    let mut out = zeros::<E>(x.shape())?;
    map_plain_rows(values::<E>(x)?, width, &mut out, width, |_, row, out| {
        softmax(row);
        E::round_slice(row, out);
    });
    output(x.shape(), out)
}
