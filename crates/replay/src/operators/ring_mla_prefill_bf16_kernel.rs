//! RINGMLAPrefillBF16Kernel: one step of ring attention: causal in the first step, merged with the state so far in later ones.

use crate::kernels::attention::{Attended, Visible, attend};
use crate::kernels::cached::{Cached, Part};
use crate::kernels::element::Wide;
use crate::kernels::heads::{Block, blocks, each_block};
use crate::kernels::number::Number;
use crate::kernels::shape::Shape;
use crate::kernels::target::Target;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, expect_shape, integers, output_into, rank, require, values, wide};
use crate::kernels::with_float;
use perfdb_store::dtype::DType;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output};
use crate::case::{Attempt, Call, Name, TensorSpec};
use crate::init::Init;
use crate::inputs::{floats, require_fit};
use crate::operator::{Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, input_count, out_of_range, output_count};
use crate::row::{Recorded, Row, column};

const READS: &[&str] = column::BUT_OUTPUT_FORMATS;

pub(super) const OPERATOR: Operator =
    Operator { has_empty_words: true, ..Operator::new("RINGMLAPrefillBF16Kernel", READS, plan, run) };

/// Positions of optional inputs.
const MASK: usize = 5;
const PRE_OUT: usize = 13;
const PREV_LSE: usize = 14;
/// Rows and columns of a mask that is not recorded, and tokens per chunk of a sequence.
const MASK_SIZE: usize = 512;
/// Chunks that a sequence is cut into at most.
const MOST_CHUNKS: usize = 1 << 20;

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let row = row.with_empty_words();
    let (inputs, outputs) = (row.inputs()?, row.outputs()?);
    for at in 0..inputs.count().min(5) {
        inputs.get(at).required()?;
    }
    if inputs.count() < 5 {
        return Err(input_count(format!("{} inputs, expected at least 5", inputs.count())));
    }
    let (output, lse) = (outputs.get(0).recorded(), outputs.get(1).recorded());
    let (mask, pre_out, prev_lse) =
        (inputs.get(MASK).recorded(), inputs.get(PRE_OUT).recorded(), inputs.get(PREV_LSE).recorded());
    if output.is_none() && pre_out.is_none() {
        return Err(output_count("neither an output nor pre_out is recorded"));
    }
    let slot = |at| inputs.get(at).required()?.described_in_place();
    let five = [slot(0)?, slot(1)?, slot(2)?, slot(3)?, slot(4)?];
    let [q_nope, q_rope, k_nope, k_rope, value] = &five;
    let [tq, h, dn] = q_nope.logical_rank::<3>()?;
    let ([qr_tokens, qr_heads, dr], [tk, k_heads, k_dn]) = (q_rope.logical_rank::<3>()?, k_nope.logical_rank::<3>()?);
    let (k_rope_shape, value_shape) = (k_rope.logical_rank::<3>()?, value.logical_rank::<3>()?);
    let dtypes = floats([q_nope, q_rope, k_nope, k_rope, value])?;
    let type_of = |slots: [&Option<Recorded<'_>>; 2], default: DType| -> Result<DType, Refusal> {
        let typed = slots.into_iter().flatten().find(|slot| !slot.lacks_dtype());
        typed.map_or(Ok(default), |slot| slot.dtype_where("a floating-point type", DType::is_float))
    };
    let output_dtype = type_of([&output, &pre_out], dtypes[0])?;
    let lse_dtype = type_of([&lse, &prev_lse], DType::Float32)?;
    let mask_dtype = match mask.as_ref().filter(|mask| !mask.lacks_dtype()) {
        Some(mask) => mask.dtype()?,
        None => dtypes[0],
    };
    require_fit(
        [qr_tokens, qr_heads, k_heads, k_dn] == [tq, h, h, dn]
            && k_rope_shape == [tk, h, dr]
            && value_shape == [tk, h, dn],
        || {
            format!(
                "queries {:?} and {:?}, keys {:?} and {:?}, values {:?}",
                q_nope.shape, q_rope.shape, k_nope.shape, k_rope.shape, value.shape
            )
        },
    )?;
    if tq.max(tk).div_ceil(MASK_SIZE) > MOST_CHUNKS {
        return Err(out_of_range(format!("{} tokens", tq.max(tk))));
    }
    let output_shape = output.or(pre_out.clone()).map_or_else(|| Shape::from([tq, h, dn]), |slot| slot.shape);
    let lse_shape = lse.or(prev_lse.clone()).map_or_else(|| Shape::from([h, tq]), |slot| slot.shape);
    let mask_shape = mask.map_or_else(|| Shape::from([MASK_SIZE; 2]), |mask| mask.shape);
    let state = pre_out.zip(prev_lse).map(|(pre_out, prev_lse)| {
        let own = |slot: Recorded<'_>, default| Ok((slot.shape.clone(), type_of([&Some(slot), &None], default)?));
        Ok([own(pre_out, output_dtype)?, own(prev_lse, lse_dtype)?])
    });
    let state = state.transpose()?;
    let call = five
        .iter()
        .zip(["q_nope", "q_rope", "k_nope", "k_rope", "value"])
        .zip([[tq, h, dn], [tq, h, dr], [tk, h, dn], [tk, h, dr], [tk, h, dn]])
        .zip(dtypes)
        .fold(Call::new("torch_npu.atb.npu_ring_mla"), |call, (((slot, name), shape), dtype)| {
            call.kwarg_tensor(slot.tensor(name, shape, dtype))
        });
    let step = Step {
        tokens: [tq, tk],
        heads: h,
        scale: 1.0 / ((dn + dr) as f64).sqrt(),
        mask_shape,
        mask_dtype,
        lse: (lse_shape, lse_dtype),
        output: (output_shape, output_dtype),
    };
    Ok(match state {
        None => step.first(call),
        Some(state) => step.later(call, state),
    }
    .into())
}

