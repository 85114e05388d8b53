//! GroupedMatmul: groups of rows, each times a matrix of its own, with scales per column and per row.

use crate::kernels::element::Wide;
use crate::kernels::grouped::{Group, Matrices, grouped_product};
use crate::kernels::matmul::Factor;
use crate::kernels::paging::sequences;
use crate::kernels::shape::{Shape, unfold_fractal_nz};
use crate::kernels::target::Target;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Stored, integers, rank, require, scales, values, zeros};
use crate::kernels::with_float;
use crate::kernels::with_target;
use perfdb_store::dtype::DType;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output, output};
use crate::case::{Call, Format, TensorSpec};
use crate::init::Init;
use crate::inputs::{factors, is_scale, listable, require_fit, running_sums, spread};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, unsupported_dtype};
use crate::row::{Recorded, Row, Slot, column, dtype_of_cell};

pub(super) const OPERATOR: Operator = Operator::new("GroupedMatmul", INPUTS, plan, run);

/// Positions of the inputs that are used.
const X: usize = 0;
const WEIGHT: usize = 1;
const SCALE: usize = 3;
const GROUP_LIST: usize = 7;
const PER_TOKEN_SCALE: usize = 8;

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?;
    row.outputs()?;
    let (x, weight) = (inputs.get(X).required()?, inputs.get(WEIGHT).required()?);
    let (x, weight) = (x.described_in_place()?, weight.described_in_place()?);
    let (scale, group_list) = (described(inputs.get(SCALE))?, described(inputs.get(GROUP_LIST))?);
    let per_token_scale = described(inputs.get(PER_TOKEN_SCALE))?;
    let [t, k] = x.logical_rank::<2>()?;
    let weight_shape = expert_weights(&weight)?;
    let scale_shape = scale.as_ref().map(scale_shape).transpose()?;
    let groups = group_list.as_ref().map(|list| list.logical_rank::<1>()).transpose()?;
    let per_token_shape = per_token_scale.as_ref().map(|scale| scale.logical()).transpose()?;
    let dtype = factors(&x, &weight)?;
    let scale_dtype = |slot: &Recorded<'_>| slot.dtype_where("a type of scales", is_scale);
    let (scale_type, per_token_type) =
        (scale.as_ref().map(scale_dtype).transpose()?, per_token_scale.as_ref().map(scale_dtype).transpose()?);
    let group_type = group_list.as_ref().map(index_type).transpose()?;
    let result = result_type(row)?;
    require_fit(weight_shape.iter().rev().nth(1) == Some(&k), || format!("{:?} times {weight_shape:?}", [t, k]))?;
    let list = |spec: TensorSpec| (spec.name.clone(), Argument::List(vec![Argument::Tensor(spec.name.clone())]), spec);
    let mut call = Call::new("torch_npu.npu_grouped_matmul")
        .kwarg_tensor_list(x.tensor("x", [t, k], dtype))
        .kwarg_tensor_list(weight.tensor("weight", weight_shape, dtype))
        .kwarg("split_item", 2)
        .kwarg("group_list_type", 0)
        .kwarg("group_type", 0);
    call = match (group_list, groups, group_type) {
        (Some(slot), Some([g]), Some(group_type)) => call.kwarg_tensor(group_ends(&slot, group_type, t, g)?),
        _ => call.kwarg("group_list", Argument::None),
    };
    for (name, slot, shape, dtype) in [
        ("scale", scale, scale_shape, scale_type),
        ("per_token_scale", per_token_scale, per_token_shape, per_token_type),
    ] {
        if let (Some(slot), Some(shape), Some(dtype)) = (slot, shape, dtype) {
            let (name, argument, spec) = list(slot.tensor(name, shape, dtype).init(Init::full(1)));
            call = call.tensor(spec).kwarg(name, argument);
        }
    }
    if let Some(result) = result {
        call = call.kwarg("output_dtype", Argument::dtype(result));
    }
    Ok(call.into())
}

