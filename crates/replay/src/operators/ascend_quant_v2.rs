//! AscendQuantV2: x · scale + zero point per column, rounded and saturated to an integer type.

use crate::kernels::element::Wide;
use crate::kernels::quantise::pack_int4;
use crate::kernels::rows::map_plain_rows;
use crate::kernels::shape::elements;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, Stored, integers, require, values, wide, zeros};
use crate::kernels::with_float;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output, output};
use crate::case::{Call, Name};
use crate::inputs::{floats, require_fit, shapes};
use crate::operator::{Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, output_count, unsupported_dtype};
use crate::row::{Recorded, Row, column};

const READS: &[&str] =
    &[column::INPUT_SHAPES, column::INPUT_DATA_TYPES, column::INPUT_FORMATS, column::OUTPUT_DATA_TYPES];

pub(super) const OPERATOR: Operator = Operator::new("AscendQuantV2", READS, plan, run);

/// int4 values per int32.
const PACKED: usize = 8;

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    row.outputs()?;
    let [x, scales] = inputs.at_least()?;
    let zero_points = inputs.slots().get(2);
    let results: Vec<&str> = row.slots_of(column::OUTPUT_DATA_TYPES).filter(|word| !word.is_empty()).collect();
    let [result] = results[..] else {
        return Err(output_count("Output Data Types must have one entry"));
    };
    inputs.slots().iter().take(3).try_for_each(Recorded::require_described)?;
    let ([x_shape, scales_shape], zero_shape) =
        (shapes([x, scales])?, zero_points.map(|slot| slot.logical()).transpose()?);
    let ([x_dtype, scales_dtype], zero_dtype) =
        (floats([x, scales])?, zero_points.map(|slot| slot.dtype()).transpose()?);
    let quantised = match result.strip_prefix("DT_").unwrap_or(result) {
        "INT8" => "qint8",
        "UINT8" => "quint8",
        "INT32" => "int32",
        "INT4" => "quint4x2",
        other => return Err(unsupported_dtype(format!("a result of type {other}"))),
    };
    let columns = x_shape.last().copied().unwrap_or(1);
    for (name, shape) in [("scales", Some(&scales_shape)), ("zero_points", zero_shape.as_ref())] {
        let fits = shape.is_none_or(|shape| matches!(elements(shape), count if count == 1 || count == columns));
        require_fit(fits, || format!("{name} of shape {shape:?} for {columns} columns"))?;
    }
    let call = Call::new("torch_npu.npu_quantize")
        .arg_tensor(x.tensor("x", x_shape, x_dtype))
        .arg_tensor(scales.tensor("scales", scales_shape, scales_dtype));
    let call = match (zero_points, zero_shape, zero_dtype) {
        (Some(slot), Some(shape), Some(dtype)) => call.arg_tensor(slot.tensor("zero_points", shape, dtype)),
        _ => call.arg(Argument::None),
    };
    Ok(call.arg(Argument::DType(Name::from(quantised))).arg(-1).arg(false).into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let (x, scales, zero_points) = (bindings.tensor(0)?, bindings.tensor(1)?, bindings.optional_tensor(2)?);
    let Argument::DType(result) = bindings.arg(3)? else {
        return Err(CaseError::rejected("argument 3 must be a type"));
    };
    with_float!(x.dtype(), E => quantise::<E>(x, scales, zero_points, result)).map(|quantised| vec![quantised])
}

fn quantise<E: Float>(
    x: &Tensor,
    scales: &Tensor,
    zero_points: Option<&Tensor>,
    result: &str,
) -> Result<Output, CaseError> {
    let columns = x.last_size();
    let scales = per_column(wide::<E::Wide>(scales)?, columns)?;
    let zero_points = match zero_points {
        None => vec![E::Wide::default(); columns],
        Some(tensor) if tensor.dtype().is_float() => per_column(wide(tensor)?, columns)?,
        Some(tensor) => {
            per_column(integers(tensor)?.into_iter().map(|value| E::Wide::from_f64(value as f64)).collect(), columns)?
        }
    };
    let apply = |row: &mut [E::Wide]| {
        for ((value, scale), zero) in row.iter_mut().zip(&scales).zip(&zero_points) {
            *value = *value * *scale + *zero;
        }
    };
    match result {
        "qint8" => saturated::<E, i8>(x, apply, [-128, 127], |value| value as i8),
        "quint8" => saturated::<E, u8>(x, apply, [0, 255], |value| value as u8),
        "int32" => saturated::<E, i32>(x, apply, [i32::MIN, i32::MAX], |value| value),
        "quint4x2" => {
            require(columns.is_multiple_of(PACKED), || format!("{columns} columns are not a multiple of {PACKED}"))?;
            let mut shape = x.shape().to_vec();
            shape.last_mut().into_iter().for_each(|size| *size /= PACKED);
            let mut out = zeros::<i32>(&shape)?;
            map_plain_rows(values::<E>(x)?, columns, &mut out, columns / PACKED, |_, row, out| {
                apply(row);
                for (to, eight) in out.iter_mut().zip(row.as_chunks::<PACKED>().0) {
                    *to = pack_int4(eight.map(|value| value.saturate(-8, 7)));
                }
            });
            output(shape, out)
        }
        other => Err(CaseError::unsupported(format!("a result of type {other}"))),
    }
}

/// One value per column from one value or as many as there are columns.
fn per_column<W: Wide>(values: Vec<W>, columns: usize) -> Result<Vec<W>, CaseError> {
    match values[..] {
        [value] => Ok(vec![value; columns]),
        _ if values.len() == columns => Ok(values),
        _ => Err(CaseError::rejected(format!("{} values for {columns} columns", values.len()))),
    }
}

fn saturated<E: Float, O: Stored>(
    x: &Tensor,
    apply: impl Fn(&mut [E::Wide]) + Sync,
    [low, high]: [i32; 2],
    narrow: impl Fn(i32) -> O + Sync,
) -> Result<Output, CaseError> {
    let columns = x.last_size();
    let mut out = zeros::<O>(x.shape())?;
    map_plain_rows(values::<E>(x)?, columns, &mut out, columns, |_, row, out| {
        apply(row);
        out.iter_mut().zip(row).for_each(|(to, value)| *to = narrow(value.saturate(low, high)));
    });
    output(x.shape(), out)
}