/// What the two kinds of steps are built from.
struct Step {
    tokens: [usize; 2],
    heads: usize,
    scale: f64,
    mask_shape: Shape,
    mask_dtype: DType,
    lse: (Shape, DType),
    output: (Shape, DType),
}

impl Step {
    fn first(self, call: Call) -> Call {
        let seqlen = host_integers("seqlen", [1], [self.tokens[0] as i64]);
        let mut call =
            self.with_results(call.tensor(triangle("mask", self.mask_shape.clone(), self.mask_dtype)).tensor(seqlen));
        call.attempts = vec![attempt("first_ring", "seqlen", "mask", "mask_type_triu", ["output", "softmax_lse"])];
        self.arguments(call, [Argument::None, Argument::None], "calc_type_first_ring")
    }

    fn later(self, call: Call, [pre_out, prev_lse]: [(Shape, DType); 2]) -> Call {
        let lengths = self.tokens.map(|tokens| tokens as i64);
        let columns = self.tokens.into_iter().max().unwrap_or(0).div_ceil(MASK_SIZE);
        let mut call = call
            .tensor(triangle("mask", self.mask_shape.clone(), self.mask_dtype))
            .tensor(host_integers("seqlen", [2, 1], lengths))
            .tensor(TensorSpec::new("pre_out", pre_out.0, pre_out.1))
            .tensor(TensorSpec::new("prev_lse", prev_lse.0, prev_lse.1));
        let mut lists = vec!["seqlen"];
        if columns > 1 {
            let chunks = self.tokens.into_iter().flat_map(|tokens| chunks(tokens, columns));
            call = call.tensor(host_integers("seqlen_chunks", [2, columns], chunks));
            lists.push("seqlen_chunks");
        }
        let mut call = self.with_results(call).tensor(triangle("mask_3d", [1, MASK_SIZE, MASK_SIZE], self.mask_dtype));
        let (alias, separate) = (["pre_out", "prev_lse"], ["output", "softmax_lse"]);
        let forms = [
            ("default_nomask_alias_2d", "mask", "no_mask", alias),
            ("default_nomask_separate_2d", "mask", "no_mask", separate),
            ("default_triu_alias_3d", "mask_3d", "mask_type_triu", alias),
            ("default_triu_separate_3d", "mask_3d", "mask_type_triu", separate),
        ];
        call.attempts = forms
            .into_iter()
            .flat_map(|(name, mask, mask_type, results)| {
                lists.iter().map(move |list| attempt(name, list, mask, mask_type, results))
            })
            .collect();
        self.arguments(call, [Argument::tensor("pre_out"), Argument::tensor("prev_lse")], "calc_type_default")
    }

    fn with_results(&self, call: Call) -> Call {
        call.tensor(TensorSpec::new("output", self.output.0.clone(), self.output.1).init(Init::zeros()))
            .tensor(TensorSpec::new("softmax_lse", self.lse.0.clone(), self.lse.1).init(Init::zeros()))
    }

