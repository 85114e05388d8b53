//! GroupedMatmulSwigluQuant: grouped int8 product, SwiGLU, and int8 again with a scale per row.

use crate::kernels::element::{Element, Wide};
use crate::kernels::grouped::grouped_product;
use crate::kernels::matmul::Factor;
use crate::kernels::normalise::swiglu;
use crate::kernels::quantise::quantise_row;
use crate::kernels::rows::map_rows;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Stored, expect_shape, rank, require, scales, values, zeros};
use crate::kernels::with_float;
use perfdb_store::dtype::DType;

use super::grouped_matmul::{expert_weights, group_ends, groups, index_type, matrices};
use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::init::Init;
use crate::inputs::{factors, is_scale, require_fit};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, bad_shape, input_count};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("GroupedMatmulSwigluQuant", INPUTS, plan, run);

/// Slots that are used.
const SLOTS: usize = 5;

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?;
    let filled = (0..inputs.count().min(SLOTS)).all(|at| inputs.get(at).shape.is_some());
    if !filled {
        return Err(bad_shape("the first five inputs are required"));
    }
    if inputs.count() < SLOTS {
        return Err(input_count(format!("{} inputs, expected at least {SLOTS}", inputs.count())));
    }
    let slot = |at| inputs.get(at).required()?.described_in_place();
    let (x, weight, weight_scale, x_scale, list) = (slot(0)?, slot(1)?, slot(2)?, slot(3)?, slot(4)?);
    let [t, k] = x.logical_rank::<2>()?;
    let weight_shape = expert_weights(&weight)?;
    let &[experts, rows, n] = &*weight_shape else {
        return Err(weight.wrong_rank("3 after unfolding"));
    };
    let ([scale_experts, scale_columns], [x_scales], [g]) =
        (weight_scale.logical_rank::<2>()?, x_scale.logical_rank::<1>()?, list.logical_rank::<1>()?);
    let dtype = factors(&x, &weight)?;
    let [weight_scale_dtype, x_scale_dtype] =
        [weight_scale.dtype_where("a type of scales", is_scale)?, x_scale.dtype_where("a type of scales", is_scale)?];
    let list_dtype = index_type(&list)?;
    require_fit(k == rows && n.is_multiple_of(2), || format!("{:?} times {weight_shape:?}", [t, k]))?;
    require_fit((scale_experts, scale_columns) == (experts, n), || {
        format!("weight_scale {:?} for {weight_shape:?}", [scale_experts, scale_columns])
    })?;
    require_fit(x_scales == t, || format!("{x_scales} scales for {t} rows"))?;
    Ok(Call::new("torch_npu.npu_grouped_matmul_swiglu_quant")
        .kwarg_tensor(x.tensor("x", [t, k], dtype))
        .kwarg_tensor(weight.tensor("weight", weight_shape, dtype))
        .kwarg_tensor(group_ends(&list, list_dtype, t, g)?)
        .kwarg_tensor(weight_scale.tensor("weight_scale", [experts, n], weight_scale_dtype).init(Init::full(1)))
        .kwarg_tensor(x_scale.tensor("x_scale", [t], x_scale_dtype).init(Init::full(1)))
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let x = bindings.named("x")?;
    match x.dtype() {
        DType::Int8 => multiply_and_quantise::<i8, f32>(bindings, x, |sum| sum as f32),
        dtype => with_float!(dtype, E => multiply_and_quantise::<E, <E as Element>::Wide>(bindings, x, |sum| sum)),
    }
}

fn multiply_and_quantise<F: Factor + Stored, W: Wide + Element<Wide = W>>(
    bindings: &Bindings<'_>,
    x: &Tensor,
    widen: impl Fn(F::Sum) -> W + Sync,
) -> Result<Vec<Output>, CaseError> {
    let (weight, weight_scale, x_scale) =
        (bindings.named("weight")?, bindings.named("weight_scale")?, bindings.named("x_scale")?);
    let ([t, k], [experts, _, n]) = (rank(x, "x")?, rank(weight, "weight")?);
    expect_shape(weight, "weight", &[experts, k, n])?;
    expect_shape(weight_scale, "weight_scale", &[experts, n])?;
    expect_shape(x_scale, "x_scale", &[t])?;
    require(n % 2 == 0, || format!("{n} columns have no two halves"))?;
    let (weight_scale, x_scale) = (scales::<W>(weight_scale)?, scales::<W>(x_scale)?);
    let groups = groups(Some(bindings.named("group_list")?), t, experts)?;
    let mut sums = zeros_wide::<W>(t * n);
    grouped_product(values::<F>(x)?, matrices::<F>(weight)?, &groups, &mut sums, |row, expert, column, from, to| {
        for ((to, sum), scale) in to.iter_mut().zip(from).zip(&weight_scale[expert * n + column..]) {
            *to = widen(*sum) * *scale * x_scale[row];
        }
    });
    let (mut quantised, mut row_scales) = (zeros::<i8>(&[t, n / 2])?, zeros::<f32>(&[t])?);
    map_rows(&sums, n, &mut quantised, n / 2, &mut row_scales, |_, row, to, scale| {
        *scale = quantise_row(swiglu(row), to).to_f32().unwrap_or(f32::NAN);
    });
    Ok(vec![output([t, n / 2], quantised)?, output([t], row_scales)?])
}

fn zeros_wide<W: Wide>(count: usize) -> Vec<W> {
    vec![W::zero(); count]
}
