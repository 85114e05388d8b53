//! One pass over the rows of a tensor, on many threads.

use crate::kernels::element::Element;
use crate::kernels::jobs::{Jobs, rows_per_job};

/// Widens every row of `x` (`width` elements) and hands it to `work(row, widened, result, extra)` with its row of
/// `out` (`out_width` elements) and its element of `extra`, which has one per row.
pub(crate) fn map_rows<E: Element, O: Send, P: Send>(
    x: &[E],
    width: usize,
    out: &mut [O],
    out_width: usize,
    extra: &mut [P],
    work: impl Fn(usize, &mut [E::Wide], &mut [O], &mut P) + Sync,
) {
    if width == 0 || out_width == 0 {
        return;
    }
    let count = rows_per_job(width);
    let parts = x.chunks(count * width).zip(out.chunks_mut(count * out_width)).zip(extra.chunks_mut(count));
    let mut jobs = Jobs::new();
    for (job, ((x, out), extra)) in parts.enumerate() {
        let work = &work;
        jobs.add(move || {
            let mut widened = vec![E::Wide::default(); width];
            let rows = x.chunks_exact(width).zip(out.chunks_exact_mut(out_width)).zip(extra);
            for (row, ((x, out), extra)) in rows.enumerate() {
                E::widen_slice(x, &mut widened);
                work(job * count + row, &mut widened, out, extra);
            }
        });
    }
    jobs.run();
}

/// [`map_rows`] without an extra result.
pub(crate) fn map_plain_rows<E: Element, O: Send>(
    x: &[E],
    width: usize,
    out: &mut [O],
    out_width: usize,
    work: impl Fn(usize, &mut [E::Wide], &mut [O]) + Sync,
) {
    let mut nothing = vec![(); x.len().checked_div(width).unwrap_or(0)];
    map_rows(x, width, out, out_width, &mut nothing, |row, scratch, out, ()| work(row, scratch, out));
}

/// Hands every row of `out` (`width` elements) to `work(row, result)`; a row costs as much as `cost` elements.
pub(crate) fn each_row<T: Send>(out: &mut [T], width: usize, cost: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    if width == 0 {
        return;
    }
    let count = rows_per_job(cost);
    let mut jobs = Jobs::new();
    for (job, out) in out.chunks_mut(count * width).enumerate() {
        let work = &work;
        jobs.add(move || {
            out.chunks_exact_mut(width).enumerate().for_each(|(row, out)| work(job * count + row, out));
        });
    }
    jobs.run();
}

/// Copies whole rows of `width` elements: row i of `out` is row `from(i)` of `source`.
pub fn gather<T: Copy + Send + Sync>(source: &[T], width: usize, out: &mut [T], from: impl Fn(usize) -> usize + Sync) {
    each_row(out, width, width, |row, out| {
        let at = from(row) * width;
        out.copy_from_slice(&source[at..at + width]);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_meet_their_results() {
        let x: Vec<f32> = (0..200_000).map(|i| i as f32).collect();
        let (mut out, mut extra) = (vec![0.0f32; 100_000], vec![0usize; 100_000]);
        map_rows(&x, 2, &mut out, 1, &mut extra, |row, x, out, extra| {
            out[0] = x[0] + x[1];
            *extra = row;
        });
        assert!(out.iter().enumerate().all(|(row, sum)| *sum == (4 * row + 1) as f32));
        assert!(extra.into_iter().eq(0..100_000));
    }

    #[test]
    fn gathered_rows() {
        let mut out = [0; 4];
        gather(&[1, 2, 3, 4, 5, 6], 2, &mut out, |row| 2 - row);
        assert_eq!(out, [5, 6, 3, 4]);
        let mut many = vec![0; 100_000];
        gather(&[7, 9], 1, &mut many, |row| row % 2);
        assert!(many.iter().enumerate().all(|(row, value)| *value == 7 + 2 * (row % 2)));
    }
}
