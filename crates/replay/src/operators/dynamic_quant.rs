//! DynamicQuant: every row to int8 with a scale of its own.

use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::inputs::{floats, shapes};
use crate::kernels::quantise::quantise_row;
use crate::kernels::rows::map_rows;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, require, values, zeros};
use crate::kernels::with_float;
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::Row;
use num_traits::ToPrimitive;

pub(super) const OPERATOR: Operator = Operator::new("DynamicQuant", INPUTS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let [x] = inputs.exactly()?;
    let [shape] = shapes([x])?;
    if shape.len() < 2 {
        return Err(x.wrong_rank("at least 2"));
    }
    let [dtype] = floats([x])?;
    Ok(Call::new("torch_npu.npu_dynamic_quant").arg_tensor(x.tensor("x", shape, dtype)).into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let x = bindings.tensor(0)?;
    with_float!(x.dtype(), E => quantise::<E>(x))
}

fn quantise<E: Float>(x: &Tensor) -> Result<Vec<Output>, CaseError> {
    let outer = x.shape().split_last().map(|(_, outer)| outer.to_vec());
    require(outer.is_some(), || "a scalar has no rows".to_owned())?;
    let outer = outer.unwrap_or_default();
    let (mut quantised, mut scales) = (zeros::<i8>(x.shape())?, zeros::<f32>(&outer)?);
    let width = x.last_size();
    map_rows(values::<E>(x)?, width, &mut quantised, width, &mut scales, |_, row, to, scale| {
        *scale = quantise_row(row, to).to_f32().unwrap_or(f32::NAN);
    });
    Ok(vec![output(x.shape(), quantised)?, output(outer, scales)?])
}
