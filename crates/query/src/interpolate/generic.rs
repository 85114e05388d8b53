//! Kernels without a form of their own: over the first dimension, or over the elements of the result.

use super::attempt::{Status, UNMATCHED, of_group};
use super::axes::{ABSENT, Axes, Coordinates, Key};
use super::elementwise::{MATRIX, matrix};
use super::generic_sizes::{Plans, SIZES};
use super::matmul::push_projected;
use super::points::{Extra, Group, IndexName, Placed, PointIndex};
use crate::answer::{Answer, LookupError};
use crate::context::Context;
use crate::interval::of_other_type;
use crate::lookup::inputs;
use crate::operands::{Operand, Operands};
use crate::query::elements;
use crate::semantics::{ReaderKind, Rules};
use crate::table::{KernelRow, KernelRows};
use perfdb_store::op_mapping::Entry;
use smallvec::SmallVec;
use std::iter;
use std::ops::Deref;

static FIRST_DIMENSION: Axes = Axes { names: &["axis_0"], sets: &[&[0]], padded: None };
static OUTPUT: Axes = Axes { names: &["output_numel"], sets: &[&[0]], padded: None };

/// Types of inputs, one name for those that are the same to the kernel.
type Types<'t> = SmallVec<[&'t str; 8]>;

/// A kernel by its inputs, or by its result.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    let mut operands = Operands::new();
    push_projected(context, entry, &mut operands)?;
    let count = inputs::input_count(entry);
    let names = context.names(entry);
    let output = match context.query.results.tensors().as_deref() {
        Some([one]) => Some(one.shape.as_slice()),
        _ => None,
    };
    of_tables(context, &names, &operands, count, output)?.map_err(LookupError::new)
}

/// The first table that answers; else the reason of the last one, or of the last name where the rules say so.
pub(super) fn of_tables(
    context: &Context<'_>,
    names: &[&str],
    operands: &[Operand<'_>],
    count: Option<usize>,
    output: Option<&[i64]>,
) -> Result<Result<Answer, Status>, LookupError> {
    let primary = names.first().map_or(Ok(None), |name| context.table(name))?;
    let primary_over_output = match (primary, names.first()) {
        (Some(table), _) => table.policy.over_output,
        (None, Some(name)) => crate::table::policy::KernelPolicy::of(&context.state.mapping, name).over_output,
        (None, None) => false,
    };
    let mut status: Status = "compute_csv_not_found";
    let mut key = Key::default();
    for (number, name) in names.iter().enumerate() {
        let table = if number == 0 { primary } else { context.table(name)? };
        let Some(table) = table else {
            if !context.rules.reason_per_table {
                status = "compute_csv_not_found";
            }
            continue;
        };
        let over_output = primary_over_output || table.policy.over_output;
        let output = output.filter(|_| over_output);
        let types = types_of(context.rules, table, operands);
        let target = Target { operands, types: types.as_deref(), count, output, over_output };
        for plans in ways(context.rules, table, count, over_output) {
            let Some(at) = target.place(context.rules, plans, &mut key) else {
                if status != UNMATCHED {
                    status = "compute_target_unavailable";
                }
                continue;
            };
            let index = index_of(context.rules, table, plans, count, over_output);
            status = UNMATCHED;
            let mut groups: SmallVec<[&Group; 4]> = index.of(&key).collect();
            let has_other_types =
                |group: &Group| group.extra.is_of_other_types(operands.iter().map(|operand| operand.dtype));
            groups.sort_by_key(|group| has_other_types(group));
            for group in groups {
                context.note(|| format!("{}: {} points", table.kernel_type(), group.len()));
                match of_group(context, index, group, &at, table.policy.max_dimensions) {
                    Ok(value) if has_other_types(group) => return Ok(Ok(of_other_type(value.answer(table)))),
                    Ok(value) => return Ok(Ok(value.answer(table))),
                    Err(found) => status = found.unwrap_or(status),
                }
            }
        }
    }
    Ok(Err(status))
}

/// The rows of a table as points, as they are learnt from or first interpolated.
pub(super) fn index<'t>(
    rules: &Rules,
    table: &'t KernelRows,
    count: Option<usize>,
    over_output: bool,
) -> &'t PointIndex {
    let plans = ways(rules, table, count, over_output).next().flatten();
    index_of(rules, table, plans, count, over_output)
}

