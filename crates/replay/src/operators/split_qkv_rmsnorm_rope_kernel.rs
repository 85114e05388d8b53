//! split_qkv_rmsnorm_rope_kernel: queries, keys and values of a fused projection, queries and keys normalised per head
//! and rotated.

use crate::kernels::element::Wide;
use crate::kernels::normalise::root_mean_square_norm;
use crate::kernels::number::Number;
use crate::kernels::rows::{each_row, map_plain_rows};
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, expect_shape, indices, rank, require, values, wide, zeros};
use crate::kernels::with_float;
use perfdb_store::dtype::DType;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output, output};
use crate::case::{Call, TensorSpec};
use crate::init::Init;
use crate::inputs::{floats, require_fit};
use crate::operator::{Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, constraint};
use crate::row::{Row, column};

const READS: &[&str] = &[column::INPUT_SHAPES, column::INPUT_DATA_TYPES, column::INPUT_FORMATS, column::OUTPUT_SHAPES];
const EPSILON: f64 = 1e-6;
/// Positions that the cosine and sine cache holds at least, where the row does not record it.
const POSITIONS: usize = 2048;

pub(super) const OPERATOR: Operator = Operator::new("split_qkv_rmsnorm_rope_kernel", READS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let outputs = row.outputs()?.present();
    let slots = inputs.between(2, 3)?;
    let recorded = outputs.between(2, 3)?;
    inputs.strict()?;
    let (input, second) = (&slots[0], &slots[1]);
    let [tokens, width] = input.logical_rank::<2>()?;
    let ([q_tokens, q], [k_tokens, kv]) = (recorded[0].rank::<2>()?, recorded[1].rank::<2>()?);
    let (cache_shape, count) = match slots.get(2) {
        Some(positions) => (second.logical_rank::<2>()?, positions.logical_rank::<1>()?[0]),
        None => ([tokens.max(POSITIONS), second.logical()?.last().copied().unwrap_or(1)], tokens),
    };
    let dtype = input.dtype_where("float32, float16 or bfloat16", |dtype| {
        matches!(dtype, DType::Float32 | DType::Float16 | DType::BFloat16)
    })?;
    let [cache_dtype] = floats([second])?;
    require_fit(
        q_tokens == tokens && k_tokens == tokens && count == tokens && q.saturating_add(kv.saturating_mul(2)) == width,
        || format!("[{tokens}, {width}] split into {q} and twice {kv}"),
    )?;
    let rope = cache_shape[1];
    let head = head_size(q, kv, rope)
        .ok_or_else(|| constraint(format!("no head size divides {q} and {kv} and holds {rope}")))?;
    let weight = |name| TensorSpec::new(name, [head], dtype).init(Init::Normal);
    let positions = Init::Randint { low: 0, high: cache_shape[0] as i64 };
    Ok(Call::new("torch.ops.vllm.qkv_rmsnorm_rope")
        .kwarg_tensor(input.tensor("input", [tokens, width], dtype))
        .kwarg_tensor(second.tensor("cos_sin_cache", cache_shape, cache_dtype))
        .kwarg_tensor(TensorSpec::new("positions", [count], DType::Int64).init(positions))
        .kwarg_tensor(weight("q_weight"))
        .kwarg_tensor(weight("k_weight"))
        .kwarg("q_hidden_size", q)
        .kwarg("kv_hidden_size", kv)
        .kwarg("head_dim", head)
        .kwarg("eps", Argument::Number(Number::Float(EPSILON)))
        .into())
}

/// The smallest common divisor of both sizes that holds the rotated part. If the rotated part is one, it is that.
fn head_size(q: usize, kv: usize, rope: usize) -> Option<usize> {
    if q == 0 || kv == 0 || rope == 0 {
        return None;
    }
    let (mut common, mut rest) = (q, kv);
    while rest != 0 {
        (common, rest) = (rest, common % rest);
    }
    let small =
        (1..).take_while(|divisor| divisor * divisor <= common).filter(|divisor| common.is_multiple_of(*divisor));
    small.flat_map(|divisor| [divisor, common / divisor]).filter(|head| *head >= rope).min()
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let input = bindings.named("input")?;
    with_float!(input.dtype(), E => split::<E>(bindings, input))
}

