//! Quantising with scales as further results.

use super::attempt::of_group;
use super::axes::{ABSENT, Axes, Coordinates, Key};
use super::points::{Extra, IndexName, Placed, PointIndex};
use crate::answer::{Answer, LookupError};
use crate::context::Context;
use crate::query::elements;
use crate::table::pool::Dimensions;
use crate::table::{KernelRow, KernelRows};
use perfdb_store::dtype::DType;
use perfdb_store::op_mapping::Entry;
use perfdb_store::registry::parts::QUANTISE_BLOCKS;

const FAILED: &str = "compute_scale_interpolation_failed";
static AXES: Axes = Axes { names: &["M", "K"], sets: &[&[0], &[1], &[0, 1]], padded: None };

/// A kernel by its input and the form of its scales.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    let names = context.names(entry);
    let primary = names.first().map_or(Ok(None), |name| context.table(name))?;
    let primary_limit = primary.and_then(|table| table.policy.max_dimensions);
    let mut reason = FAILED;
    for name in &names {
        reason = FAILED;
        let Some(table) = context.table(name)? else { continue };
        let Some((key, at)) = target(context, name) else { continue };
        let limit = table.policy.max_dimensions.or(primary_limit);
        let name = IndexName::of(context.rules, "scale", None);
        let index = PointIndex::of_table(table, name, &AXES, |row| place(table, row));
        for group in index.of(&key) {
            match of_group(context, index, group, &at, limit) {
                Ok(value) => return Ok(value.answer(table)),
                Err(status) => reason = status.unwrap_or(reason),
            }
        }
    }
    Err(LookupError::new(reason))
}

fn target(context: &Context<'_>, kernel_type: &str) -> Option<(Key, Coordinates)> {
    let name = |dtype: DType| match dtype {
        DType::Float16 => Some("DT_FLOAT16"),
        dtype => context.rules.type_name(dtype),
    };
    let input = context.query.input_tensors().next()?;
    let results = context.query.results.tensors()?;
    let shapes: Vec<&[i64]> = results.iter().map(|result| result.shape.as_slice()).collect();
    let types: Vec<&str> = results.iter().map(|result| name(result.dtype)).collect::<Option<_>>()?;
    let formats = vec!["ND"; types.len()];
    key(kernel_type, &input.shape, name(input.dtype)?, "ND", &shapes, &types, &formats)
}

fn place(table: &KernelRows, row: KernelRow<'_>) -> Option<Placed> {
    let outputs: Vec<Dimensions> = row.outputs().iter().collect();
    let shapes: Vec<&[i64]> = outputs.iter().map(|shape| &**shape).collect();
    let texts = |texts: &'_ [Box<str>]| -> Vec<String> { texts.iter().map(|text| text.to_string()).collect() };
    let (types, formats) = (texts(row.output_types()), texts(row.output_formats()));
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    let formats: Vec<&str> = formats.iter().map(String::as_str).collect();
    let (input_type, input_format) = (row.input_types().first()?, row.input_formats().first()?);
    let input = row.matrices().get(0)?;
    let (key, at) = key(table.kernel_type(), &input, input_type, input_format, &shapes, &types, &formats)?;
    Some(Placed { key, at, extra: Extra::default() })
}

fn key(
    kernel_type: &str,
    input: &[i64],
    input_type: &str,
    input_format: &str,
    outputs: &[&[i64]],
    types: &[&str],
    formats: &[&str],
) -> Option<(Key, Coordinates)> {
    let [outer @ .., columns] = input else { return None };
    let rows = elements(outer);
    let [first, scales @ ..] = outputs else { return None };
    let is_usable = input.iter().all(|dimension| *dimension > 0)
        && *first == input
        && !scales.is_empty()
        && types.len() >= outputs.len()
        && formats.len() >= outputs.len();
    if !is_usable {
        return None;
    }
    let mut key = Key::default();
    key.text(input_type).text(input_format).integer(outputs.len() as i64);
    key.texts(types.iter().copied()).texts(formats.iter().copied());
    for scale in scales {
        let (mode, block) = mode(kernel_type, scale, rows, *columns)?;
        key.text(mode).integer(block);
    }
    Some((key, [rows as f64, *columns as f64, ABSENT, ABSENT, ABSENT]))
}

/// What the scales of a row belong to, and the sizes of their blocks, 0 where they have none.
pub(crate) fn scale_modes(row: KernelRow<'_>) -> Option<Vec<(&'static str, i64)>> {
    let input = row.matrices().get(0)?;
    let [outer @ .., columns] = &*input else { return None };
    let scales = row.outputs().iter().skip(1);
    scales.map(|scale| mode(row.table().kernel_type(), &scale, elements(outer), *columns)).collect()
}

/// What a scale belongs to, and the size of its blocks; `None` if it belongs to nothing.
fn mode(kernel_type: &str, scale: &[i64], rows: i64, columns: i64) -> Option<(&'static str, i64)> {
    let count = elements(scale);
    if scale.is_empty() {
        return Some(("per_tensor", 0));
    }
    if kernel_type == QUANTISE_BLOCKS {
        let is_blocks = scale.len() == 1 && count > 0 && count <= columns;
        return is_blocks.then(|| ("per_block", (columns + count - 1) / count));
    }
    match count {
        count if count == rows => Some(("per_token", 0)),
        count if count == columns => Some(("per_channel", 0)),
        _ => None,
    }
}
