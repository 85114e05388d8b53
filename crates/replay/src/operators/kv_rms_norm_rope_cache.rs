//! KvRmsNormRopeCache: the latent part of each token normalised, its position part rotated, both written to paged caches.

use crate::kernels::element::{Element, Wide};
use crate::kernels::normalise::root_mean_square_norm;
use crate::kernels::number::Number;
use crate::kernels::rope::{even_then_odd, rotate_halves};
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, expect_shape, indices, rank, require, values, values_mut, wide, zeros};
use crate::kernels::with_float;
use perfdb_store::dtype::DType;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::init::Init;
use crate::inputs::{floats, require_fit};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, out_of_range};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("KvRmsNormRopeCache", INPUTS, plan, run);

/// Slots of the operator; the last five are unused.
const SLOTS: usize = 12;
/// The first of them, which are used.
const USED: usize = 7;
const EPSILON: f64 = 1e-5;

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?;
    inputs.filled(USED)?;
    inputs.exactly_in_all_lists(SLOTS)?;
    let slot = |at| inputs.get(at).required()?.described_in_place();
    let (kv, gamma, cos, sin, index, k_cache, ckv_cache) =
        (slot(0)?, slot(1)?, slot(2)?, slot(3)?, slot(4)?, slot(5)?, slot(6)?);
    let ([tokens, heads, length, both], [latent]) = (kv.logical_rank::<4>()?, gamma.logical_rank::<1>()?);
    let (cos_shape, sin_shape) = (cos.logical_rank::<4>()?, sin.logical_rank::<4>()?);
    let ([count], k_shape, ckv_shape) =
        (index.logical_rank::<1>()?, k_cache.logical_rank::<4>()?, ckv_cache.logical_rank::<4>()?);
    let [kv_dtype, gamma_dtype, cos_dtype, sin_dtype, k_dtype, ckv_dtype] =
        floats([&kv, &gamma, &cos, &sin, &k_cache, &ckv_cache])?;
    let rope = k_shape[3];
    require_fit(heads == 1 && both == latent + rope && ckv_shape[3] == latent, || {
        format!("kv of shape {:?}, gamma [{latent}], caches {k_shape:?} and {ckv_shape:?}", kv.shape)
    })?;
    require_fit(rope.is_multiple_of(2), || format!("{rope} elements cannot be paired"))?;
    require_fit([cos_shape, sin_shape] == [[tokens, 1, length, rope]; 2], || {
        format!("cos {cos_shape:?}, sin {sin_shape:?} for kv of shape {:?}", kv.shape)
    })?;
    require_fit(k_shape[..3] == ckv_shape[..3], || format!("caches {k_shape:?} and {ckv_shape:?}"))?;
    require_fit(count == tokens.saturating_mul(length), || format!("{count} places for kv of shape {:?}", kv.shape))?;
    let capacity = k_shape[0].saturating_mul(k_shape[1]);
    if count > capacity {
        return Err(out_of_range(format!("{count} tokens for {capacity} slots")));
    }
    let call = Call::new("torch_npu.npu_kv_rmsnorm_rope_cache")
        .arg_tensor(kv.tensor("kv", [tokens, heads, length, both], kv_dtype))
        .arg_tensor(gamma.tensor("gamma", [latent], gamma_dtype))
        .arg_tensor(cos.tensor("cos", cos_shape, cos_dtype))
        .arg_tensor(sin.tensor("sin", sin_shape, sin_dtype))
        .arg_tensor(index.tensor("index", [count], DType::Int64).init(Init::Arange { start: 0 }))
        .arg_tensor(k_cache.tensor("k_cache", k_shape, k_dtype))
        .arg_tensor(ckv_cache.tensor("ckv_cache", ckv_shape, ckv_dtype));
    let call = ["k_rope_scale", "c_kv_scale", "k_rope_offset", "c_kv_offset", "v"]
        .into_iter()
        .fold(call, |call, name| call.kwarg(name, Argument::None));
    Ok(call
        .kwarg("epsilon", Argument::Number(Number::Float(EPSILON)))
        .kwarg("cache_mode", "PA_BNSD")
        .kwarg("is_output_kv", true)
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    for name in ["k_rope_scale", "c_kv_scale", "k_rope_offset", "c_kv_offset", "v"] {
        if bindings.kwarg(name).is_some() {
            return Err(CaseError::unsupported(format!("{name} is given")));
        }
    }
    let epsilon = bindings.number("epsilon")?.unwrap_or(EPSILON);
    let (mut k_cache, mut ckv_cache) = (bindings.take(5)?, bindings.take(6)?);
    let kv = bindings.tensor(0)?;
    let factors = [bindings.tensor(1)?, bindings.tensor(2)?, bindings.tensor(3)?];
    let index = bindings.tensor(4)?;
    let [rope, latent] = with_float!(kv.dtype(), E => tokens::<E>(kv, factors, &k_cache.tensor, epsilon))?;
    write(&mut k_cache.tensor, rope.tensor(), index)?;
    write(&mut ckv_cache.tensor, latent.tensor(), index)?;
    Ok(vec![Output::InPlace(k_cache), Output::InPlace(ckv_cache), rope, latent])
}