    fn arguments(&self, call: Call, [pre_out, prev_lse]: [Argument; 2], calc_type: &'static str) -> Call {
        call.kwarg("head_num", self.heads)
            .kwarg("kv_head_num", self.heads)
            .kwarg("pre_out", pre_out)
            .kwarg("prev_lse", prev_lse)
            .kwarg("qk_scale", Argument::Number(Number::Float(self.scale)))
            .kwarg("kernel_type", "kernel_type_high_precision")
            .kwarg("input_layout", "type_bsnd")
            .kwarg("calc_type", calc_type)
    }
}

fn triangle(name: &'static str, shape: impl Into<Shape>, dtype: DType) -> TensorSpec {
    let value = match dtype {
        DType::Float16 => Number::Float(f64::NEG_INFINITY),
        DType::Bool => Number::Bool(true),
        _ => Number::Int(1),
    };
    TensorSpec::new(name, shape, dtype).init(Init::Triu { diagonal: 1, value })
}

fn host_integers(name: &'static str, shape: impl Into<Shape>, values: impl IntoIterator<Item = i64>) -> TensorSpec {
    TensorSpec::new(name, shape, DType::Int32).init(Init::integers(values)).on_host()
}

/// A sequence cut into chunks, zero-padded to that many.
fn chunks(tokens: usize, columns: usize) -> impl Iterator<Item = i64> {
    (0..columns).map(move |at| tokens.saturating_sub(at * MASK_SIZE).min(MASK_SIZE) as i64)
}

