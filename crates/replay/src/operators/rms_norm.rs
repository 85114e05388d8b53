//! RmsNorm: rows divided by their root mean square, with a gain; the factor is the second output.

use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::inputs::{floats, require_fit, shapes};
use crate::kernels::element::Wide;
use crate::kernels::normalise::root_mean_square_norm;
use crate::kernels::rows::map_rows;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, expect_shape, values, wide, zeros};
use crate::kernels::with_float;
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::Row;
use num_traits::ToPrimitive;

pub(super) const OPERATOR: Operator = Operator::new("RmsNorm", INPUTS, plan, run);

const EPSILON: f64 = 1e-6;

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let [x, gamma] = inputs.exactly()?;
    let [x_shape, gamma_shape] = shapes([x, gamma])?;
    let [x_dtype, gamma_dtype] = floats([x, gamma])?;
    let width = x_shape.last().copied();
    require_fit(gamma_shape.len() == 1 && gamma_shape.first().copied() == width, || {
        format!("gamma of shape {gamma_shape:?} for {x_shape:?}")
    })?;
    Ok(Call::new("torch_npu.npu_rms_norm")
        .arg_tensor(x.tensor("x", x_shape, x_dtype))
        .arg_tensor(gamma.tensor("gamma", gamma_shape, gamma_dtype))
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let (x, gamma) = (bindings.tensor(0)?, bindings.tensor(1)?);
    expect_shape(gamma, "gamma", &[x.last_size()])?;
    with_float!(x.dtype(), E => normalise::<E>(x, gamma))
}

fn normalise<E: Float>(x: &Tensor, gamma: &Tensor) -> Result<Vec<Output>, CaseError> {
    let (width, gamma, epsilon) = (x.last_size(), wide::<E::Wide>(gamma)?, E::Wide::from_f64(EPSILON));
    let mut factor_shape = x.shape().to_vec();
    factor_shape.last_mut().into_iter().for_each(|size| *size = 1);
    let (mut out, mut factors) = (zeros::<E>(x.shape())?, zeros::<f32>(&factor_shape)?);
    map_rows(values::<E>(x)?, width, &mut out, width, &mut factors, |_, row, out, factor| {
        *factor = root_mean_square_norm(row, &gamma, epsilon).to_f32().unwrap_or(f32::NAN);
        E::round_slice(row, out);
    });
    Ok(vec![output(x.shape(), out)?, output(factor_shape, factors)?])
}
