//! QuantBatchMatmulV3: an int8 product with scales per column and per row, a bias or an offset.

use crate::kernels::matmul::{Operand, product};
use crate::kernels::shape::elements;
use crate::kernels::target::Target;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{integers, rank, require, scales, values, zeros};
use crate::kernels::with_target;
use perfdb_store::dtype::DType;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output, output};
use crate::case::{Call, Format};
use crate::inputs::{is_scale, require_fit};
use crate::operator::{Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, role, unsupported_dtype};
use crate::row::{Present, Recorded, Row, column};

const READS: &[&str] = column::BUT_OUTPUT_FORMATS;

pub(super) const OPERATOR: Operator = Operator::new("QuantBatchMatmulV3", READS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let all = row.inputs()?;
    let outputs = row.outputs()?.present();
    let inputs = all.present();
    let [x1, x2, scale] = three_or_four(&inputs)?;
    let fourth = inputs.slots().get(3);
    let [recorded] = outputs.exactly()?;
    inputs.strict()?;
    all.no_further_description()?;
    let x1_shape = x1.logical()?;
    let &[.., m, k] = &*x1_shape else {
        return Err(x1.wrong_rank("at least 2"));
    };
    let [rows, n] = x2.logical_rank::<2>()?;
    let (scale_shape, fourth_shape) = (scale.logical()?, fourth.map(|slot| slot.logical()).transpose()?);
    for slot in [x1, x2] {
        slot.dtype_where("INT8", |dtype| dtype == DType::Int8)?;
    }
    let scale_dtype = scale.dtype_where("a type of scales", is_scale)?;
    let fourth_dtype = fourth.map(|slot| slot.dtype()).transpose()?;
    let result = match recorded.dtype()? {
        dtype if dtype.is_float() && dtype != DType::Float64 || matches!(dtype, DType::Int8 | DType::Int32) => dtype,
        other => return Err(unsupported_dtype(format!("a result of type {other}"))),
    };
    require_fit(k == rows, || format!("{x1_shape:?} times {:?}", [rows, n]))?;
    require_fit(matches!(elements(&scale_shape), count if count == 1 || count == n), || {
        format!("scale of shape {scale_shape:?} for {n} columns")
    })?;
    let mut call = Call::new("torch_npu.npu_quant_matmul")
        .arg_tensor(x1.tensor("x1", x1_shape.clone(), DType::Int8))
        .arg_tensor(x2.tensor("x2", [rows, n], DType::Int8))
        .arg_tensor(scale.tensor("scale", scale_shape, scale_dtype))
        .kwarg("output_dtype", Argument::dtype(result));
    if let (Some(slot), Some(shape), Some(dtype)) = (fourth, fourth_shape, fourth_dtype) {
        let name = match (dtype, elements(&shape)) {
            (DType::Int32, _) => "bias",
            (DType::Float32, count) if count == m => "pertoken_scale",
            (DType::Float32, count) if count == 1 || count == n => "offset",
            _ => return Err(role(format!("input {} of type {dtype} and shape {shape:?}", slot.position))),
        };
        call = call.kwarg_tensor(slot.tensor(name, shape, dtype));
    }
    call.mode = Some(if x2.format() == Format::FractalNz { "graph" } else { "eager" }.into());
    Ok(call.into())
}

fn three_or_four<'a, 'b>(inputs: &'b Present<'a>) -> Result<&'b [Recorded<'a>; 3], Refusal> {
    inputs.between(3, 4)?;
    inputs.at_least()
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let result = bindings.dtype("output_dtype")?.unwrap_or(DType::Int8);
    with_target!(result, T => scaled_product::<T>(bindings)).map(|product| vec![product])
}

fn scaled_product<T: Target>(bindings: &Bindings<'_>) -> Result<Output, CaseError> {
    let (x1, x2) = (bindings.tensor(0)?, bindings.tensor(1)?);
    let &[.., m, k] = x1.shape() else {
        return Err(CaseError::rejected(format!("x1 has shape {:?}", x1.shape())));
    };
    let [rows, n] = rank(x2, "x2")?;
    require(k == rows, || format!("{:?} times {:?}", x1.shape(), x2.shape()))?;
    let per_column = |name: &str, values: Vec<f32>| match values[..] {
        [value] => Ok(vec![value; n]),
        _ if values.len() == n => Ok(values),
        _ => Err(CaseError::rejected(format!("{} values of {name} for {n} columns", values.len()))),
    };
    let scale = per_column("scale", scales(bindings.tensor(2)?)?)?;
    let offset = bindings.optional_named("offset")?.map(|offset| per_column("offset", scales(offset)?)).transpose()?;
    let per_token = bindings.optional_named("pertoken_scale")?.map(scales::<f32>).transpose()?;
    require(per_token.as_ref().is_none_or(|scales| scales.len() == m), || format!("pertoken_scale for {m} rows"))?;
    let bias = bindings.optional_named("bias")?.map(integers).transpose()?;
    require(bias.as_ref().is_none_or(|bias| bias.len() == n), || format!("bias for {n} columns"))?;
    let bias = bias.map(|bias| bias.into_iter().map(|value| value as i32).collect::<Vec<_>>());
    let shape = [&x1.shape()[..x1.shape().len() - 1], &[n]].concat();
    let mut out = zeros::<T>(&shape)?;
    let factors = (operand(x1, elements(&x1.shape()[..x1.shape().len() - 1]), k)?, matrix(x2, rows, n)?);
    let is_raw = T::wrap(Vec::new()).dtype() == DType::Int32;
    product(
        factors.0,
        factors.1,
        if n == 0 { Vec::new() } else { out.chunks_exact_mut(n).collect() },
        |row, column, sums, line| {
            for (at, (sum, to)) in (column..).zip(sums.iter().zip(line)) {
                let sum = sum.wrapping_add(bias.as_ref().map_or(0, |bias| bias[at]));
                if is_raw {
                    *to = T::nearest(f64::from(sum));
                    continue;
                }
                let mut value = sum as f32 * scale[at];
                if let Some(offset) = &offset {
                    value += offset[at];
                }
                if let Some(per_token) = &per_token {
                    value *= per_token[row % m];
                }
                *to = T::nearest(value);
            }
        },
    );
    output(shape, out)
}

fn operand(tensor: &Tensor, rows: usize, columns: usize) -> Result<Operand<'_, i8>, CaseError> {
    Ok(Operand::row_major(values::<i8>(tensor)?, rows, columns))
}

fn matrix(tensor: &Tensor, rows: usize, columns: usize) -> Result<Operand<'_, i8>, CaseError> {
    let values = <i8 as crate::kernels::typed::Stored>::slice(tensor.data());
    let values = values.ok_or_else(|| CaseError::rejected(format!("x2 of type {}, expected int8", tensor.dtype())))?;
    Ok(Operand::new(values, rows, columns, tensor.is_transposed()))
}