fn attempt(
    name: &'static str,
    seqlen: &'static str,
    mask: &'static str,
    mask_type: &'static str,
    [output, lse]: [&'static str; 2],
) -> Attempt {
    let arguments: [(&'static str, Argument); 5] = [
        ("seqlen", Argument::tensor(seqlen)),
        ("mask", Argument::tensor(mask)),
        ("mask_type", mask_type.into()),
        ("output", Argument::tensor(output)),
        ("softmax_lse", Argument::tensor(lse)),
    ];
    Attempt {
        name: name.into(),
        kwargs: arguments.into_iter().map(|(name, argument)| (Name::from(name), argument)).collect(),
    }
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let first = match bindings.string("calc_type")? {
        Some("calc_type_first_ring") => true,
        Some("calc_type_default") => false,
        other => return Err(CaseError::unsupported(format!("calc_type {other:?}"))),
    };
    // Results may be written over the state, so that is read first.
    let state =
        if first { None } else { Some((wide(bindings.named("pre_out")?)?, wide(bindings.named("prev_lse")?)?)) };
    let (mut output, mut lse) = (bindings.take_named("output")?, bindings.take_named("softmax_lse")?);
    with_float!(bindings.named("q_nope")?.dtype(), E => step::<E>(bindings, state, &mut output.tensor, &mut lse.tensor))?;
    Ok(vec![Output::InPlace(output), Output::InPlace(lse)])
}

fn step<E: Float>(
    bindings: &Bindings<'_>,
    state: Option<(Vec<f64>, Vec<f64>)>,
    output: &mut Tensor,
    lse: &mut Tensor,
) -> Result<(), CaseError> {
    let (q_nope, q_rope) = (bindings.named("q_nope")?, bindings.named("q_rope")?);
    let (k_nope, k_rope, value) = (bindings.named("k_nope")?, bindings.named("k_rope")?, bindings.named("value")?);
    let ([tq, heads, dn], [tk, _, _], [_, _, dr]) =
        (rank(q_nope, "q_nope")?, rank(k_nope, "k_nope")?, rank(q_rope, "q_rope")?);
    expect_shape(q_rope, "q_rope", &[tq, heads, dr])?;
    expect_shape(k_nope, "k_nope", &[tk, heads, dn])?;
    expect_shape(k_rope, "k_rope", &[tk, heads, dr])?;
    expect_shape(value, "value", &[tk, heads, dn])?;
    let lengths = integers(bindings.named("seqlen")?)?;
    if lengths.iter().copied().max() != Some(tq.max(tk) as i64) || lengths.len() > 2 {
        return Err(CaseError::unsupported(format!("several sequences: {lengths:?}")));
    }
    // (heads, queries), or (queries, heads) where only that fits.
    let heads_first = lse.shape() == [heads, tq] || lse.shape().first() != Some(&tq);
    require(lse.len() == heads * tq && output.len() == tq * heads * dn, || {
        format!("results of shape {:?} and {:?}", output.shape(), lse.shape())
    })?;
    if let Some((pre_out, prev_lse)) = &state {
        require(pre_out.len() == output.len() && prev_lse.len() == lse.len(), || {
            "a state unlike the results".to_owned()
        })?;
    }
    let scale =
        E::Wide::from_f64(bindings.number("qk_scale")?.ok_or_else(|| CaseError::rejected("qk_scale is missing"))?);
    let (q_nope, q_rope) = (values::<E>(q_nope)?, values::<E>(q_rope)?);
    let (k_nope, k_rope, value) = (values::<E>(k_nope)?, values::<E>(k_rope)?, values::<E>(value)?);
    let compute = |block: &Block| {
        let head = block.key_head;
        let mut rows = vec![E::Wide::default(); block.queries.len() * (dn + dr)];
        for ((head, query), to) in block.rows().zip(rows.chunks_exact_mut((dn + dr).max(1))) {
            let row = query * heads + head;
            E::widen_slice(&q_nope[row * dn..(row + 1) * dn], &mut to[..dn]);
            E::widen_slice(&q_rope[row * dr..(row + 1) * dr], &mut to[dn..]);
        }
        let keys = [Part::of_line(k_nope, heads, head, dn), Part::of_line(k_rope, heads, head, dr)];
        let source = Cached { key: &keys, value: &Part::of_line(value, heads, head, dn), line: |position| position };
        let limits: Vec<usize> =
            block.rows().map(|(_, query)| if state.is_none() { (query + 1).min(tk) } else { tk }).collect();
        attend(&rows, scale, &source, &Visible::Below(&limits))
    };
    let (mut outputs, mut log_sums) = (vec![0.0; output.len()], vec![0.0; lse.len()]);
    let all = blocks(std::iter::once(tq), heads, 1);
    each_block(&all, compute, |block, attended: &Attended<E::Wide>| {
        for (at, (head, query)) in block.rows().enumerate() {
            let (row, place) =
                (query * heads + head, if heads_first { head * tq + query } else { query * heads + head });
            let log_sum = f64::nearest(attended.log_sum[at]);
            let current = attended.output[at * dn..(at + 1) * dn].iter().map(|value| f64::nearest(*value));
            let to = &mut outputs[row * dn..(row + 1) * dn];
            log_sums[place] = match &state {
                None => {
                    to.iter_mut().zip(current).for_each(|(to, value)| *to = value);
                    log_sum
                }
                Some((pre_out, prev_lse)) => {
                    merge(to, &pre_out[row * dn..(row + 1) * dn], prev_lse[place], current, log_sum)
                }
            };
        }
    })?;
    output_into(output, &outputs)?;
    Ok(output_into(lse, &log_sums)?)
}

/// (w · before + v · current) / (w + v) with w and v the exponentials of the log-sums; returns ln(w + v).
fn merge(to: &mut [f64], before: &[f64], previous: f64, current: impl Iterator<Item = f64>, log_sum: f64) -> f64 {
    let largest = previous.max(log_sum);
    if largest == f64::NEG_INFINITY {
        to.fill(0.0);
        return largest;
    }
    let (w, v) = ((previous - largest).exp(), (log_sum - largest).exp());
    for ((to, before), current) in to.iter_mut().zip(before).zip(current) {
        *to = (w * before + v * current) / (w + v);
    }
    largest + (w + v).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_a_sequence() {
        assert_eq!(chunks(600, 3).collect::<Vec<_>>(), [512, 88, 0]);
        assert_eq!(chunks(1100, 3).collect::<Vec<_>>(), [512, 512, 76]);
    }

    #[test]
    fn merged_states_weigh_by_their_sums() {
        let mut to = [0.0; 2];
        let sum = merge(&mut to, &[1.0, 4.0], 3f64.ln(), [5.0, 0.0].into_iter(), 1f64.ln());
        assert!((to[0] - 2.0).abs() < 1e-15 && (to[1] - 3.0).abs() < 1e-15 && (sum - 4f64.ln()).abs() < 1e-15);
        assert_eq!(merge(&mut to, &[1.0, 1.0], 1000.0, [0.0, 0.0].into_iter(), -1000.0), 1000.0);
    }
}
