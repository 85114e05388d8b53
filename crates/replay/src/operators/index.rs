//! Index: rows of a tensor, `source[index]`.

use crate::kernels::typed::{index, integers};
use crate::kernels::with_type;
use perfdb_store::dtype::DType;

use super::gather_v2::{row_count, rows_of};
use crate::bindings::{Bindings, Output};
use crate::case::{Call, TensorSpec};
use crate::init::Init;
use crate::inputs::{dtypes, shapes};
use crate::operator::{Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, metadata_length, out_of_range, output_count};
use crate::row::{Row, column};

const READS: &[&str] = &[column::INPUT_SHAPES, column::INPUT_DATA_TYPES, column::INPUT_FORMATS, column::OUTPUT_SHAPES];

pub(super) const OPERATOR: Operator = Operator::new("Index", READS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let output = row.outputs()?.first_shape();
    let [source, _, _, index] = inputs.exactly()?;
    let output = output.ok_or_else(|| output_count("no recorded output"))?;
    if let Some(slot) = inputs.slots().iter().find(|slot| slot.lacks_dtype()) {
        return Err(metadata_length(format!("input {} has no type", slot.position)));
    }
    let [shape] = shapes([source])?;
    let [dtype] = dtypes([source])?;
    let index_dtype = index.dtype_where("int32 or int64", |dtype| matches!(dtype, DType::Int32 | DType::Int64))?;
    let length = output.first().copied().unwrap_or(0);
    let rows = shape.first().copied().unwrap_or(0);
    if length == 0 || length > rows {
        return Err(out_of_range(format!("{length} of {rows} rows")));
    }
    Ok(Call::new("torch.Tensor.__getitem__")
        .arg_tensor(source.tensor("source", shape, dtype))
        .arg_tensor(TensorSpec::new("index", [length], index_dtype).init(Init::Arange { start: 0 }))
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let (source, wanted) = (bindings.tensor(0)?, bindings.tensor(1)?);
    let count = row_count(source)?;
    let places = integers(wanted)?
        .into_iter()
        .map(|at| index(from_the_start(at, count), count))
        .collect::<Result<Vec<_>, _>>()?;
    with_type!(source.dtype(), T => rows_of::<T>(source, wanted.shape(), &places)).map(|rows| vec![rows])
}

/// Negative indices count from the end.
fn from_the_start(at: i64, count: usize) -> i64 {
    if at < 0 { at.saturating_add_unsigned(count as u64) } else { at }
}
