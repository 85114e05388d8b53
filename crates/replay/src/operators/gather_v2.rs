//! GatherV2: rows of a table. Only eight different rows are ever gathered, as in the databases' own measurements.

use crate::kernels::rows::gather;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Stored, indices, values, zeros};
use crate::kernels::with_type;
use perfdb_store::dtype::DType;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::init::Init;
use crate::inputs::{dtypes, shapes};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("GatherV2", INPUTS, plan, run);

/// Different rows that are gathered at most.
const ROWS: usize = 8;

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let [weight, indices] = inputs.at_least()?;
    let [weight_shape, indices_shape] = shapes([weight, indices])?;
    let [weight_dtype] = dtypes([weight])?;
    let indices_dtype = indices.dtype_where("an integer type", DType::is_integer)?;
    let rows = weight_shape.first().copied().unwrap_or(1).min(ROWS);
    Ok(Call::new("torch.nn.functional.embedding")
        .tensor(weight.tensor("weight", weight_shape, weight_dtype))
        .arg_tensor(
            indices.tensor("indices", indices_shape, indices_dtype).init(Init::Randint { low: 0, high: rows as i64 }),
        )
        .arg(Argument::tensor("weight"))
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let (wanted, weight) = (bindings.tensor(0)?, bindings.tensor(1)?);
    let places = indices(wanted, row_count(weight)?)?;
    with_type!(weight.dtype(), T => rows_of::<T>(weight, wanted.shape(), &places)).map(|rows| vec![rows])
}

/// Number of rows of a table.
pub(super) fn row_count(table: &Tensor) -> Result<usize, CaseError> {
    table.shape().first().copied().ok_or_else(|| CaseError::rejected("a scalar has no rows"))
}

/// The rows of a table at these places, which take the shape of the indices.
pub(super) fn rows_of<T: Stored>(table: &Tensor, shape: &[usize], places: &[usize]) -> Result<Output, CaseError> {
    let row_shape = table.shape().get(1..).unwrap_or_default();
    let shape = [shape, row_shape].concat();
    let mut out = zeros::<T>(&shape)?;
    gather(values::<T>(table)?, crate::kernels::shape::elements(row_shape), &mut out, |row| places[row]);
    output(shape, out)
}
