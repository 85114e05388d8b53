//! MatMulV2: matrix product. The database writes the second input as [N, K]; it is built so and passed transposed.

use crate::bindings::{Bindings, Output};
use crate::case::{Call, TensorSpec};
use crate::dtype::DType;
use crate::operator::{Fate, INPUTS, Operator, PlanOptions};
use crate::refusal::{CaseError, Refusal, shape_mismatch, unsupported_dtype};
use crate::row::{Recorded, Row};
use crate::tensor::{Data, Tensor};

pub(super) const OPERATOR: Operator = Operator::new("MatMulV2", INPUTS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Fate, Refusal> {
    let inputs = row.inputs()?.present();
    let [a, b] = inputs.exactly()?;
    inputs.strict()?;
    product_call(row, a, b)
}

/// The product of two recorded matrices, in the first orientation that fits the recorded output.
pub(super) fn product_call(row: &Row<'_>, a: &Recorded<'_>, b: &Recorded<'_>) -> Result<Fate, Refusal> {
    let (a_stored, b_stored) = (a.logical_rank::<2>()?, b.logical_rank::<2>()?);
    let (a_dtype, b_dtype) = (a.dtype()?, b.dtype()?);
    if a_dtype != b_dtype {
        return Err(unsupported_dtype(format!("{a_dtype} times {b_dtype}")));
    }
    let recorded = row.outputs()?.get(0).shape.and_then(|shape| <[usize; 2]>::try_from(shape).ok());
    let orientations = [(false, true), (false, false), (true, true), (true, false)];
    let fits = |&(swap_a, swap_b): &(bool, bool)| {
        let ([m, k], [inner, n]) = (swapped(a_stored, swap_a), swapped(b_stored, swap_b));
        k == inner && recorded.map_or(!swap_a, |output| output == [m, n])
    };
    let (swap_a, swap_b) = orientations.into_iter().find(fits).ok_or_else(|| {
        shape_mismatch(format!("{a_stored:?} and {b_stored:?} do not make {recorded:?}"))
    })?;
    let spec = |name, stored: [usize; 2], swap, slot: &Recorded<'_>, dtype| {
        let spec = if swap { TensorSpec::transposed(name, stored, dtype) } else { TensorSpec::new(name, stored, dtype) };
        spec.format(slot.format())
    };
    Ok(Call::new("torch.mm")
        .arg_tensor(spec("a", a_stored, swap_a, a, a_dtype))
        .arg_tensor(spec("b", b_stored, swap_b, b, b_dtype))
        .into())
}

fn swapped([rows, columns]: [usize; 2], swap: bool) -> [usize; 2] {
    if swap { [columns, rows] } else { [rows, columns] }
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let (a, b) = (bindings.tensor(0)?, bindings.tensor(1)?);
    let (&[m, k], &[inner, n]) = (a.shape(), b.shape()) else {
        return Err(CaseError::rejected("mm takes two matrices"));
    };
    if k != inner || a.dtype() != b.dtype() {
        return Err(CaseError::rejected(format!("{:?} times {:?}", a.shape(), b.shape())));
    }
    let (left, right) = (wide(a)?, wide(b)?);
    let mut out = vec![0.0_f32; m * n];
    for row in 0..m {
        for column in 0..n {
            let at = |i: usize| {
                let left_at = if a.is_transposed() { i * m + row } else { row * k + i };
                let right_at = if b.is_transposed() { column * k + i } else { i * n + column };
                left[left_at] * right[right_at]
            };
            out[row * n + column] = (0..k).map(at).sum();
        }
    }
    let data = match a.dtype() {
        DType::BFloat16 => Data::BFloat16(out.into_iter().map(half::bf16::from_f32).collect()),
        DType::Float16 => Data::Float16(out.into_iter().map(half::f16::from_f32).collect()),
        _ => Data::Float32(out),
    };
    Ok(vec![Output::new([m, n], data)?])
}

fn wide(tensor: &Tensor) -> Result<Vec<f32>, CaseError> {
    match tensor.data() {
        Data::Float32(values) => Ok(values.clone()),
        Data::Float16(values) => Ok(values.iter().map(|value| value.to_f32()).collect()),
        Data::BFloat16(values) => Ok(values.iter().map(|value| value.to_f32()).collect()),
        _ => Err(CaseError::unsupported(format!("mm of {}", tensor.dtype()))),
    }
}
