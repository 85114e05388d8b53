//! The dimensions of a matrix product, whichever way round its weight lies.

use crate::slots::{dimensions, normal_shape};
use std::borrow::Cow;

/// M, K and N if the first two inputs and the first output are 2-D and fit together.
pub(super) fn matmul_dimensions(inputs: &[&str], outputs: &[Cow<'_, str>]) -> Option<[i64; 3]> {
    let pair = |slot: &str| <[i64; 2]>::try_from(dimensions(slot)?).ok();
    let a = pair(&normal_shape(inputs.first()?))?;
    let b = pair(&normal_shape(inputs.get(1)?))?;
    fitting(a, b, pair(outputs.first()?)?)
}

pub(super) fn fitting(a: [i64; 2], b: [i64; 2], [rows, columns]: [i64; 2]) -> Option<[i64; 3]> {
    if a[0] == rows && (b == [columns, a[1]] || b == [a[1], columns]) {
        return Some([rows, a[1], columns]);
    }
    let common = [a[0], a[1]].into_iter().filter(|dimension| b.contains(dimension));
    // A square matrix has its number once.
    let common = common.take(if a[0] == a[1] { 1 } else { 2 });
    let inner = common.clone().filter(|&dimension| dimension != rows && dimension != columns);
    let inner = the_only(inner).or_else(|| the_only(common))?;
    Some([rows, inner, columns])
}

fn the_only(mut numbers: impl Iterator<Item = i64>) -> Option<i64> {
    let first = numbers.next()?;
    numbers.next().is_none().then_some(first)
}
