//! MoeTokenUnpermute: tokens back in their own order, the choices of a token weighted and summed.

use crate::kernels::rows::{each_row, gather};
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, Stored, indices, rank, require, values, wide, zeros};
use crate::kernels::{with_float, with_type};
use perfdb_store::dtype::DType;

use crate::bindings::{Bindings, Output, output};
use crate::case::{Call, TensorSpec};
use crate::init::Init;
use crate::inputs::require_fit;
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::{Recorded, Row};

pub(super) const OPERATOR: Operator = Operator::new("MoeTokenUnpermute", INPUTS, plan, run);

/// Different rows that are gathered at most.
const ROWS: usize = 8;

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let mut inputs = row.inputs()?.present();
    inputs.retain(|slot| slot.lacks_dtype() || slot.dtype_word() != "UNDEFINED");
    let [tokens, indices] = inputs.at_least()?;
    let probs = inputs.slots().get(2);
    let further = inputs.slots().get(3..).unwrap_or_default();
    let [p, h] = tokens.logical_rank::<2>()?;
    let [n] = indices.logical_rank::<1>()?;
    let probs_shape = probs.map(|probs| probs.logical_rank::<2>()).transpose()?;
    let further_shapes = further.iter().map(Recorded::logical).collect::<Result<Vec<_>, _>>()?;
    let dtype = tokens.dtype_or(DType::BFloat16)?;
    let indices_dtype = indices.dtype_or(DType::BFloat16)?;
    if !indices_dtype.is_integer() {
        indices.dtype_where("an integer type", |_| false)?;
    }
    let probs_dtype = probs.map(|probs| probs.dtype_or(DType::BFloat16)).transpose()?;
    let further_dtypes = further.iter().map(|slot| slot.dtype_or(DType::BFloat16)).collect::<Result<Vec<_>, _>>()?;
    require_fit(n == p, || format!("{n} indices for {p} tokens"))?;
    if let Some([t, k]) = probs_shape {
        require_fit(t.checked_mul(k) == Some(p), || format!("probs of shape {:?} for {p} tokens", [t, k]))?;
    }
    let high = ROWS.min(p) as i64;
    let mut call = Call::new("torch_npu.npu_moe_token_unpermute")
        .arg_tensor(tokens.tensor("permuted_tokens", [p, h], dtype))
        .arg_tensor(indices.tensor("sorted_indices", [n], indices_dtype).init(Init::Randint { low: 0, high }));
    if let (Some(probs), Some(shape), Some(dtype)) = (probs, probs_shape, probs_dtype) {
        call = call.arg_tensor(probs.tensor("probs", shape, dtype));
    }
    for (position, ((slot, shape), dtype)) in (3..).zip(further.iter().zip(further_shapes).zip(further_dtypes)) {
        let spec = TensorSpec::new(format!("input_{position}"), shape, dtype).format(slot.format());
        call = call.arg_tensor(spec);
    }
    Ok(call.into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let (tokens, at, probs) = (bindings.tensor(0)?, bindings.tensor(1)?, bindings.optional_tensor(2)?);
    let count = bindings.call().args.len();
    require(count <= 3, || format!("{count} tensors, expected 2 or 3"))?;
    let [p, _] = rank(tokens, "permuted_tokens")?;
    let places = indices(at, p)?;
    require(places.len() == p, || format!("{} indices for {p} tokens", places.len()))?;
    match probs {
        None => with_type!(tokens.dtype(), T => unpermuted::<T>(tokens, &places)),
        Some(probs) => with_float!(tokens.dtype(), E => weighted::<E>(tokens, &places, probs)),
    }
    .map(|tokens| vec![tokens])
}

fn unpermuted<T: Stored>(tokens: &Tensor, places: &[usize]) -> Result<Output, CaseError> {
    let [p, h] = rank(tokens, "permuted_tokens")?;
    let mut out = zeros::<T>(&[p, h])?;
    gather(values::<T>(tokens)?, h, &mut out, |row| places[row]);
    output([p, h], out)
}

fn weighted<E: Float>(tokens: &Tensor, places: &[usize], probs: &Tensor) -> Result<Output, CaseError> {
    let ([p, h], [t, k]) = (rank(tokens, "permuted_tokens")?, rank(probs, "probs")?);
    require(t * k == p, || format!("probs of shape {:?} for {p} tokens", probs.shape()))?;
    let (tokens, probs) = (values::<E>(tokens)?, wide::<E::Wide>(probs)?);
    let mut out = zeros::<E>(&[t, h])?;
    each_row(&mut out, h, h * k, |token, out| {
        let (mut sum, mut row) = (vec![E::Wide::default(); h], vec![E::Wide::default(); h]);
        for choice in token * k..(token + 1) * k {
            let at = places[choice] * h;
            E::widen_slice(&tokens[at..at + h], &mut row);
            for (sum, value) in sum.iter_mut().zip(&row) {
                *sum += probs[choice] * *value;
            }
        }
        E::round_slice(&sum, out);
    });
    output([t, h], out)
}
