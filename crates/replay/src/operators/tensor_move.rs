//! TensorMove: a copy into a tensor of the same shape, type and format.

use crate::kernels::jobs::Jobs;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Stored, expect_shape, values, values_mut};
use crate::kernels::with_type;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output};
use crate::case::Call;
use crate::init::Init;
use crate::inputs::{dtypes, shapes};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("TensorMove", INPUTS, plan, run);

/// Elements per job.
const JOB: usize = 1 << 16;

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let [x] = inputs.exactly()?;
    let ([shape], [dtype]) = (shapes([x])?, dtypes([x])?);
    Ok(Call::new("torch.Tensor.copy_")
        .tensor(x.tensor("src", shape.clone(), dtype))
        .arg_tensor(x.tensor("dst", shape, dtype).init(Init::CopyOf { of: "src".to_owned() }))
        .arg(Argument::tensor("src"))
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let mut target = bindings.take(0)?;
    let source = bindings.tensor(1)?;
    expect_shape(source, "src", target.tensor.shape())?;
    with_type!(source.dtype(), T => copy::<T>(source, &mut target.tensor))?;
    Ok(vec![Output::InPlace(target)])
}

fn copy<T: Stored>(source: &Tensor, target: &mut Tensor) -> Result<(), CaseError> {
    let (source, target) = (values::<T>(source)?, values_mut::<T>(target)?);
    let mut jobs = Jobs::new();
    for (target, source) in target.chunks_mut(JOB).zip(source.chunks(JOB)) {
        jobs.add(move || target.copy_from_slice(source));
    }
    jobs.run();
    Ok(())
}
