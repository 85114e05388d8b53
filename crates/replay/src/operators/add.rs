//! Add: x + y, or x + 1 where the database has one input (a scalar operand leaves an empty slot).

use half::{bf16, f16};

use crate::argument::Argument;
use crate::bindings::{Bindings, Output};
use crate::case::{Call, TensorSpec};
use crate::init::Number;
use crate::operator::{Fate, INPUTS, Operator, PlanOptions};
use crate::refusal::{CaseError, Refusal, shape_mismatch, unsupported_dtype};
use crate::row::Row;
use crate::shape::broadcast;
use crate::tensor::{Data, Tensor};

pub(super) const OPERATOR: Operator = Operator::new("Add", INPUTS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Fate, Refusal> {
    let inputs = row.inputs()?.present();
    let [x] = inputs.at_least()?;
    let y = inputs.slots().get(1);
    let (x_shape, y_shape) = (x.logical()?, y.map(|y| y.logical()).transpose()?);
    let x_dtype = x.dtype_or(crate::dtype::DType::Float32)?;
    let y_dtype = y.map(|y| y.dtype_or(crate::dtype::DType::Float32)).transpose()?;
    let call = Call::new("torch.add").arg_tensor(TensorSpec::new("x", x_shape.clone(), x_dtype).format(x.format()));
    match (y, y_shape, y_dtype) {
        (Some(y), Some(y_shape), Some(y_dtype)) => {
            if x_dtype != y_dtype {
                return Err(unsupported_dtype(format!("{x_dtype} and {y_dtype}")));
            }
            if broadcast(&x_shape, &y_shape).is_none() {
                return Err(shape_mismatch(format!("{x_shape:?} and {y_shape:?} do not broadcast")));
            }
            Ok(call.arg_tensor(TensorSpec::new("y", y_shape, y_dtype).format(y.format())).into())
        }
        _ => Ok(call.arg(1).into()),
    }
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let x = bindings.tensor(0)?;
    let y = match bindings.arg(1)? {
        Argument::Number(number) => scalar_like(x, *number),
        _ => bindings.tensor(1)?.clone(),
    };
    let shape = broadcast(x.shape(), y.shape()).ok_or_else(|| CaseError::rejected("shapes do not broadcast"))?;
    let (x_at, y_at) = (positions(x.shape(), &shape), positions(y.shape(), &shape));
    macro_rules! sum {
        ($a:expr, $b:expr, $add:expr) => {
            x_at.iter().zip(&y_at).map(|(&i, &j)| $add($a[i], $b[j])).collect()
        };
    }
    let data = match (x.data(), y.data()) {
        (Data::Float32(a), Data::Float32(b)) => Data::Float32(sum!(a, b, |a: f32, b: f32| a + b)),
        (Data::Float16(a), Data::Float16(b)) => {
            Data::Float16(sum!(a, b, |a: f16, b: f16| f16::from_f32(a.to_f32() + b.to_f32())))
        }
        (Data::BFloat16(a), Data::BFloat16(b)) => {
            Data::BFloat16(sum!(a, b, |a: bf16, b: bf16| bf16::from_f32(a.to_f32() + b.to_f32())))
        }
        (Data::Int64(a), Data::Int64(b)) => Data::Int64(sum!(a, b, i64::wrapping_add)),
        (Data::Int32(a), Data::Int32(b)) => Data::Int32(sum!(a, b, i32::wrapping_add)),
        _ => return Err(CaseError::unsupported(format!("add of {} and {}", x.dtype(), y.dtype()))),
    };
    Ok(vec![Output::new(shape, data)?])
}

fn scalar_like(x: &Tensor, number: Number) -> Tensor {
    let mut scalar = Tensor::zeros([], x.dtype());
    match scalar.data_mut() {
        Data::Float32(values) => values.fill(number.as_f64() as f32),
        Data::BFloat16(values) => values.fill(bf16::from_f64(number.as_f64())),
        Data::Float16(values) => values.fill(f16::from_f64(number.as_f64())),
        Data::Int64(values) => values.fill(number.as_i64()),
        Data::Int32(values) => values.fill(number.as_i64() as i32),
        _ => {}
    }
    scalar
}

fn positions(shape: &[usize], target: &[usize]) -> Vec<usize> {
    let offset = target.len() - shape.len();
    (0..crate::shape::elements(target))
        .map(|flat| {
            let (mut rest, mut at, mut stride) = (flat, 0, 1);
            for i in (0..target.len()).rev() {
                let coordinate = rest % target[i];
                rest /= target[i];
                if i >= offset {
                    if shape[i - offset] != 1 {
                        at += coordinate * stride;
                    }
                    stride *= shape[i - offset];
                }
            }
            at
        })
        .collect()
}
