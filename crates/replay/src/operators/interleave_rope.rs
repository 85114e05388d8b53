//! InterleaveRope: rotary position embedding of elements that lie in pairs.

use crate::kernels::rope::{even_then_odd, rotate_halves};
use crate::kernels::rows::map_plain_rows;
use crate::kernels::shape::broadcasts_to;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, rank, require, values, wide, zeros};
use crate::kernels::with_float;

use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::inputs::{floats, require_fit};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("InterleaveRope", INPUTS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let [x, cos, sin] = inputs.exactly()?;
    let (x_shape, cos_shape, sin_shape) = (x.logical_rank::<4>()?, cos.logical_rank::<4>()?, sin.logical_rank::<4>()?);
    let [x_dtype, cos_dtype, sin_dtype] = floats([x, cos, sin])?;
    require_fit(x_shape[3].is_multiple_of(2), || format!("{} elements cannot be paired", x_shape[3]))?;
    for (name, shape) in [("cos", cos_shape), ("sin", sin_shape)] {
        require_fit(broadcasts_to(&shape, &x_shape), || {
            format!("{name} of shape {shape:?} does not broadcast to {x_shape:?}")
        })?;
    }
    Ok(Call::new("torch_npu.npu_interleave_rope")
        .arg_tensor(x.tensor("x", x_shape, x_dtype))
        .arg_tensor(cos.tensor("cos", cos_shape, cos_dtype))
        .arg_tensor(sin.tensor("sin", sin_shape, sin_dtype))
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let (x, cos, sin) = (bindings.tensor(0)?, bindings.tensor(1)?, bindings.tensor(2)?);
    with_float!(x.dtype(), E => rotate::<E>(x, cos, sin)).map(|rotated| vec![rotated])
}

fn rotate<E: Float>(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Output, CaseError> {
    let shape = rank::<4>(x, "x")?;
    let (cos_shape, sin_shape) = (rank::<4>(cos, "cos")?, rank::<4>(sin, "sin")?);
    let width = shape[3];
    require(width % 2 == 0, || format!("{width} elements cannot be paired"))?;
    for stretched in [cos_shape, sin_shape] {
        require(broadcasts_to(&stretched, &shape), || format!("{stretched:?} does not broadcast to {shape:?}"))?;
    }
    // A factor that is the same for all elements is written out, then each row of x has its row of factors.
    let spread = |tensor: &Tensor, factors: [usize; 4]| -> Result<Vec<E::Wide>, CaseError> {
        let values = wide::<E::Wide>(tensor)?;
        Ok(if factors[3] == width {
            values
        } else {
            values.iter().flat_map(|value| std::iter::repeat_n(*value, width)).collect()
        })
    };
    let (cos, sin) = (spread(cos, cos_shape)?, spread(sin, sin_shape)?);
    let x = values::<E>(x)?;
    let mut out = zeros::<E>(&shape)?;
    map_plain_rows(x, width, &mut out, width, |row, x, out| {
        let of = |factors: [usize; 4]| stretched_row(row, &shape, &factors) * width;
        let (cos_at, sin_at) = (of(cos_shape), of(sin_shape));
        let mut z = vec![E::Wide::default(); width];
        even_then_odd(x, &mut z);
        rotate_halves(&mut z, &cos[cos_at..cos_at + width], &sin[sin_at..sin_at + width]);
        E::round_slice(&z, out);
    });
    output(shape, out)
}

/// The row of a stretched tensor that goes with a row of the whole.
fn stretched_row(row: usize, shape: &[usize; 4], stretched: &[usize; 4]) -> usize {
    let coordinates = [row / (shape[1] * shape[2]), row / shape[2] % shape[1], row % shape[2]];
    coordinates
        .iter()
        .zip(stretched)
        .fold(0, |at, (coordinate, size)| at * size + if *size == 1 { 0 } else { *coordinate })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_stretched_tensors() {
        let shape = [2, 3, 4, 8];
        assert_eq!(stretched_row(23, &shape, &shape), 23);
        assert_eq!(stretched_row(23, &shape, &[2, 1, 4, 8]), 7);
        assert_eq!(stretched_row(13, &shape, &[2, 1, 1, 8]), 1);
        assert_eq!(stretched_row(13, &shape, &[1, 1, 1, 8]), 0);
    }
}
