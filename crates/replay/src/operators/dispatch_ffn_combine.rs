//! DispatchFFNCombine: tokens to their experts, the experts' feed-forward networks, and the weighted sum of the choices.

use crate::kernels::context;
use crate::kernels::element::Element;
use crate::kernels::experts::{Expert, experts};
use crate::kernels::number::Number;
use crate::kernels::shape::Shape;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, indices, output_into, rank, require, values, values_mut, wide};
use crate::kernels::with_float;
use perfdb_store::dtype::DType;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output};
use crate::case::{Call, TensorSpec};
use crate::init::Init;
use crate::inputs::{floats, is_scale, require_fit};
use crate::operator::{Operator, PlanOptions, Planned, SkipReason};
use crate::refusal::{CaseError, Refusal, bad_rank, bad_shape};
use crate::row::{Recorded, Row, Slots, column};

const READS: &[&str] = &column::TENSORS;

pub(super) const OPERATOR: Operator =
    Operator { own_repeat_count: Some(20), ..Operator::new("DispatchFFNCombine", READS, plan, run) }.checked();

/// Column whose value decides before a row's validity is looked at.
const EP_SIZE: &str = "EP Size";

/// True if the row's `EP Size` is an integer other than `ep_size`.
fn has_other_ep_size(row: &Row<'_>, ep_size: u32) -> bool {
    row.cell(EP_SIZE).trim().parse::<i64>().is_ok_and(|recorded| recorded != i64::from(ep_size))
}

fn plan(row: &Row<'_>, options: &PlanOptions) -> Result<Planned, Refusal> {
    if has_other_ep_size(row, options.ep_size) {
        return Ok(Planned::Skip(SkipReason::EpSize));
    }
    let (inputs, outputs) = (row.inputs()?, row.outputs()?);
    for slots in [&inputs, outputs] {
        if (0..slots.count()).any(|at| slots.get(at).shape.is_none()) {
            return Err(bad_shape("an empty slot"));
        }
    }
    inputs.exactly_in_all_lists(7)?;
    outputs.exactly_in_all_lists(2)?;
    let slot = |slots: &Slots<'_>, at| slots.get(at).required()?.described_in_place().map(drop);
    (0..7).try_for_each(|at| slot(&inputs, at))?;
    (0..2).try_for_each(|at| slot(outputs, at))?;
    let [x, weight1, weight2, expert_idx] = [0, 1, 2, 3].map(|at| inputs.get(at).required());
    let (x, weight1, weight2, expert_idx) = (x?, weight1?, weight2?, expert_idx?);
    let (scale1, scale2, probs) = (inputs.get(4).required()?, inputs.get(5).required()?, inputs.get(6).required()?);
    let (out, token_nums) = (outputs.get(0).required()?, outputs.get(1).required()?);
    let ([m, h], [e, h1, n], [e2, middle, h2]) = (x.logical_rank::<2>()?, weight1.rank::<3>()?, weight2.rank::<3>()?);
    let ([idx_m, k], probs_shape) = (expert_idx.logical_rank::<2>()?, probs.logical_rank::<2>()?);
    let (scale1_shape, scale2_shape) = (scale_shape(&scale1)?, scale_shape(&scale2)?);
    let [dtype] = floats([&x])?;
    for weight in [&weight1, &weight2] {
        weight.dtype_where("INT8 or the type of x", |weight| weight == DType::Int8 || weight == dtype)?;
    }
    let (weight1_dtype, weight2_dtype) = (weight1.dtype()?, weight2.dtype()?);
    let scale_dtype = scale1.dtype_where("a type of scales", is_scale)?;
    let probs_dtype = if options.balanced { DType::Float32 } else { floats([&probs])?[0] };
    let out_dtype = out.dtype_where("a floating-point type", DType::is_float)?;
    require_fit(e2 == e && h1 == h && h2 == h, || {
        format!("x [{m}, {h}], weights {:?} and {:?}", weight1.shape, weight2.shape)
    })?;
    require_fit(probs_shape == [idx_m, k] && idx_m == m, || {
        format!("choices {:?}, probs {probs_shape:?}, {m} tokens", [idx_m, k])
    })?;
    require_fit(out.shape == [m, h], || format!("output 0 is {:?}, expected {:?}", out.shape, [m, h]))?;
    require_fit(token_nums.shape == [e] || token_nums.shape == [1, e], || {
        format!("output 1 is {:?} for {e} experts", token_nums.shape)
    })?;
    for (shape, columns) in [(&scale1_shape, n), (&scale2_shape, h)] {
        let fits = *shape == [e, columns] || *shape == [e.saturating_mul(columns)];
        require_fit(fits, || format!("scales of shape {shape:?} for {e} experts of {columns} columns"))?;
    }
    let (choices, weights_of_choices) = routing(options, e, k, probs_dtype);
    let mut call = Call::new("torch.ops._C_ascend.dispatch_ffn_combine")
        .kwarg_tensor(x.tensor("x", [m, h], dtype))
        .kwarg_tensor_list(weight1.tensor("weight1", [e, h, n], weight1_dtype))
        .kwarg_tensor_list(weight2.tensor("weight2", [e, middle, h], weight2_dtype))
        .kwarg_tensor(TensorSpec::new("expert_idx", [m, k], DType::Int32).init(choices))
        .kwarg_tensor_list(TensorSpec::new("scale1", scale1_shape, scale_dtype).init(Init::zeros()))
        .kwarg_tensor_list(TensorSpec::new("scale2", scale2_shape, scale_dtype).init(Init::zeros()))
        .kwarg_tensor(TensorSpec::new("probs", [m, k], probs_dtype).init(weights_of_choices))
        .kwarg("group", Argument::Group("ep".into()))
        .kwarg("max_output_size", Number::Int(i64::try_from(options.max_output_size).unwrap_or(i64::MAX)))
        .kwarg_tensor(TensorSpec::new("out", [m, h], out_dtype).init(Init::zeros()))
        .kwarg_tensor(TensorSpec::new("expert_token_nums", token_nums.shape.clone(), DType::Int32).init(Init::zeros()));
    call.ranks = Some(options.ep_size);
    Ok(call.into())
}

