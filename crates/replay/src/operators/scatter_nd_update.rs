//! ScatterNdUpdate: rows of a tensor replaced in place.

use crate::kernels::shape::elements;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Stored, indices, rank, require, values, values_mut};
use crate::kernels::with_type;
use perfdb_store::dtype::DType;

use crate::bindings::{Bindings, Output};
use crate::case::Call;
use crate::init::Init;
use crate::inputs::{dtypes, require_fit, shapes};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, bad_rank, out_of_range};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("ScatterNdUpdate", INPUTS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let [data, indices, updates] = inputs.exactly()?;
    let [data_shape, indices_shape, updates_shape] = shapes([data, indices, updates])?;
    let [n, 1] = indices_shape[..] else {
        return Err(bad_rank(format!("indices of shape {indices_shape:?}, expected (n, 1)")));
    };
    let [data_dtype, updates_dtype] = dtypes([data, updates])?;
    let (rows, rest) = data_shape.split_first().map_or((0, &[][..]), |(rows, rest)| (*rows, rest));
    let fits = updates_shape.split_first().is_some_and(|(count, update)| *count == n && update == rest);
    require_fit(fits, || format!("updates of shape {updates_shape:?} for {n} rows of {data_shape:?}"))?;
    if n > rows {
        return Err(out_of_range(format!("{n} updates of {rows} rows")));
    }
    let places = Init::Permutation { n: rows as u64, take: n as u64 };
    Ok(Call::new("torch_npu.npu_scatter_nd_update")
        .arg_tensor(data.tensor("data", data_shape, data_dtype))
        .arg_tensor(indices.tensor("indices", [n, 1], DType::Int32).init(places))
        .arg_tensor(updates.tensor("updates", updates_shape, updates_dtype))
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let mut data = bindings.take(0)?;
    let (at, updates) = (bindings.tensor(1)?, bindings.tensor(2)?);
    with_type!(data.tensor.dtype(), T => replace::<T>(&mut data.tensor, at, updates))?;
    Ok(vec![Output::InPlace(data)])
}

fn replace<T: Stored>(data: &mut Tensor, at: &Tensor, updates: &Tensor) -> Result<(), CaseError> {
    let [n, 1] = rank::<2>(at, "indices")? else {
        return Err(CaseError::rejected(format!("indices of shape {:?}, expected (n, 1)", at.shape())));
    };
    let (rows, rest) = data.shape().split_first().map_or((0, &[][..]), |(rows, rest)| (*rows, rest));
    let width = elements(rest);
    let fits = updates.shape().split_first().is_some_and(|(count, update)| *count == n && update == rest);
    require(fits, || format!("updates of shape {:?} for {n} rows of {:?}", updates.shape(), data.shape()))?;
    let places = indices(at, rows)?;
    let (updates, data) = (values::<T>(updates)?, values_mut::<T>(data)?);
    if width > 0 {
        for (place, update) in places.into_iter().zip(updates.chunks_exact(width)) {
            data[place * width..(place + 1) * width].copy_from_slice(update);
        }
    }
    Ok(())
}
