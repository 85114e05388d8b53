//! AddRmsNormBias: x = x1 + x2, then the root-mean-square norm of its rows with a gain and a bias.

use crate::kernels::broadcast::{Stretched, combine_floats};
use crate::kernels::normalise::root_mean_square_norm;
use crate::kernels::rows::map_rows;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, expect_shape, rank, values, wide, zeros};
use crate::kernels::with_float;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::inputs::{floats, require_fit};
use crate::operator::{Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::{Row, Slot, column};

const READS: &[&str] = &[column::INPUT_SHAPES, column::INPUT_DATA_TYPES, column::INPUT_FORMATS, column::OUTPUT_SHAPES];
const EPSILON: f64 = 1e-6;

pub(super) const OPERATOR: Operator = Operator::new("AddRmsNormBias", READS, plan, run).checked();

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?;
    inputs.filled(3)?;
    inputs.exactly_in_all_lists(4)?;
    let slot = |at| inputs.get(at).required()?.described_in_place();
    let (x1, x2, gamma) = (slot(0)?, slot(1)?, slot(2)?);
    let bias_slot = inputs.get(3);
    let has_bias = is_recorded(&bias_slot);
    let bias = bias_slot.recorded();
    let ([m, h], [m2, h2]) = (x1.logical_rank::<2>()?, x2.logical_rank::<2>()?);
    let (gamma_shape, bias_shape) = (gamma.logical()?, bias.as_ref().map(|bias| bias.logical()).transpose()?);
    let [x1_dtype, x2_dtype, gamma_dtype] = floats([&x1, &x2, &gamma])?;
    let bias = bias.filter(|_| has_bias);
    let bias_dtype = bias.as_ref().map(|bias| floats([bias])).transpose()?;
    require_fit((m, h) == (m2, h2), || format!("x1 is {:?}, x2 is {:?}", [m, h], [m2, h2]))?;
    require_fit(gamma_shape == [h], || format!("gamma is {gamma_shape:?}, expected [{h}]"))?;
    if let Some(shape) = &bias_shape {
        require_fit(*shape == [h], || format!("beta is {shape:?}, expected [{h}]"))?;
    }
    let call = Call::new("torch.ops._C_ascend.npu_add_rms_norm_bias")
        .arg_tensor(x1.tensor("x1", [m, h], x1_dtype))
        .arg_tensor(x2.tensor("x2", [m, h], x2_dtype))
        .arg_tensor(gamma.tensor("gamma", gamma_shape, gamma_dtype));
    let call = match (bias, bias_dtype) {
        (Some(bias), Some([dtype])) => call.arg_tensor(bias.tensor("beta", [h], dtype)),
        _ => call.arg(Argument::None),
    };
    Ok(call.arg(EPSILON).into())
}

/// False for a bias slot that stands for none: no shape, no type or no format.
fn is_recorded(bias: &Slot<'_>) -> bool {
    bias.shape.is_some() && bias.dtype_word() != "UNDEFINED" && !matches!(bias.format_word(), "" | "NULL")
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let (x1, x2, gamma) = (bindings.tensor(0)?, bindings.tensor(1)?, bindings.tensor(2)?);
    let bias = bindings.optional_tensor(3)?;
    let [m, h] = rank(x1, "x1")?;
    expect_shape(x2, "x2", &[m, h])?;
    expect_shape(gamma, "gamma", &[h])?;
    bias.map_or(Ok(()), |bias| expect_shape(bias, "beta", &[h]))?;
    with_float!(x1.dtype(), E => add_and_norm::<E>(x1, x2, gamma, bias, [m, h]))
}

fn add_and_norm<E: Float>(
    x1: &Tensor,
    x2: &Tensor,
    gamma: &Tensor,
    bias: Option<&Tensor>,
    [m, h]: [usize; 2],
) -> Result<Vec<Output>, CaseError> {
    let (x1, x2) = (values::<E>(x1)?, values::<E>(x2)?);
    let (gamma, bias) = (wide::<E::Wide>(gamma)?, bias.map(wide::<E::Wide>).transpose()?);
    let epsilon = <E::Wide as crate::kernels::element::Wide>::from_f64(EPSILON);
    let (mut y, mut sums, mut factors) = (zeros::<E>(&[m, h])?, zeros::<E>(&[m, h])?, zeros::<f32>(&[m, 1])?);
    // The sum is rounded to the inputs' type before it is normalised.
    let [x1_way, x2_way] = Stretched::all([&[m, h], &[m, h]], &[m, h]);
    combine_floats((x1, &x1_way), (x2, &x2_way), &mut sums, |x1, x2| x1 + x2);
    map_rows(&sums, h, &mut y, h, &mut factors, |_, row, y, factor| {
        let r = root_mean_square_norm(row, &gamma, epsilon);
        *factor = num_traits::ToPrimitive::to_f32(&r).unwrap_or(f32::NAN);
        if let Some(bias) = &bias {
            row.iter_mut().zip(bias).for_each(|(y, bias)| *y += *bias);
        }
        E::round_slice(row, y);
    });
    Ok(vec![output([m, h], y)?, output([m, 1], factors)?, output([m, h], sums)?])
}
