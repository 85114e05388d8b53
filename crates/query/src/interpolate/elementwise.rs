//! Elementwise kernels over the elements they read and write.

use super::attempt::{FEW, Status, of_group};
use super::axes::{ABSENT, Axes, Coordinates, Key};
use super::points::{Extra, IndexName, Placed, PointIndex};
use crate::answer::{Answer, LookupError, Source};
use crate::context::Context;
use crate::dtype::one_spelling;
use crate::lookup;
use crate::query::elements;
use crate::semantics::Rules;
use crate::table::pool::Dimensions;
use crate::table::{KernelRow, KernelRows};
use perfdb_store::op_mapping::Entry;
use smallvec::SmallVec;

const FAILED: &str = "elementwise_interpolation_failed";
/// Confidence of a row of another type, scaled by size.
const SCALED_CONFIDENCE: f64 = 0.5;
static AXES: Axes = Axes { names: &["io_numel"], sets: &[&[0]], padded: None };
/// For predictions.
pub(super) static MATRIX: Axes = Axes { names: &["rows", "columns"], sets: &[&[0], &[0, 1]], padded: None };

/// A kernel by the elements of its inputs and its first output.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    if entry.kernel_type.is_none() {
        return Err(LookupError::new("wrapper_interpolation_failed"));
    }
    let first = context.query.results.first().and_then(|result| result.as_tensor());
    let Some(output) = first.filter(|output| !output.shape.is_empty()) else {
        return Err(LookupError::new("elementwise_output_unavailable"));
    };
    let names = context.names(entry);
    let mut status: Status = "elementwise_csv_not_found";
    for name in &names {
        let Some(table) = context.table(name)? else { continue };
        status = FEW;
        let inputs: Vec<(&[i64], &str)> = context
            .query
            .input_tensors()
            .map(|tensor| (tensor.shape.as_slice(), context.rules.type_name(tensor.dtype).unwrap_or_default()))
            .collect();
        let Some(dtype) = context.rules.type_name(output.dtype) else { continue };
        let (key, at) = place(&inputs, &output.shape, dtype, context.rules);
        let index = index(context.rules, table);
        for group in index.of(&key) {
            match of_group(context, index, group, &at, table.policy.max_dimensions) {
                Ok(value) => return Ok(value.answer(table)),
                Err(found) => status = found.unwrap_or(status),
            }
        }
    }
    if !context.rules.scales_types
        && let Some(mut answer) = lookup::elementwise::find(context, &names, output, true)?
    {
        // Time goes by bytes: a row of another type tells more than nothing.
        (answer.source, answer.confidence) = (Source::Interpolated, SCALED_CONFIDENCE);
        answer.rule = Some("elementwise_scaled");
        return Ok(answer);
    }
    let is_alone = names.len() == 1 || context.rules.reason_per_table;
    Err(LookupError::new(if is_alone { status } else { FAILED }))
}

/// The rows of a table as points.
pub(super) fn index<'t>(rules: &Rules, table: &'t KernelRows) -> &'t PointIndex {
    let (kind, axes) = if rules.predicts() { ("elementwise_matrix", &MATRIX) } else { ("elementwise", &AXES) };
    let name = IndexName::of(rules, kind, None);
    PointIndex::of_table(table, name, axes, |row| of_row(row, rules))
}

fn of_row(row: KernelRow<'_>, rules: &Rules) -> Option<Placed> {
    let output = row.outputs().get(0)?;
    let dtype = row.output_types().first()?;
    let types = row.input_types();
    let shapes: SmallVec<[Dimensions; 4]> = row.matrices().iter().collect();
    let spelled = |name| if rules.exact_types { one_spelling(name) } else { name };
    let type_of = |at: usize| types.get(at).map_or("", |name| spelled(name));
    let inputs: Vec<(&[i64], &str)> = shapes.iter().enumerate().map(|(at, shape)| (&**shape, type_of(at))).collect();
    let (key, at) = place(&inputs, &output, spelled(dtype), rules);
    Some(Placed { key, at, extra: Extra::default() })
}

fn place(inputs: &[(&[i64], &str)], output: &[i64], dtype: &str, rules: &Rules) -> (Key, Coordinates) {
    let (with_types, strip) = (rules.envelope_everywhere, rules.stripping());
    let output = strip(output);
    let mut key = Key::default();
    key.integer(output.len() as i64).integer(inputs.len() as i64).text(dtype);
    let mut total = elements(output) as f64;
    for (shape, dtype) in inputs {
        let shape = strip(shape);
        total += elements(shape) as f64;
        key.integer(shape.len() as i64);
        for (at, &size) in output.iter().enumerate() {
            let own = (at + shape.len()).checked_sub(output.len()).map(|own| shape[own]);
            key.integer(match own {
                None => 0,
                Some(own) if own == size => 1,
                Some(1) if size > 1 => 2,
                Some(_) => 3,
            });
        }
        if with_types {
            key.text(dtype);
        }
    }
    if rules.predicts() {
        return (key, matrix(output));
    }
    if with_types {
        // Rows of a few elements are another matter than rows of thousands.
        let last = output.last().copied().unwrap_or(1).max(1);
        key.integer(if last >= 64 { 64 } else { last });
    }
    (key, [total, ABSENT, ABSENT, ABSENT, ABSENT])
}

/// Rows and columns of a tensor of any rank.
pub(super) fn matrix(shape: &[i64]) -> Coordinates {
    let [outer @ .., columns] = shape else { return [1.0, 1.0, ABSENT, ABSENT, ABSENT] };
    [elements(outer) as f64, *columns as f64, ABSENT, ABSENT, ABSENT]
}