/// Elements of a head, and those of them that are rotated.
#[derive(Clone, Copy, Debug)]
struct Parts {
    head: usize,
    rope: usize,
}

fn split<E: Float>(bindings: &Bindings<'_>, input: &Tensor) -> Result<Vec<Output>, CaseError> {
    let size = |name| bindings.size(name)?.ok_or_else(|| CaseError::rejected(format!("{name} is missing")));
    let (q, kv, head) = (size("q_hidden_size")?, size("kv_hidden_size")?, size("head_dim")?);
    let [tokens, width] = rank(input, "input")?;
    let cache = bindings.named("cos_sin_cache")?;
    let [cached, rope] = rank(cache, "cos_sin_cache")?;
    let (q_weight, k_weight) = (bindings.named("q_weight")?, bindings.named("k_weight")?);
    expect_shape(q_weight, "q_weight", &[head])?;
    expect_shape(k_weight, "k_weight", &[head])?;
    let fits = head > 0
        && q % head == 0
        && kv % head == 0
        && rope <= head
        && rope % 2 == 0
        && q.checked_add(kv).and_then(|sum| sum.checked_add(kv)) == Some(width);
    require(fits && width > 0, || {
        format!("[{tokens}, {width}] split into {q} and twice {kv}, heads of {head}, {rope} rotated")
    })?;
    let places = indices(bindings.named("positions")?, cached)?;
    require(places.len() == tokens, || format!("{} positions for {tokens} tokens", places.len()))?;
    let epsilon = E::Wide::from_f64(bindings.number("eps")?.unwrap_or(EPSILON));
    let parts = Parts { head, rope };
    let (cache, q_weight, k_weight) = (wide::<E::Wide>(cache)?, wide::<E::Wide>(q_weight)?, wide::<E::Wide>(k_weight)?);
    let (mut queries, mut keys, mut rest) =
        (zeros::<E>(&[tokens, q])?, zeros::<E>(&[tokens, kv])?, zeros::<E>(&[tokens, kv])?);
    let input = values::<E>(input)?;
    // One row per token: its queries and keys, then what each output takes of them.
    let mut rotated = zeros::<E>(&[tokens, q + kv])?;
    map_plain_rows(input, width, &mut rotated, q + kv, |token, row, out| {
        let factors = &cache[places[token] * rope..(places[token] + 1) * rope];
        let (q_row, k_row) = row[..q + kv].split_at_mut(q);
        norm_and_rotate(q_row, parts, &q_weight, factors, epsilon);
        norm_and_rotate(k_row, parts, &k_weight, factors, epsilon);
        E::round_slice(&row[..q + kv], out);
    });
    let copy = |from: &[E], width: usize, first: usize, to: &mut [E], size: usize| {
        each_row(to, size, size, |token, to| {
            to.copy_from_slice(&from[token * width + first..token * width + first + size])
        });
    };
    copy(&rotated, q + kv, 0, &mut queries, q);
    copy(&rotated, q + kv, q, &mut keys, kv);
    copy(input, width, q + kv, &mut rest, kv);
    Ok(vec![output([tokens, q], queries)?, output([tokens, kv], keys)?, output([tokens, kv], rest)?])
}

fn norm_and_rotate<W: Wide>(row: &mut [W], parts: Parts, weight: &[W], factors: &[W], epsilon: W) {
    let (cos, sin) = factors.split_at(parts.rope / 2);
    for head in row.chunks_exact_mut(parts.head) {
        root_mean_square_norm(head, weight, epsilon);
        let (first, second) = head[..parts.rope].split_at_mut(parts.rope / 2);
        for ((a, b), (cos, sin)) in first.iter_mut().zip(second).zip(cos.iter().zip(sin)) {
            (*a, *b) = (*a * *cos - *b * *sin, *b * *cos + *a * *sin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_sizes() {
        assert_eq!(head_size(1024, 128, 128), Some(128));
        assert_eq!(head_size(96, 32, 12), Some(16));
        assert_eq!(head_size(96, 32, 64), None);
        assert_eq!(head_size(0, 32, 4), None);
    }
}
