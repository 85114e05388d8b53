//! ReshapeAndCacheNdKernel: keys and values written to the slots of a paged cache.

use crate::kernels::shape::elements;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Stored, index, integers, require, values, values_mut};
use crate::kernels::with_type;
use perfdb_store::dtype::DType;

use crate::bindings::{Bindings, Output, Taken};
use crate::case::Call;
use crate::init::Init;
use crate::inputs::{dtypes, require_fit, shapes};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, out_of_range};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("ReshapeAndCacheNdKernel", INPUTS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let [key, value, key_cache, value_cache, slots] = inputs.exactly()?;
    let [key_shape, value_shape, key_cache_shape, value_cache_shape] = shapes([key, value, key_cache, value_cache])?;
    let [tokens] = slots.logical_rank::<1>()?;
    let &[blocks, size, ..] = &*key_cache_shape else {
        return Err(key_cache.wrong_rank("at least 2"));
    };
    let [key_dtype, value_dtype, key_cache_dtype, value_cache_dtype] = dtypes([key, value, key_cache, value_cache])?;
    for (name, shape, cache) in [("key", &key_shape, &key_cache_shape), ("value", &value_shape, &value_cache_shape)] {
        let fits = shape.first() == Some(&tokens)
            && cache.get(..2) == Some(&[blocks, size])
            && elements(&shape[1..]) == elements(&cache[2..]);
        require_fit(fits, || format!("{name} of shape {shape:?} for {tokens} slots of {cache:?}"))?;
    }
    let capacity = blocks.saturating_mul(size);
    if tokens > capacity {
        return Err(out_of_range(format!("{tokens} tokens for {capacity} slots")));
    }
    let places = Init::Permutation { n: capacity as u64, take: tokens as u64 };
    Ok(Call::new("torch_npu._npu_reshape_and_cache")
        .arg_tensor(key.tensor("key", key_shape, key_dtype))
        .arg_tensor(value.tensor("value", value_shape, value_dtype))
        .arg_tensor(key_cache.tensor("key_cache", key_cache_shape, key_cache_dtype))
        .arg_tensor(value_cache.tensor("value_cache", value_cache_shape, value_cache_dtype))
        .arg_tensor(slots.tensor("slot_mapping", [tokens], DType::Int32).init(places))
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let (mut key_cache, mut value_cache) = (bindings.take(2)?, bindings.take(3)?);
    let (key, value, slots) = (bindings.tensor(0)?, bindings.tensor(1)?, integers(bindings.tensor(4)?)?);
    write(&mut key_cache, key, &slots)?;
    write(&mut value_cache, value, &slots)?;
    Ok(vec![Output::InPlace(key_cache), Output::InPlace(value_cache)])
}

fn write(cache: &mut Taken, rows: &Tensor, slots: &[i64]) -> Result<(), CaseError> {
    with_type!(cache.tensor.dtype(), T => write_rows::<T>(&mut cache.tensor, rows, slots))
}

/// Writes row i to slot `slots[i]`; a negative slot leaves it out.
fn write_rows<T: Stored>(cache: &mut Tensor, rows: &Tensor, slots: &[i64]) -> Result<(), CaseError> {
    let (head, rest) = cache.shape().split_at(cache.shape().len().min(2));
    let (capacity, width) = (elements(head), elements(rest));
    let fits = head.len() == 2 && rows.shape().first() == Some(&slots.len()) && elements(&rows.shape()[1..]) == width;
    require(fits, || format!("{:?} for {} slots of {:?}", rows.shape(), slots.len(), cache.shape()))?;
    let (rows, cache) = (values::<T>(rows)?, values_mut::<T>(cache)?);
    if width > 0 {
        for (slot, row) in slots.iter().zip(rows.chunks_exact(width)).filter(|(slot, _)| **slot >= 0) {
            let at = index(*slot, capacity)? * width;
            cache[at..at + width].copy_from_slice(row);
        }
    }
    Ok(())
}