/// The rows of a table as points over all sizes of some plans, else over one dimension.
fn index_of<'t>(
    rules: &Rules,
    table: &'t KernelRows,
    plans: Option<&Plans>,
    count: Option<usize>,
    over_output: bool,
) -> &'t PointIndex {
    let (kind, axes) = match (rules.predicts(), over_output) {
        _ if plans.is_some() => ("sizes", &SIZES),
        (true, true) => ("output_matrix", &MATRIX),
        (true, false) => ("first_matrix", &MATRIX),
        (false, true) => ("output", &OUTPUT),
        (false, false) => ("first", &FIRST_DIMENSION),
    };
    let name = IndexName::of(rules, kind, count);
    PointIndex::of_table(table, name, axes, |row| {
        let mut key = Key::default();
        let at = match plans {
            Some(plans) => {
                let tolerance = table.tolerance(rules);
                let types: Types<'_> = row.input_types().iter().map(|name| tolerance.type_class(name)).collect();
                let shapes = row.matrices().iter().take(count.unwrap_or(usize::MAX));
                plans.place(count, &types, shapes, &mut key)?
            }
            None => place(rules, table, row, count, over_output, &mut key)?,
        };
        Some(Placed { key, at, extra: Extra { types: types_apart(rules, table, row, count), ..Extra::default() } })
    })
}

/// How a table is interpolated: over all sizes that vary, where those are more than rows and columns. Where nothing is predicted the first
/// dimension alone comes before that, and the simulator's readers know no other way.
fn ways<'t>(
    rules: &Rules,
    table: &'t KernelRows,
    count: Option<usize>,
    over_output: bool,
) -> impl Iterator<Item = Option<&'t Plans>> {
    let is_asked = rules.reader == ReaderKind::Own && !over_output;
    // Learnt from the whole table, so only where they are needed.
    let of_table = move || table.sizes.get_or_make(count, || Plans::new(rules, table, count));
    let plans = move || is_asked.then(of_table).filter(|plans| plans.is_generic);
    let first = if rules.predicts() { plans() } else { None };
    let later = (!rules.predicts()).then(|| iter::once_with(plans)).into_iter().flatten();
    iter::once(first).chain(later.flatten().map(Some))
}

/// What a call asks of a table.
struct Target<'c> {
    operands: &'c [Operand<'c>],
    types: Option<&'c [&'static str]>,
    count: Option<usize>,
    output: Option<&'c [i64]>,
    over_output: bool,
}