fn described(slot: Slot<'_>) -> Result<Option<Recorded<'_>>, Refusal> {
    slot.recorded().map(Recorded::described_in_place).transpose()
}

/// The type of a list of groups (`unsupported-dtype` where it has no integers).
pub(super) fn index_type(list: &Recorded<'_>) -> Result<DType, Refusal> {
    list.dtype_where("an integer type", DType::is_integer)
}

/// Where each of `groups` groups ends when `rows` are spread evenly over them.
pub(super) fn group_ends(list: &Recorded<'_>, dtype: DType, rows: usize, groups: usize) -> Result<TensorSpec, Refusal> {
    Ok(list.tensor("group_list", [groups], dtype).init(Init::integers(running_sums(spread(rows, listable(groups)?)))))
}

/// The weights as the operator sees them: `FRACTAL_NZ` is unfolded, but for three dimensions, which are logical already.
pub(super) fn expert_weights(weight: &Recorded<'_>) -> Result<Shape, Refusal> {
    match (weight.format(), weight.shape.len()) {
        (Format::FractalNz, 3) => Ok(weight.shape.clone()),
        (Format::FractalNz, 5) => unfold_fractal_nz(&weight.shape).ok_or_else(|| weight.wrong_rank("3 or 5")),
        (Format::FractalNz, _) => weight.logical_rank::<2>().map(Shape::from),
        (Format::Nd, _) => weight.rank::<3>().map(Shape::from),
    }
}

/// A scale keeps its recorded shape where it is blocked too: it has no matrix to unfold unless it has four dimensions.
fn scale_shape(scale: &Recorded<'_>) -> Result<Shape, Refusal> {
    match scale.format() {
        Format::FractalNz if scale.shape.len() != 4 => Ok(scale.shape.clone()),
        _ => scale.logical(),
    }
}

/// The first recorded result type, if there is one.
fn result_type(row: &Row<'_>) -> Result<Option<DType>, Refusal> {
    let Some(word) = row.slots_of(column::OUTPUT_DATA_TYPES).find(|word| !word.is_empty()) else {
        return Ok(None);
    };
    dtype_of_cell(word).map(Some).ok_or_else(|| unsupported_dtype(format!("a result of type {word}")))
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let x = bindings.named("x")?;
    let result = bindings.dtype("output_dtype")?.unwrap_or(x.dtype());
    if bindings.integer("group_list_type")?.unwrap_or(0) != 0 || bindings.integer("group_type")?.unwrap_or(0) != 0 {
        return Err(CaseError::unsupported("another kind of group list"));
    }
    let product = match x.dtype() {
        DType::Int8
            if result == DType::Int32
                && bindings.kwarg("scale").is_none()
                && bindings.kwarg("per_token_scale").is_none() =>
        {
            let (shape, sums) = multiply::<i8, i32>(bindings, x, |_, _, _, sums, to| to.copy_from_slice(sums))?;
            output(shape, sums)
        }
        DType::Int8 => {
            let scaled = Scales::<f32>::new(bindings)?;
            let (shape, sums) = multiply::<i8, f32>(bindings, x, |row, matrix, column, sums, to| {
                to.iter_mut().zip(sums).for_each(|(to, sum)| *to = *sum as f32);
                scaled.apply(row, matrix, column, to);
            })?;
            nearest(result, shape, &sums)
        }
        dtype => with_float!(dtype, E => {
            let scaled = Scales::new(bindings)?;
            let (shape, sums) = multiply::<E, _>(bindings, x, |row, matrix, column, sums, to| {
                to.copy_from_slice(sums);
                scaled.apply(row, matrix, column, to);
            })?;
            nearest(result, shape, &sums)
        }),
    };
    Ok(vec![product?])
}

/// Brings finished sums to the result type.
fn nearest<W: Wide>(dtype: DType, shape: Vec<usize>, sums: &[W]) -> Result<Output, CaseError> {
    with_target!(dtype, T => output(shape, sums.iter().map(|sum| <T as Target>::nearest(*sum)).collect::<Vec<T>>()))
}

fn multiply<F: Factor + Stored, O: Stored>(
    bindings: &Bindings<'_>,
    x: &Tensor,
    finish: impl Fn(usize, usize, usize, &[F::Sum], &mut [O]) + Sync,
) -> Result<(Vec<usize>, Vec<O>), CaseError> {
    let weight = bindings.named("weight")?;
    let ([t, k], matrices) = (rank(x, "x")?, matrices::<F>(weight)?);
    require(matrices.rows == k, || format!("{:?} times {:?}", x.shape(), weight.shape()))?;
    let count = weight.len().checked_div(matrices.rows * matrices.columns).unwrap_or(0);
    let groups = groups(bindings.optional_named("group_list")?, t, count)?;
    let mut out = zeros::<O>(&[t, matrices.columns])?;
    grouped_product(values::<F>(x)?, matrices, &groups, &mut out, finish);
    Ok((vec![t, matrices.columns], out))
}

/// The matrices of a tensor of two or three dimensions.
pub(super) fn matrices<F: Stored>(weight: &Tensor) -> Result<Matrices<'_, F>, CaseError> {
    match *weight.shape() {
        [rows, columns] | [_, rows, columns] => Ok(Matrices { values: values::<F>(weight)?, rows, columns }),
        _ => Err(CaseError::rejected(format!("weight has shape {:?}", weight.shape()))),
    }
}

