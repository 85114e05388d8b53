//! Sort: the last dimension in descending order, values and indices.

use crate::kernels::jobs::Jobs;
use crate::kernels::sort::{Ordered, descending};
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{values, zeros};
use crate::kernels::with_type;

use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::inputs::{dtypes, shapes};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("Sort", INPUTS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let [x] = inputs.exactly()?;
    let ([shape], [dtype]) = (shapes([x])?, dtypes([x])?);
    Ok(Call::new("torch.sort")
        .arg_tensor(x.tensor("x", shape, dtype))
        .kwarg("dim", -1)
        .kwarg("descending", true)
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let x = bindings.tensor(0)?;
    if !bindings.flag("descending")? {
        return Err(CaseError::unsupported("sorting in ascending order"));
    }
    with_type!(x.dtype(), T => sorted::<T>(x))
}

fn sorted<T: Ordered>(x: &Tensor) -> Result<Vec<Output>, CaseError> {
    let width = x.last_size();
    let (mut out, mut indices) = (zeros::<T>(x.shape())?, zeros::<i64>(x.shape())?);
    let mut jobs = Jobs::new();
    if width > 0 {
        let results = out.chunks_exact_mut(width).zip(indices.chunks_exact_mut(width));
        for (row, (out, indices)) in values::<T>(x)?.chunks_exact(width).zip(results) {
            jobs.add(move || descending(row, out, indices));
        }
    }
    jobs.run();
    Ok(vec![output(x.shape(), out)?, output(x.shape(), indices)?])
}