/// The types of the inputs of a call; `None` if one is of no type that rows have.
fn types_of(rules: &Rules, table: &KernelRows, operands: &[Operand<'_>]) -> Option<Types<'static>> {
    let tolerance = table.tolerance(rules);
    let mut types = Types::new();
    for operand in operands {
        types.push(tolerance.type_class(operand.dtype?));
    }
    Some(types)
}

impl Target<'_> {
    /// Its coordinates, and what must agree, in place of what the key was.
    fn place(&self, rules: &Rules, plans: Option<&Plans>, key: &mut Key) -> Option<Coordinates> {
        self.operands.first()?;
        let types = self.types?;
        let shapes = || self.operands.iter().map(|operand| &*operand.shape);
        if let Some(plans) = plans {
            return plans.place(self.count, types, shapes(), key);
        }
        key.clear().integer(self.count.unwrap_or(self.operands.len()) as i64);
        types.iter().for_each(|name| {
            key.text(name);
        });
        if self.over_output { push_output(key, rules, self.output?) } else { push_inputs(key, rules, shapes()) }
    }
}

fn place(
    rules: &Rules,
    table: &KernelRows,
    row: KernelRow<'_>,
    count: Option<usize>,
    over_output: bool,
    key: &mut Key,
) -> Option<Coordinates> {
    let strip = rules.stripping();
    let tolerance = table.tolerance(rules);
    let limit = count.unwrap_or(usize::MAX);
    let shape_count = row.matrices().len().min(limit);
    let types = &row.input_types()[..row.input_types().len().min(limit)];
    if shape_count == 0 || types.len() < shape_count || row.input_formats().len().min(limit) < shape_count {
        return None;
    }
    key.integer(count.unwrap_or(shape_count) as i64);
    for name in types {
        key.text(tolerance.type_class(name));
    }
    row.matrices().get(0).filter(|shape| !strip(shape).is_empty())?;
    if over_output {
        push_output(key, rules, &row.outputs().get(0).filter(|_| row.outputs().len() == 1)?)
    } else {
        push_inputs(key, rules, row.matrices().iter().take(limit))
    }
}

/// Rows of types that a call takes for each other are groups of their own, where types are exact.
pub(super) fn types_apart(
    rules: &Rules,
    table: &KernelRows,
    row: KernelRow<'_>,
    count: Option<usize>,
) -> SmallVec<[Box<str>; 3]> {
    if rules.exact_types && table.tolerance(rules).relaxed_types {
        row.input_types().iter().take(count.unwrap_or(usize::MAX)).cloned().collect()
    } else {
        SmallVec::new()
    }
}

/// The first dimension of the first input; everything else must agree. For predictions, its last dimension as well, and dimensions of other
/// inputs that are one of the two go along with it.
fn push_inputs(
    key: &mut Key,
    rules: &Rules,
    mut shapes: impl Iterator<Item = impl Deref<Target = [i64]>>,
) -> Option<Coordinates> {
    let strip = rules.stripping();
    let first = shapes.next()?;
    let [rows, rest @ ..] = strip(&first) else { return None };
    let Some((columns, inner)) = rest.split_last().filter(|_| rules.predicts()) else {
        key.shape(rest);
        shapes.for_each(|shape| match strip(&shape) {
            // Inputs that have a row for each of the first one's go along with it.
            [own, inner @ ..] if rules.bracket_before_padding && own == rows => {
                key.text("rows").shape(inner);
            }
            shape => {
                key.shape(shape);
            }
        });
        return Some([*rows as f64, ABSENT, ABSENT, ABSENT, ABSENT]);
    };
    key.shape(inner);
    for shape in shapes {
        let shape = strip(&shape);
        key.integer(shape.len() as i64);
        for (at, size) in shape.iter().enumerate() {
            // A last dimension is more likely one of columns, where rows and columns are as many.
            let is_last = at + 1 == shape.len();
            let names = if is_last {
                [(*columns, "columns"), (*rows, "rows")]
            } else {
                [(*rows, "rows"), (*columns, "columns")]
            };
            match names.iter().find(|(own, _)| own == size) {
                Some((_, name)) => key.text(name),
                None => key.integer(*size),
            };
        }
    }
    Some([*rows as f64, *columns as f64, ABSENT, ABSENT, ABSENT])
}

/// The elements of the result; all dimensions but the first must agree. For predictions its rows and columns, of results of as many dimensions.
fn push_output(key: &mut Key, rules: &Rules, output: &[i64]) -> Option<Coordinates> {
    let output = match output {
        [1, rest @ ..] if rest.len() >= 2 => rest,
        output => output,
    };
    if rules.predicts() {
        key.integer(output.len() as i64);
        return Some(matrix(output));
    }
    key.shape(output.get(1..)?);
    Some([elements(output) as f64, ABSENT, ABSENT, ABSENT, ABSENT])
}
