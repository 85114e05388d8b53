//! Looking up by inputs.

use super::answer::{Hit, MissReason, Query, Source, Tensor};
use super::rows::{KernelRow, KernelRows};
use super::shapes::{Tolerance, combine, strip};
use std::sync::Arc;

/// The arguments of a query as one kernel has them: shapes and the profiler's types.
type Arguments = Vec<(Vec<i64>, &'static str)>;

/// Whether a row fits by padding only, the place of its table, and of its duration column: the smallest is the best.
type Rank = (bool, usize, usize);

/// The best row of some tables: exact rewrites before padded ones, then the earlier table, then the better duration column, then file order.
pub(super) fn find(tables: &[Arc<KernelRows>], query: &Query, ep_size: Option<i64>) -> Result<Hit, MissReason> {
    let arguments = arguments(&query.inputs, query.input_count).ok_or(MissReason::ShapeMismatch)?;
    let mut best: Option<(Rank, &KernelRows, &KernelRow, &'static str)> = None;
    'tables: for (order, table) in tables.iter().enumerate() {
        let tolerance = Tolerance::of(&table.kernel_type);
        for row in candidates(table, &arguments, query.input_count) {
            if ep_size.is_some() && table.has_ep_size && row.ep_size != ep_size {
                continue;
            }
            let Some(rule) = rule(table, tolerance, &arguments, row, query.input_count) else { continue };
            let rank = (rule.contains("padding"), order, row.column);
            if best.is_none_or(|(found, ..)| rank < found) {
                best = Some((rank, table, row, rule));
            }
            if rank == (false, order, 0) {
                // Nothing that follows is better.
                break 'tables;
            }
        }
    }
    best.map(|(_, table, row, rule)| hit(table, row, rule)).ok_or(MissReason::ShapeMismatch)
}

fn hit(table: &KernelRows, row: &KernelRow, rule: &'static str) -> Hit {
    Hit {
        duration_us: row.duration_us.unwrap_or_default(),
        confidence: 1.0,
        source: Source::Measured,
        kernel_type: table.kernel_type.clone(),
        rule,
        lines: vec![row.line],
    }
}

/// The arguments with at least one dimension, so many as count; `None` if a type is one that no table knows.
fn arguments(inputs: &[Tensor], count: Option<usize>) -> Option<Arguments> {
    let tensors = inputs.iter().filter(|tensor| !tensor.shape.is_empty()).take(count.unwrap_or(usize::MAX));
    tensors.map(|tensor| Some((tensor.shape.clone(), tensor.dtype.profiler_name()?))).collect()
}

fn candidates<'t>(
    table: &'t KernelRows,
    arguments: &Arguments,
    count: Option<usize>,
) -> Box<dyn Iterator<Item = &'t KernelRow> + 't> {
    let rearranges = is_rope(&table.kernel_type) || is_cache(&table.kernel_type) || table.kernel_type == "SwiGlu";
    let Some((first, _)) = arguments.first().filter(|_| !rearranges) else {
        return Box::new(table.rows.iter());
    };
    let second = arguments.get(1).map(|(shape, _)| shape.as_slice()).filter(|_| count != Some(1));
    if Tolerance::of(&table.kernel_type).is_matmul && second.is_none() {
        return Box::new(table.rows.iter());
    }
    Box::new(table.candidates(first, second).into_iter().filter_map(|row| table.rows.get(row as usize)))
}

fn is_rope(kernel_type: &str) -> bool {
    matches!(kernel_type, "ApplyRotaryPosEmb" | "_triton_rope" | "split_qkv_rmsnorm_rope_kernel")
}

fn is_cache(kernel_type: &str) -> bool {
    matches!(kernel_type, "ReshapeAndCacheNdKernel" | "reshape_and_cache_200000000")
}

