//! Add: x + y, or x + 1 where the database has one input (a scalar operand leaves an empty slot).

use crate::kernels::broadcast::{Stretched, combine, combine_floats};
use crate::kernels::cast::cast;
use crate::kernels::number::Number;
use crate::kernels::shape::{Shape, broadcast};
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, Stored, common_type, values, zeros};
use half::{bf16, f16};
use perfdb_store::dtype::DType;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::inputs::{dtypes, require_fit, shapes};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator { reads_outputs: false, ..Operator::new("Add", INPUTS, plan, run) };

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let [x] = inputs.at_least()?;
    let Some(y) = inputs.slots().get(1) else {
        let ([shape], [dtype]) = (shapes([x])?, dtypes([x])?);
        let one = if dtype.is_float() { Number::Float(1.0) } else { Number::Int(1) };
        return Ok(Call::new("torch.add").arg_tensor(x.tensor("x", shape, dtype)).arg(one).into());
    };
    let ([x_shape, y_shape], [x_dtype, y_dtype]) = (shapes([x, y])?, dtypes([x, y])?);
    require_fit(broadcast(&x_shape, &y_shape).is_some(), || format!("{x_shape:?} and {y_shape:?} do not broadcast"))?;
    let call = Call::new("torch.add").arg_tensor(x.tensor("x", x_shape, x_dtype));
    Ok(call.arg_tensor(y.tensor("y", y_shape, y_dtype)).into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let x = bindings.tensor(0)?;
    match bindings.arg(1)? {
        Argument::Number(number) => sum(x, &cast(&Tensor::scalar(*number), type_with_number(x.dtype(), *number))?),
        _ => sum(x, bindings.tensor(1)?),
    }
    .map(|sum| vec![sum])
}

/// The type of a tensor plus a number: that of the tensor, unless the number is of a higher kind.
fn type_with_number(tensor: DType, number: Number) -> DType {
    match number {
        Number::Float(_) if !tensor.is_float() => DType::Float32,
        Number::Int(_) if tensor == DType::Bool => DType::Int64,
        _ => tensor,
    }
}

fn sum(x: &Tensor, y: &Tensor) -> Result<Output, CaseError> {
    let shape = broadcast(x.shape(), y.shape())
        .ok_or_else(|| CaseError::rejected(format!("shapes {:?} and {:?} do not broadcast", x.shape(), y.shape())))?;
    let dtype = common_type(x.dtype(), y.dtype());
    let brought = |tensor: &Tensor| (tensor.dtype() != dtype).then(|| cast(tensor, dtype)).transpose();
    let (x_cast, y_cast) = (brought(x)?, brought(y)?);
    let (x, y) = (x_cast.as_ref().unwrap_or(x), y_cast.as_ref().unwrap_or(y));
    match dtype {
        DType::Float32 => floats::<f32>(x, y, shape),
        DType::Float16 => floats::<f16>(x, y, shape),
        DType::BFloat16 => floats::<bf16>(x, y, shape),
        DType::Float64 => floats::<f64>(x, y, shape),
        DType::Int8 => each(x, y, shape, i8::wrapping_add),
        DType::UInt8 => each(x, y, shape, u8::wrapping_add),
        DType::Int16 => each(x, y, shape, i16::wrapping_add),
        DType::Int32 => each(x, y, shape, i32::wrapping_add),
        DType::Int64 => each(x, y, shape, i64::wrapping_add),
        DType::Bool => each(x, y, shape, |x: bool, y: bool| x | y),
        other => Err(CaseError::unsupported(format!("sums of {other}"))),
    }
}

fn floats<E: Float>(x: &Tensor, y: &Tensor, shape: Shape) -> Result<Output, CaseError> {
    let [x_way, y_way] = Stretched::all([x.shape(), y.shape()], &shape);
    let mut out = zeros::<E>(&shape)?;
    combine_floats((values(x)?, &x_way), (values(y)?, &y_way), &mut out, |x, y| x + y);
    output(shape, out)
}

fn each<T: Stored>(x: &Tensor, y: &Tensor, shape: Shape, add: impl Fn(T, T) -> T + Sync) -> Result<Output, CaseError> {
    let [x_way, y_way] = Stretched::all([x.shape(), y.shape()], &shape);
    let mut out = zeros::<T>(&shape)?;
    combine((values(x)?, &x_way), (values(y)?, &y_way), &mut out, add);
    output(shape, out)
}

#[cfg(test)]
mod tests {
    use crate::kernels::tensor::Data;

    use super::*;

    #[test]
    fn sums_have_the_common_type() {
        let tensor = |data: Data| Tensor::new([data.len()], data).expect("a vector");
        let add = |x: Data, y: Data| sum(&tensor(x), &tensor(y)).expect("a sum").tensor().data().clone();
        assert_eq!(add(Data::Int8(vec![127, 1]), Data::UInt8(vec![255])), Data::Int16(vec![382, 256]));
        assert_eq!(
            add(Data::Int64(vec![3]), Data::Float16(vec![f16::from_f32(0.5)])),
            Data::Float16(vec![f16::from_f32(3.5)])
        );
        assert_eq!(add(Data::Int8(vec![127]), Data::Int8(vec![1])), Data::Int8(vec![-128]));
        assert_eq!(add(Data::Bool(vec![true, false]), Data::Bool(vec![true])), Data::Bool(vec![true, true]));
    }

    #[test]
    fn numbers_keep_the_tensors_type_where_they_can() {
        assert_eq!(type_with_number(DType::Bool, Number::Int(1)), DType::Int64);
        assert_eq!(type_with_number(DType::Int8, Number::Int(1)), DType::Int8);
        assert_eq!(type_with_number(DType::BFloat16, Number::Float(1.0)), DType::BFloat16);
        assert_eq!(type_with_number(DType::Int32, Number::Float(1.0)), DType::Float32);
    }
}
