//! One pass over the rows of a tensor, on many threads.

use rayon::prelude::*;

use super::element::Element;

/// Elements that make a job worth handing to another thread.
const JOB: usize = 1 << 15;

/// Rows of `width` elements per job.
pub(crate) fn rows_per_job(width: usize) -> usize {
    JOB.div_ceil(width.max(1))
}

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
    x.par_chunks_exact(width)
        .zip(out.par_chunks_exact_mut(out_width))
        .zip(extra)
        .enumerate()
        .with_min_len(rows_per_job(width))
        .for_each_init(
            || vec![E::Wide::default(); width],
            |scratch, (row, ((x, out), extra))| {
                E::widen_slice(x, scratch);
                work(row, scratch, out, extra);
            },
        );
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

/// Copies whole rows of `width` elements: row i of `out` is row `from(i)` of `source`.
pub(crate) fn gather<T: Copy + Send + Sync>(
    source: &[T],
    width: usize,
    out: &mut [T],
    from: impl Fn(usize) -> usize + Sync,
) {
    if width == 0 {
        return;
    }
    out.par_chunks_exact_mut(width).enumerate().with_min_len(rows_per_job(width)).for_each(|(row, out)| {
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
    }
}