/// The rule by which a row fits, if it does.
fn rule(
    table: &KernelRows,
    tolerance: Tolerance,
    arguments: &Arguments,
    row: &KernelRow,
    count: Option<usize>,
) -> Option<&'static str> {
    let row_count = row.inputs.len().min(count.unwrap_or(usize::MAX));
    let arguments = rearranged(&table.kernel_type, arguments, row_count);
    let arguments = arguments.as_ref();
    if arguments.len() != row_count {
        return None;
    }
    let mut so_far = "identity";
    for (at, (shape, dtype)) in arguments.iter().enumerate() {
        if !tolerance.type_fits(dtype, row.input_types.get(at)?) {
            return None;
        }
        so_far = combine(so_far, tolerance.rule(at, shape, &row.input(at)?)?);
    }
    Some(so_far)
}

/// The arguments in the order and form in which the kernel takes them.
fn rearranged<'a>(kernel_type: &str, arguments: &'a Arguments, row_count: usize) -> std::borrow::Cow<'a, Arguments> {
    use std::borrow::Cow;
    if is_rope(kernel_type) && arguments.len() >= 2 && row_count >= 2 {
        let mut new = arguments.clone();
        new.swap(0, 1);
        for (shape, _) in new.iter_mut().take(2).filter(|(shape, _)| shape.len() == 4) {
            shape.swap(1, 2);
        }
        if new.len() == 4 {
            for (shape, _) in new.iter_mut().skip(2).filter(|(shape, _)| shape.len() == 3 && shape[0] == 1) {
                shape.insert(2, 1);
            }
        }
        return Cow::Owned(new);
    }
    if kernel_type == "SwiGlu"
        && row_count == 1
        && let [(a, a_type), (b, b_type)] = arguments.as_slice()
        && let ([a_rest @ .., a_last], [b_rest @ .., b_last]) = (strip(a), strip(b))
        && (a_rest, a_type) == (b_rest, b_type)
    {
        let mut shape = a_rest.to_vec();
        shape.push(a_last.saturating_add(*b_last));
        return Cow::Owned(vec![(shape, *a_type)]);
    }
    if is_cache(kernel_type)
        && row_count == 5
        && let [(key, key_type), (value, value_type), (cache, cache_type), slots] = arguments.as_slice()
        && let ([key_rows, key_size], [value_rows, value_size], [2, halves @ ..]) =
            (key.as_slice(), value.as_slice(), cache.as_slice())
    {
        let half = (halves.to_vec(), *cache_type);
        let key = (vec![*key_rows, 1, *key_size], *key_type);
        let value = (vec![*value_rows, 1, *value_size], *value_type);
        return Cow::Owned(vec![key, value, half.clone(), half, slots.clone()]);
    }
    Cow::Borrowed(arguments)
}

/// The row with as many inputs, whose types agree and that has the most dimensions in common: what a user will look at first.
pub(super) fn nearest(tables: &[Arc<KernelRows>], query: &Query) -> Option<(String, u64)> {
    let arguments = arguments(&query.inputs, query.input_count)?;
    let mut best: Option<(usize, String, u64)> = None;
    for table in tables {
        let tolerance = Tolerance::of(&table.kernel_type);
        for row in &table.rows {
            if row.inputs.len().min(query.input_count.unwrap_or(usize::MAX)) != arguments.len() {
                continue;
            }
            let types_fit = arguments
                .iter()
                .zip(row.input_types.iter())
                .all(|((_, dtype), row_type)| tolerance.type_fits(dtype, row_type));
            let common: usize = arguments
                .iter()
                .zip(&row.inputs)
                .map(|((shape, _), row_shape)| {
                    strip(shape).iter().zip(strip(row_shape)).filter(|(a, b)| a == b).count()
                })
                .sum();
            if types_fit && best.as_ref().is_none_or(|(most, ..)| common > *most) {
                best = Some((common, table.kernel_type.clone(), row.line));
            }
        }
    }
    best.map(|(_, kernel_type, line)| (kernel_type, line))
}