/// Which rows each matrix gets: those of the group list, else all rows spread evenly.
pub(super) fn groups(list: Option<&Tensor>, rows: usize, matrices: usize) -> Result<Vec<Group>, CaseError> {
    let ends = list.map_or_else(|| Ok(running_sums(spread(rows, matrices))), integers)?;
    require(ends.len() <= matrices, || format!("{} groups for {matrices} matrices", ends.len()))?;
    let ranges = sequences(&ends, rows)?;
    Ok(ranges.into_iter().enumerate().map(|(matrix, rows)| Group { rows, matrix }).collect())
}

/// Scales per column, for every matrix or all of them, and per row.
struct Scales<W> {
    columns: usize,
    per_column: Option<Vec<W>>,
    per_row: Option<Vec<W>>,
}

impl<W: Wide> Scales<W> {
    fn new(bindings: &Bindings<'_>) -> Result<Self, CaseError> {
        let (x, weight) = (bindings.named("x")?, bindings.named("weight")?);
        let (rows, columns) = (x.shape().first().copied().unwrap_or(0), weight.last_size());
        let count = if let [count, _, _] = weight.shape() { *count } else { 1 };
        let per_column = bindings.optional_named("scale")?.map(scales::<W>).transpose()?;
        let per_column = match per_column {
            Some(scales) if scales.len() == columns * count => Some(scales),
            Some(scales) if scales.len() == columns => Some(scales.repeat(count)),
            Some(scales) => {
                return Err(CaseError::rejected(format!(
                    "{} scales for {count} matrices of {columns} columns",
                    scales.len()
                )));
            }
            None => None,
        };
        let per_row = bindings.optional_named("per_token_scale")?.map(scales::<W>).transpose()?;
        require(per_row.as_ref().is_none_or(|scales| scales.len() == rows), || {
            format!("per_token_scale for {rows} rows")
        })?;
        Ok(Self { columns, per_column, per_row })
    }

    fn apply(&self, row: usize, matrix: usize, column: usize, values: &mut [W]) {
        if let Some(scales) = &self.per_column {
            let start = matrix * self.columns + column;
            values.iter_mut().zip(&scales[start..]).for_each(|(value, scale)| *value *= *scale);
        }
        if let Some(scales) = &self.per_row {
            values.iter_mut().for_each(|value| *value *= scales[row]);
        }
    }
}
