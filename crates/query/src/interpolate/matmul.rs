//! Products of matrices between sizes.

use super::attempt::of_group;
use super::axes::{ABSENT, Axes, Coordinates, Key};
use super::generic::types_apart;
use super::points::{Extra, Group, IndexName, Placed, PointIndex};
use crate::answer::{Answer, LookupError};
use crate::context::Context;
use crate::interval::of_other_type;
use crate::lookup::{inputs, projected};
use crate::operands::{Operand, Operands};
use crate::semantics::{ReaderKind, Rules};
use crate::shapes::Tolerance;
use crate::table::{KernelRow, KernelRows};
use perfdb_store::op_mapping::Entry;
use perfdb_store::registry::KernelClass;
use smallvec::SmallVec;

const FAILED: &str = "compute_multidim_interpolation_failed";

/// Rows, inner and columns of the product.
static AXES: Axes =
    Axes { names: &["M", "K", "N"], sets: &[&[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]], padded: None };
/// Those of one of a batch, and how many there are.
static BATCHED_AXES: Axes = Axes {
    names: &["M", "K", "N", "batch"],
    sets: &[
        &[0],
        &[1],
        &[2],
        &[3],
        &[0, 1],
        &[0, 2],
        &[0, 3],
        &[1, 2],
        &[1, 3],
        &[2, 3],
        &[0, 1, 2],
        &[0, 1, 3],
        &[0, 2, 3],
        &[1, 2, 3],
    ],
    padded: None,
};

/// A product by its inputs.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    // Filled in place: returning them would copy them.
    let mut operands = Operands::new();
    push_projected(context, entry, &mut operands)?;
    let count = inputs::input_count(entry);
    let names = context.names(entry);
    of_tables(context, &names, &operands, count)?.ok_or_else(|| LookupError::new(FAILED))
}

/// Adds the inputs of a call; those of one device's shard where the rules project before interpolation.
pub(super) fn push_projected<'q>(
    context: &Context<'q>,
    entry: &Entry,
    operands: &mut Operands<'q>,
) -> Result<(), LookupError> {
    inputs::push_operands(context, entry, operands);
    if context.rules.projects_first
        && let Some(projection) = projected(context, entry, operands)?
    {
        *operands = projection;
    }
    Ok(())
}

/// The first table that answers.
pub(super) fn of_tables(
    context: &Context<'_>,
    names: &[&str],
    operands: &Operands<'_>,
    count: Option<usize>,
) -> Result<Option<Answer>, LookupError> {
    for name in names.iter().filter(|name| context.class(name).is_product()) {
        let Some(table) = context.table(name)? else { continue };
        let Some((key, at)) = target(context.rules, table, operands, count) else { continue };
        let index = index(context.rules, table, count, false);
        let mut groups: SmallVec<[&Group; 4]> = index.of(&key).collect();
        let has_other_types =
            |group: &Group| group.extra.is_of_other_types(operands.iter().map(|operand| operand.dtype));
        groups.sort_by_key(|group| (has_other_types(group), !group.extra.is_plain, std::cmp::Reverse(group.len())));
        for group in groups {
            if let Some(answer) = first_answer(context, table, index, &[group], &at) {
                let answer = if has_other_types(group) { of_other_type(answer) } else { answer };
                return Ok(Some(answer));
            }
        }
    }
    Ok(None)
}

/// The rows of a table as points.
pub(super) fn index<'t>(
    rules: &Rules,
    table: &'t KernelRows,
    count: Option<usize>,
    is_quantised: bool,
) -> &'t PointIndex {
    // Rows of other types may answer, but take another time.
    let by_type = rules.exact_types && table.tolerance(rules).relaxed_types;
    let kind = match (is_quantised, by_type) {
        (true, _) => "quantised_matmul",
        (false, true) => "matmul_by_type",
        (false, false) => "matmul",
    };
    let axes = if batch_is_axis(rules, table) { &BATCHED_AXES } else { &AXES };
    let name = IndexName::of(rules, kind, count);
    PointIndex::of_table(table, name, axes, |row| {
        let mut placed = place(rules, table, row, count, is_quantised)?;
        placed.extra.types = types_apart(rules, table, row, count);
        Some(placed)
    })
}

/// Whether products of other batches tell: to the simulator's readers they do not.
fn batch_is_axis(rules: &Rules, table: &KernelRows) -> bool {
    rules.reader == ReaderKind::Own && table.class(rules) == KernelClass::BatchMatMul
}

fn first_answer(
    context: &Context<'_>,
    table: &KernelRows,
    index: &PointIndex,
    groups: &[&Group],
    at: &Coordinates,
) -> Option<Answer> {
    groups.iter().find_map(|group| {
        context.note(|| format!("{}: {} points in formats {:?}", table.kernel_type(), group.len(), group.extra.texts));
        of_group(context, index, group, at, table.policy.max_dimensions).ok().map(|value| value.answer(table))
    })
}

