//! Several recorded inputs at once. Row rules check what they ask for in the order of the refusals: the shapes and ranks
//! of all inputs before any type.

use crate::kernels::shape::Shape;
use perfdb_store::dtype::DType;

use crate::refusal::{Refusal, out_of_range, output_count, shape_mismatch, unsupported_dtype};
use crate::row::{Recorded, Row};

/// Logical shapes (`bad-rank` where `FRACTAL_NZ` cannot be unfolded).
pub(crate) fn shapes<const N: usize>(slots: [&Recorded<'_>; N]) -> Result<[Shape; N], Refusal> {
    let mut shapes = [const { Shape::new() }; N];
    for (shape, slot) in shapes.iter_mut().zip(slots) {
        *shape = slot.logical()?;
    }
    Ok(shapes)
}

/// Element types; float32 where none is recorded (`unsupported-dtype`).
pub(crate) fn dtypes<const N: usize>(slots: [&Recorded<'_>; N]) -> Result<[DType; N], Refusal> {
    dtypes_where(slots, "a type that replay can build", |_| true)
}

/// Floating-point element types; float32 where none is recorded (`unsupported-dtype`).
pub(crate) fn floats<const N: usize>(slots: [&Recorded<'_>; N]) -> Result<[DType; N], Refusal> {
    dtypes_where(slots, "a floating-point type", DType::is_float)
}

fn dtypes_where<const N: usize>(
    slots: [&Recorded<'_>; N],
    expected: &str,
    accepts: impl Fn(DType) -> bool,
) -> Result<[DType; N], Refusal> {
    let mut dtypes = [DType::Float32; N];
    for (dtype, slot) in dtypes.iter_mut().zip(slots) {
        *dtype = slot.dtype_where(expected, &accepts)?;
    }
    Ok(dtypes)
}

/// Types of two factors of a product, which must be the same (`unsupported-dtype`).
pub(crate) fn factors(a: &Recorded<'_>, b: &Recorded<'_>) -> Result<DType, Refusal> {
    let [a, b] = dtypes([a, b])?;
    if a == b { Ok(a) } else { Err(unsupported_dtype(format!("a product of {a} and {b}"))) }
}

/// True for types of scales: real numbers, or int64 that holds the bits of a float32.
pub(crate) fn is_scale(dtype: DType) -> bool {
    dtype.is_float() || dtype == DType::Int64
}

/// The one input of an operator whose recorded output says its arguments: with its shape and type, and that of the output, whose rank
/// must be the same.
pub(crate) fn resized<'a>(
    row: &Row<'a>,
    fit: impl FnOnce(&Shape, &Shape) -> String,
) -> Result<(Recorded<'a>, Shape, DType, Shape), Refusal> {
    let inputs = row.inputs()?.present();
    let recorded = row.outputs()?.first_shape();
    let [x] = inputs.at_least()?;
    let recorded = recorded.ok_or_else(|| output_count("no recorded output"))?;
    let [shape] = shapes([x])?;
    let [dtype] = dtypes([x])?;
    require_fit(recorded.len() == shape.len(), || fit(&shape, &recorded))?;
    Ok((x.clone(), shape, dtype, recorded))
}

/// Insists on a condition between shapes (`shape-mismatch`).
pub(crate) fn require_fit(fits: bool, problem: impl FnOnce() -> String) -> Result<(), Refusal> {
    if fits { Ok(()) } else { Err(shape_mismatch(problem())) }
}

/// Parts that a list of lengths can have: more would not fit into any case.
const MOST_PARTS: usize = 1 << 22;

/// Insists on a number of parts that a case can list (`out-of-range`).
pub(crate) fn listable(count: usize) -> Result<usize, Refusal> {
    if count <= MOST_PARTS { Ok(count) } else { Err(out_of_range(format!("{count} sequences or groups"))) }
}

/// `total` spread over `count` parts as evenly as possible, the remainder one each to the first.
pub(crate) fn spread(total: usize, count: usize) -> Vec<i64> {
    let (share, rest) = (total.checked_div(count).unwrap_or(0), total.checked_rem(count).unwrap_or(0));
    (0..count).map(|at| (share + usize::from(at < rest)) as i64).collect()
}

pub(crate) fn running_sums(parts: Vec<i64>) -> Vec<i64> {
    parts
        .into_iter()
        .scan(0, |sum, part| {
            *sum += part;
            Some(*sum)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_differ_by_one_at_most() {
        assert_eq!(spread(100, 8), [13, 13, 13, 13, 12, 12, 12, 12]);
        assert_eq!(spread(2, 3), [1, 1, 0]);
        assert_eq!(spread(5, 0), [0i64; 0]);
        assert_eq!(running_sums(spread(10, 4)), [3, 6, 8, 10]);
    }
}