fn scale_shape(scale: &Recorded<'_>) -> Result<Shape, Refusal> {
    match scale.shape.len() {
        1 | 2 => Ok(scale.shape.clone()),
        _ => Err(bad_rank(format!("input {} has rank {}, expected 1 or 2", scale.position, scale.shape.len()))),
    }
}

/// Values of the experts' numbers, local to a rank, and of the choices' weights.
fn routing(options: &PlanOptions, experts: usize, choices: usize, probs: DType) -> (Init, Init) {
    let (experts, ranks) = (experts as u64, u64::from(options.ep_size));
    if !options.balanced {
        return (Init::Randint { low: 0, high: experts as i64 }, Init::default_for(probs));
    }
    let numbers = if ranks > 1 && experts.is_multiple_of(ranks) {
        Init::RankRoundRobin { ranks, per_rank: experts / ranks }
    } else {
        Init::ArangeMod { modulus: experts }
    };
    (numbers, Init::full(1.0 / choices as f64))
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let (mut out, mut token_nums) = (bindings.take_named("out")?, bindings.take_named("expert_token_nums")?);
    let x = bindings.named("x")?;
    with_float!(x.dtype(), E => combine::<E>(bindings, x, &mut out.tensor, &mut token_nums.tensor))?;
    Ok(vec![Output::InPlace(out), Output::InPlace(token_nums)])
}

fn combine<E: Float>(
    bindings: &Bindings<'_>,
    x: &Tensor,
    out: &mut Tensor,
    token_nums: &mut Tensor,
) -> Result<(), CaseError>
where
    E::Wide: Element<Wide = E::Wide>,
{
    let [tokens, h] = rank(x, "x")?;
    let (expert_idx, probs) = (bindings.named("expert_idx")?, bindings.named("probs")?);
    let ([idx_tokens, choices], weights) = (rank(expert_idx, "expert_idx")?, wide::<E::Wide>(probs)?);
    require(idx_tokens == tokens && probs.shape() == expert_idx.shape() && out.shape() == [tokens, h], || {
        format!(
            "x {:?}, expert_idx {:?}, probs {:?}, out {:?}",
            x.shape(),
            expert_idx.shape(),
            probs.shape(),
            out.shape()
        )
    })?;
    let (weight1, weight2) = (bindings.named_list("weight1")?, bindings.named_list("weight2")?);
    let (scale1, scale2) = (bindings.named_list("scale1")?, bindings.named_list("scale2")?);
    let experts: Vec<Expert<'_, E>> = experts(&weight1, &weight2, &scale1, &scale2, h)?;
    let chosen = indices(expert_idx, experts.len())?;
    let counts = values_mut::<i32>(token_nums)?;
    require(counts.len() == experts.len(), || format!("{} counts for {} experts", counts.len(), experts.len()))?;
    counts.fill(0);
    chosen.iter().for_each(|expert| counts[*expert] += 1);
    // By expert, the tokens of an expert in their own order; what the experts' buffers cannot hold is dropped.
    let mut order: Vec<usize> = (0..chosen.len()).collect();
    order.sort_by_key(|place| chosen[*place]);
    order.truncate(bindings.size("max_output_size")?.unwrap_or(usize::MAX));
    let x = values::<E>(x)?;
    let mut sums = vec![E::Wide::default(); tokens * h];
    for places in order.chunk_by(|a, b| chosen[*a] == chosen[*b]) {
        context::proceed()?;
        let rows: Vec<&[E]> = places.iter().map(|place| &x[place / choices * h..(place / choices + 1) * h]).collect();
        let results = experts[chosen[places[0]]].feed_forward(&rows);
        for (place, result) in places.iter().zip(results.chunks_exact(h.max(1))) {
            let token = place / choices;
            for (sum, value) in sums[token * h..(token + 1) * h].iter_mut().zip(result) {
                *sum += weights[*place] * *value;
            }
        }
    }
    Ok(output_into(out, &sums)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes() {
        let options = |ep_size, balanced| PlanOptions { ep_size, balanced, ..PlanOptions::default() };
        assert_eq!(
            routing(&options(16, true), 32, 8, DType::Float32),
            (Init::RankRoundRobin { ranks: 16, per_rank: 2 }, Init::full(0.125))
        );
        assert_eq!(routing(&options(16, true), 8, 8, DType::Float32).0, Init::ArangeMod { modulus: 8 });
        assert_eq!(routing(&options(1, false), 8, 8, DType::BFloat16).0, Init::Randint { low: 0, high: 8 });
    }
}