fn target(
    rules: &Rules,
    table: &KernelRows,
    operands: &[Operand<'_>],
    count: Option<usize>,
) -> Option<(Key, Coordinates)> {
    let [a, weight, ..] = operands else { return None };
    let tolerance = table.tolerance(rules);
    let product = Product::of(table.class(rules), &a.shape, &weight.shape)?;
    let mut key = Key::default();
    key.integer(count.unwrap_or(operands.len()) as i64);
    for operand in operands {
        key.text(tolerance.type_class(operand.dtype?));
    }
    let at = product.place(batch_is_axis(rules, table), &mut key);
    Some((key, at))
}

fn place(
    rules: &Rules,
    table: &KernelRows,
    row: KernelRow<'_>,
    count: Option<usize>,
    is_quantised: bool,
) -> Option<Placed> {
    let tolerance = table.tolerance(rules);
    let limit = count.unwrap_or(usize::MAX);
    let mut shapes = row.matrices().iter();
    let shape_count = row.matrices().len().min(limit);
    let types = &row.input_types()[..row.input_types().len().min(limit)];
    let formats = &row.input_formats()[..row.input_formats().len().min(limit)];
    if shape_count < 2 || types.len() < shape_count || formats.len() < shape_count {
        return None;
    }
    let (a, weight) = (shapes.next()?, shapes.next()?);
    let product = Product::of(table.class(rules), &a, &weight)?;
    let mut key = Key::default();
    key.integer(count.unwrap_or(shape_count) as i64);
    for name in types {
        key.text(tolerance.type_class(name));
    }
    let at = product.place(!is_quantised && batch_is_axis(rules, table), &mut key);
    let is_plain = formats.iter().all(|format| &**format == "ND");
    let mut extra = Extra { is_plain, texts: formats.iter().cloned().collect(), ..Extra::default() };
    if is_quantised {
        let outputs = row.outputs().len();
        let (output_types, output_formats) = (row.output_types(), row.output_formats());
        if outputs == 0 || output_types.len() != outputs || output_formats.len() != outputs {
            return None;
        }
        key.integer(outputs as i64).texts(output_types.iter().map(|name| &**name));
        key.texts(output_formats.iter().map(|name| &**name)).texts(formats.iter().map(|name| &**name));
        extra = Extra::default();
    }
    Some(Placed { key, at, extra })
}

/// A product of matrices by the shapes of its operands.
pub(crate) struct Product<'s> {
    rows: i64,
    inner: i64,
    columns: i64,
    pub(crate) batch: [&'s [i64]; 2],
    /// Whether the weight has its columns first.
    pub(crate) is_transposed: bool,
}

impl<'s> Product<'s> {
    pub(crate) fn of(class: KernelClass, a: &'s [i64], weight: &'s [i64]) -> Option<Product<'s>> {
        let cut = |shape: &'s [i64]| match shape {
            [1, rest @ ..] if class != KernelClass::BatchMatMul && rest.len() >= 2 => rest,
            shape => shape,
        };
        let ([a_rest @ .., rows, inner], [weight_rest @ .., w0, w1]) = (cut(a), cut(weight)) else { return None };
        let (columns, is_transposed) = match (w0 == inner, w1 == inner) {
            (true, _) => (*w1, false),
            (false, true) => (*w0, true),
            (false, false) => return None,
        };
        Some(Product { rows: *rows, inner: *inner, columns, batch: [a_rest, weight_rest], is_transposed })
    }

    /// Its coordinates. The batch is one of them if `over_batches` and both operands have the same, and otherwise part of the key.
    fn place(&self, over_batches: bool, key: &mut Key) -> Coordinates {
        let [batch, of_weight] = self.batch;
        let is_axis = over_batches && !batch.is_empty() && batch == of_weight;
        let products = if is_axis { batch.iter().product::<i64>() as f64 } else { ABSENT };
        for kept in self.batch {
            key.shape(if is_axis { &[] } else { kept });
        }
        [self.rows as f64, self.inner as f64, self.columns as f64, products, ABSENT]
    }
}

/// A product of quantised operands: the result tells the columns, and formats have to be the expected ones.
pub(crate) fn quantised(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    let count = inputs::input_count(entry);
    let mut operands = Operands::new();
    push_projected(context, entry, &mut operands)?;
    let Some((key, at)) = quantised_target(context, entry, &operands, count) else {
        return Err(LookupError::new(FAILED));
    };
    for name in context.names(entry).iter().filter(|name| context.class(name).is_product()) {
        let Some(table) = context.table(name)? else { continue };
        let index = index(context.rules, table, count, true);
        let groups: SmallVec<[&Group; 4]> = index.of(&key).collect();
        if let Some(answer) = first_answer(context, table, index, &groups, &at) {
            return Ok(answer);
        }
    }
    Err(LookupError::new(FAILED))
}

fn quantised_target(
    context: &Context<'_>,
    entry: &Entry,
    operands: &Operands<'_>,
    count: Option<usize>,
) -> Option<(Key, Coordinates)> {
    let results = context.query.results.tensors()?;
    let (first, result) = (operands.first()?, results.first()?);
    let (&[rows, inner], &[result_rows, columns]) = (&*first.shape, &*result.shape) else { return None };
    let formats = &entry.expected_input_formats;
    let is_valid = [rows, inner, columns].iter().all(|size| *size > 0)
        && rows == result_rows
        && !formats.is_empty()
        && formats.len() == operands.len()
        && formats.iter().all(|format| !format.is_empty());
    if !is_valid {
        return None;
    }
    // The columns of one device's shard, where the weight was projected.
    let columns = match (&*operands.get(1)?.shape, context.rules.projects_first) {
        (&[w0, w1], true) if w0 == inner => w1,
        _ => columns,
    };
    let kernel_type = entry.kernel_type.as_deref().unwrap_or_default();
    let tolerance = Tolerance::of(kernel_type, context.class(kernel_type), context.rules.reader);
    let mut key = Key::default();
    key.integer(count.unwrap_or(operands.len()) as i64);
    for operand in operands {
        key.text(tolerance.type_class(operand.dtype?));
    }
    key.shape(&[]).shape(&[]).integer(results.len() as i64);
    let types: Vec<&str> = results.iter().map(|result| context.rules.type_name(result.dtype)).collect::<Option<_>>()?;
    key.texts(types).texts(results.iter().map(|_| "ND")).texts(formats.iter().map(String::as_str));
    Some((key, [rows as f64, inner as f64, columns as f64, ABSENT, ABSENT]))
}