/// The rotated and the normalised part of every token.
fn tokens<E: Float>(
    kv: &Tensor,
    [gamma, cos, sin]: [&Tensor; 3],
    k_cache: &Tensor,
    epsilon: f64,
) -> Result<[Output; 2], CaseError> {
    let ([t, heads, length, both], [latent]) = (rank(kv, "kv")?, rank(gamma, "gamma")?);
    let rope = k_cache.last_size();
    require(heads == 1 && both == latent + rope && rope.is_multiple_of(2) && both > 0, || {
        format!("kv of shape {:?}, {latent} and {rope}", kv.shape())
    })?;
    expect_shape(cos, "cos", &[t, 1, length, rope])?;
    expect_shape(sin, "sin", &[t, 1, length, rope])?;
    let (gamma, cos, sin) = (wide::<E::Wide>(gamma)?, wide::<E::Wide>(cos)?, wide::<E::Wide>(sin)?);
    let (mut rotated, mut normalised) = (zeros::<E>(&[t, 1, length, rope])?, zeros::<E>(&[t, 1, length, latent])?);
    let (mut row, mut z) = (vec![E::Wide::default(); both], vec![E::Wide::default(); rope]);
    for (token, kv) in values::<E>(kv)?.chunks_exact(both).enumerate() {
        E::widen_slice(kv, &mut row);
        let (c, k) = row.split_at_mut(latent);
        root_mean_square_norm(c, &gamma, E::Wide::from_f64(epsilon));
        E::round_slice(c, &mut normalised[token * latent..(token + 1) * latent]);
        even_then_odd(k, &mut z);
        let at = token * rope..(token + 1) * rope;
        rotate_halves(&mut z, &cos[at.clone()], &sin[at.clone()]);
        E::round_slice(&z, &mut rotated[at]);
    }
    Ok([output([t, 1, length, rope], rotated)?, output([t, 1, length, latent], normalised)?])
}

/// Writes each token's row to its slot, brought to the cache's type.
fn write(cache: &mut Tensor, rows: &Tensor, index: &Tensor) -> Result<(), CaseError> {
    let [blocks, size, _, width] = rank(cache, "cache")?;
    let places = indices(index, blocks * size)?;
    require(places.len() * width == rows.len() && cache.len() == blocks * size * width, || {
        format!("{} places for rows of shape {:?}", places.len(), rows.shape())
    })?;
    with_float!(cache.dtype(), E => {
        let rows = wide::<<E as Element>::Wide>(rows)?;
        let cache = values_mut::<E>(cache)?;
        if width > 0 {
            for (place, row) in places.into_iter().zip(rows.chunks_exact(width)) {
                E::round_slice(row, &mut cache[place * width..(place + 1) * width]);
            }
        }
        Ok(())
    })
}
