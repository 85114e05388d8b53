//! GatherV2: rows of a table. Only eight different rows are ever gathered, as in the databases' own measurements.

use crate::argument::Argument;
use crate::bindings::{Bindings, Output};
use crate::case::Call;
use crate::dtype::DType;
use crate::init::Init;
use crate::inputs::{dtypes, shapes};
use crate::kernels::rows::gather;
use crate::kernels::typed::{Stored, indices, output, require, values, with_type, zeros};
use crate::operator::{Fate, INPUTS, Operator, PlanOptions};
use crate::refusal::{CaseError, Refusal};
use crate::row::Row;
use crate::tensor::Tensor;

pub(super) const OPERATOR: Operator = Operator::new("GatherV2", INPUTS, plan, run);

/// Different rows that are gathered at most.
const ROWS: usize = 8;

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Fate, Refusal> {
    let inputs = row.inputs()?.present();
    let [weight, indices] = inputs.at_least()?;
    let [weight_shape, indices_shape] = shapes([weight, indices])?;
    let [weight_dtype] = dtypes([weight])?;
    let indices_dtype = indices.dtype_where("an integer type", DType::is_integer)?;
    let rows = weight_shape.first().copied().unwrap_or(1).min(ROWS);
    Ok(Call::new("torch.nn.functional.embedding")
        .tensor(weight.tensor("weight", weight_shape, weight_dtype))
        .arg_tensor(indices.tensor("indices", indices_shape, indices_dtype).init(Init::Randint { low: 0, high: rows as i64 }))
        .arg(Argument::tensor("weight"))
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let (indices, weight) = (bindings.tensor(0)?, bindings.tensor(1)?);
    with_type!(weight.dtype(), T => rows_of::<T>(weight, indices)).map(|rows| vec![rows])
}

/// The rows of a table at these indices; negative ones count from the end where `from_end` says so.
pub(super) fn rows_of<T: Stored>(table: &Tensor, at: &Tensor) -> Result<Output, CaseError> {
    require(!table.shape().is_empty(), || "a scalar has no rows".to_owned())?;
    let (count, row_shape) = table.shape().split_first().map_or((1, &[][..]), |(count, rest)| (*count, rest));
    let places = indices(at, count)?;
    let shape = [at.shape(), row_shape].concat();
    let mut out = zeros::<T>(&shape);
    gather(values::<T>(table)?, crate::shape::elements(row_shape), &mut out, |row| places[row]);
    output(shape, out)
}
