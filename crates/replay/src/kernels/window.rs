//! Copies of a rectangular part of a tensor, with zeros where the part lies outside.

use crate::kernels::rows::each_row;
use crate::kernels::typed::Stored;

/// Fills `out` (of shape `out_shape`) with the elements of `source` whose coordinates are larger by `offsets`; zeros
/// where there is none. All three have the same rank.
pub(crate) fn copy_window<T: Stored>(
    source: &[T],
    source_shape: &[usize],
    out: &mut [T],
    out_shape: &[usize],
    offsets: &[i64],
) {
    let (Some((&width, outer)), Some((&source_width, source_outer)), Some((&shift, outer_offsets))) =
        (out_shape.split_last(), source_shape.split_last(), offsets.split_last())
    else {
        out.copy_from_slice(source);
        return;
    };
    if width == 0 {
        return;
    }
    // Columns of the result that lie inside the source.
    let first = usize::try_from(-shift).unwrap_or(0).min(width);
    let start = usize::try_from(shift).unwrap_or(0).min(source_width);
    let count = (width - first).min(source_width - start);
    each_row(out, width, width, |row, line| {
        let Some(from) = source_row(row, outer, source_outer, outer_offsets) else {
            line.fill(T::default());
            return;
        };
        let from = from * source_width + start;
        line[..first].fill(T::default());
        line[first..first + count].copy_from_slice(&source[from..from + count]);
        line[first + count..].fill(T::default());
    });
}

/// The number of the source's row for a row of the result, `None` outside.
fn source_row(mut row: usize, outer: &[usize], source_outer: &[usize], offsets: &[i64]) -> Option<usize> {
    let (mut at, mut stride) = (0, 1);
    for ((size, source_size), offset) in outer.iter().zip(source_outer).zip(offsets).rev() {
        let coordinate = usize::try_from((row % size) as i64 + offset).ok().filter(|place| place < source_size)?;
        at += coordinate * stride;
        stride *= source_size;
        row /= size;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(source_shape: &[usize], out_shape: &[usize], offsets: &[i64]) -> Vec<i32> {
        let source: Vec<i32> = (1..=source_shape.iter().product::<usize>() as i32).collect();
        let mut out = vec![-1; out_shape.iter().product()];
        copy_window(&source, source_shape, &mut out, out_shape, offsets);
        out
    }

    #[test]
    fn corners_borders_and_cuts() {
        assert_eq!(window(&[2, 3], &[2, 2], &[0, 0]), [1, 2, 4, 5]);
        assert_eq!(window(&[2, 3], &[1, 2], &[1, 1]), [5, 6]);
        assert_eq!(window(&[1, 2], &[3, 4], &[-1, -1]), [0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0]);
        assert_eq!(window(&[2, 3], &[3, 2], &[0, 2]), [3, 0, 6, 0, 0, 0]);
        assert_eq!(window(&[3], &[2], &[5]), [0, 0]);
        assert_eq!(window(&[], &[], &[]), [1]);
    }
}
