//! Matrix products of tensors in their own element types, blocked and on many threads.
//!
//! The result is cut into tiles whose size depends on the shapes alone, so any number of threads gives the same bits.
//! Per tile and per `DEPTH` of the inner dimension both operands are widened into small dense panels and handed to
//! the `gemm` crate; nothing is converted as a whole. Sums stay wide (`f32`, `f64`, integers exactly) until a closure
//! turns them into results, so scales, biases and roundings need no pass of their own.

mod factor;
mod operand;

pub use factor::Factor;
pub use operand::Operand;

use operand::Panel;

use crate::kernels::element::{Element, Wide};
use crate::kernels::jobs::Jobs;
use crate::kernels::product::{Previous, multiply};

/// Inner dimension of one panel. A product of 1024 pairs of int8 is at most 2^24, hence exact in float32.
const DEPTH: usize = 1024;
/// Rows and columns of the largest tile.
const TILE: usize = 512;
/// Columns of the smallest tile that a small product is cut into, for the sake of many threads.
const SMALLEST_TILE: usize = 128;
/// Up to this number of rows the second operand is used in place: a product is then bound by reading it.
const NARROW: usize = 4;

/// The result lines of one tile and where it lies.
struct Tile<'a, O> {
    row: usize,
    column: usize,
    columns: usize,
    lines: Vec<&'a mut [O]>,
}

/// Scratch memory of one tile.
struct Workspace<F: Factor> {
    a: Panel<F::Panel>,
    b: Panel<F::Panel>,
    products: Vec<F::Panel>,
    sums: Vec<F::Sum>,
}

impl<F: Factor> Workspace<F> {
    fn new() -> Self {
        Self { a: Panel::default(), b: Panel::default(), products: Vec::new(), sums: Vec::new() }
    }
}

/// Computes `a` · `b` and hands every stretch of finished sums to `finish(row, first column, sums, result)`.
///
/// `lines` are the rows of the result, `b.columns` long each; they need not be neighbours in memory. The operands may
/// have different types of the same wider type.
///
/// # Panics
/// If the inner dimensions differ or `lines` are not `a.rows` slices of `b.columns` elements.
pub fn product<F, G, O>(
    a: Operand<'_, F>,
    b: Operand<'_, G>,
    lines: Vec<&mut [O]>,
    finish: impl Fn(usize, usize, &[F::Sum], &mut [O]) + Sync,
) where
    F: Factor,
    G: Factor<Panel = F::Panel>,
    O: Send,
{
    assert_eq!(a.columns, b.rows, "inner dimensions");
    assert_eq!(a.rows, lines.len(), "rows of the product");
    let depth = a.columns;
    let compute = |tile: Tile<'_, O>| {
        let space = &mut Workspace::<F>::new();
        let size = tile.lines.len() * tile.columns;
        space.sums.clear();
        space.sums.resize(size, F::Sum::default());
        space.products.resize(size, F::Panel::default());
        let rows = tile.row..tile.row + tile.lines.len();
        let columns = tile.column..tile.column + tile.columns;
        for start in (0..depth).step_by(DEPTH) {
            let inner = start..depth.min(start + DEPTH);
            space.a.load(a, rows.clone(), inner.clone());
            if rows.len() <= NARROW {
                narrow(&space.a, b, inner, &columns, &mut space.b.values, &mut space.products);
            } else {
                space.b.load(b, inner, columns.clone());
                multiply(space.a.matrix(), space.b.matrix(), &mut space.products, Previous::Replaced);
            }
            F::add(&space.products, &mut space.sums);
        }
        for ((offset, line), sums) in tile.lines.into_iter().enumerate().zip(space.sums.chunks_exact(columns.len())) {
            finish(tile.row + offset, tile.column, sums, line);
        }
    };
    let mut jobs = Jobs::new();
    for tile in cut(lines, b.columns) {
        let compute = &compute;
        jobs.add(move || compute(tile));
    }
    jobs.run();
}

/// Cuts the result into tiles: the same ones at any number of threads.
fn cut<O>(lines: Vec<&mut [O]>, columns: usize) -> Vec<Tile<'_, O>> {
    if columns == 0 || lines.is_empty() {
        return Vec::new();
    }
    let width =
        if lines.len() >= 4 * TILE { TILE } else { (columns / 8).next_power_of_two().clamp(SMALLEST_TILE, TILE) };
    let mut tiles: Vec<Tile<'_, O>> = Vec::new();
    let row_of_tiles = columns.div_ceil(width);
    for (row, line) in lines.into_iter().enumerate() {
        assert_eq!(line.len(), columns, "columns of the product");
        if row % TILE == 0 {
            tiles.extend((0..row_of_tiles).map(|tile| {
                let column = tile * width;
                Tile { row, column, columns: width.min(columns - column), lines: Vec::new() }
            }));
        }
        let first = tiles.len() - row_of_tiles;
        for (tile, part) in tiles[first..].iter_mut().zip(line.chunks_mut(width)) {
            tile.lines.push(part);
        }
    }
    tiles
}

/// One panel of a product with few rows: reads `b` once, where it lies, without a copy of more than one line.
fn narrow<F: Factor>(
    a: &Panel<F::Panel>,
    b: Operand<'_, F>,
    inner: std::ops::Range<usize>,
    columns: &std::ops::Range<usize>,
    line: &mut Vec<F::Panel>,
    products: &mut [F::Panel],
) {
    // Rows of `a` one after the other, whichever way they lie.
    let left: Vec<F::Panel> = if a.transposed {
        (0..a.rows).flat_map(|row| (0..a.columns).map(move |at| a.values[at * a.rows + row])).collect()
    } else {
        a.values.clone()
    };
    if b.transposed {
        line.resize(inner.len(), F::Panel::default());
        for (offset, column) in columns.clone().enumerate() {
            F::widen_slice(&b.values[column * b.rows + inner.start..column * b.rows + inner.end], line);
            for (row, left) in left.chunks_exact(inner.len()).enumerate() {
                products[row * columns.len() + offset] = dot(left, line);
            }
        }
    } else {
        line.resize(columns.len(), F::Panel::default());
        products.fill(F::Panel::default());
        for (offset, at) in inner.clone().enumerate() {
            F::widen_slice(&b.values[at * b.columns + columns.start..at * b.columns + columns.end], line);
            for (row, sums) in products.chunks_exact_mut(columns.len()).enumerate() {
                let factor = left[row * inner.len() + offset];
                for (sum, value) in sums.iter_mut().zip(&*line) {
                    *sum += factor * *value;
                }
            }
        }
    }
}

/// Σ a·b, summed in sixteen lanes.
pub fn dot<W: Wide>(a: &[W], b: &[W]) -> W {
    const LANES: usize = 16;
    let mut lanes = [W::zero(); LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += *a * *b;
        }
    }
    let rest: W = a_rest.iter().zip(b_rest).map(|(a, b)| *a * *b).sum();
    lanes.into_iter().sum::<W>() + rest
}

/// `a` · `b`, each element rounded once to the operands' type.
pub(crate) fn rounded_product<E: Element>(a: Operand<'_, E>, b: Operand<'_, E>, lines: Vec<&mut [E]>) {
    product(a, b, lines, |_, _, sums, line| E::round_slice(sums, line));
}

/// `a` · `b` of integers other than int8, summed in 64 bits; `narrow` brings a sum back to the element type.
pub(crate) fn integer_product<I: Copy + Send + Sync>(
    a: Operand<'_, I>,
    b: Operand<'_, I>,
    lines: Vec<&mut [I]>,
    widen: impl Fn(I) -> i64 + Sync,
    narrow: impl Fn(i64) -> I + Sync,
) {
    assert_eq!((a.rows, a.columns), (lines.len(), b.rows), "sizes of the product");
    // Lines of both operands along the inner dimension, so that the innermost loop reads neighbours.
    let dense = |operand: Operand<'_, I>| -> Vec<i64> {
        if operand.transposed {
            let get = |row: usize, column: usize| widen(operand.values[column * operand.rows + row]);
            (0..operand.rows)
                .flat_map(|row| (0..operand.columns).map(move |column| (row, column)))
                .map(|(r, c)| get(r, c))
                .collect()
        } else {
            operand.values.iter().map(|value| widen(*value)).collect()
        }
    };
    let depth = a.columns;
    if depth == 0 {
        lines.into_iter().for_each(|line| line.fill(narrow(0)));
        return;
    }
    let (left, right) = (dense(a), dense(b.exchanged()));
    let mut jobs = Jobs::new();
    for (line, left) in lines.into_iter().zip(left.chunks_exact(depth)) {
        let (right, narrow) = (&right, &narrow);
        jobs.add(move || {
            for (to, right) in line.iter_mut().zip(right.chunks_exact(depth)) {
                *to = narrow(left.iter().zip(right).fold(0i64, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b))));
            }
        });
    }
    jobs.run();
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};
    use proptest::prelude::*;

    use super::*;

    /// The sums of the definition, in double precision.
    fn exact(a: Operand<'_, f32>, b: Operand<'_, f32>) -> Vec<f64> {
        let at = |m: &Operand<'_, f32>, r: usize, c: usize| {
            f64::from(m.values[if m.transposed { c * m.rows + r } else { r * m.columns + c }])
        };
        (0..a.rows)
            .flat_map(|r| (0..b.columns).map(move |c| (r, c)))
            .map(|(r, c)| (0..a.columns).map(|k| at(&a, r, k) * at(&b, k, c)).sum())
            .collect()
    }

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 37 + seed * 11) % 64) as f32 / 32.0 - 1.0).collect()
    }

    #[test]
    fn every_orientation_of_wide_and_narrow_products() {
        for (m, n, k) in [(1, 70, 33), (3, 5, 1500), (7, 130, 40), (600, 9, 12)] {
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
                let (a, b) = (Operand::new(&a, m, k, ta), Operand::new(&b, k, n, tb));
                let mut out = vec![0.0f32; m * n];
                rounded_product(a, b, out.chunks_mut(n).collect());
                for (got, want) in out.iter().zip(exact(a, b)) {
                    assert!(
                        (f64::from(*got) - want).abs() <= 1e-6 + 1e-5 * want.abs(),
                        "{m} {n} {k} {ta} {tb}: {got} {want}"
                    );
                }
            }
        }
    }

    #[test]
    fn bfloat16_sums_are_rounded_once() {
        // 256 + 1 + 1 + … : each step would be lost in bfloat16, the float32 sum is not.
        let a = vec![bf16::ONE; 260];
        let mut b = vec![bf16::ONE; 260];
        b[0] = bf16::from_f32(256.0);
        let mut out = [bf16::ZERO];
        rounded_product(Operand::row_major(&a, 1, 260), Operand::row_major(&b, 260, 1), vec![&mut out[..]]);
        assert_eq!(out[0].to_f32(), 516.0, "515 lies between 514 and 516, which is even");
    }

    #[test]
    fn int8_sums_are_exact_at_the_limits() {
        let (a, b) = (vec![-128i8; 6 * 5000], vec![-128i8; 5000 * 2]);
        let mut out = [0i32; 12];
        product(
            Operand::row_major(&a, 6, 5000),
            Operand::column_major(&b, 5000, 2),
            out.chunks_mut(2).collect(),
            |_, _, sums, line| line.copy_from_slice(sums),
        );
        assert!(out.iter().all(|x| *x == 5000 * 128 * 128));
    }

    #[test]
    fn integers_wrap_into_their_type() {
        let (a, b) = ([100i16, 200, 300, 400], [300i16, 1, 2, 400]);
        let mut out = [0i16; 4];
        let lines = out.chunks_mut(2).collect();
        integer_product(Operand::row_major(&a, 2, 2), Operand::row_major(&b, 2, 2), lines, i64::from, |x| x as i16);
        assert_eq!(out, [30400, (100 + 80000i64) as i16, (90000 + 800i64) as i16, (300 + 160000i64) as i16]);
    }

    #[test]
    fn threads_do_not_change_bits() {
        let (a, b) = (numbers(37 * 2100, 3), numbers(2100 * 700, 4));
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
            let mut out = vec![f16::ZERO; 37 * 700];
            let (a, b) = (
                a.iter().map(|x| f16::from_f32(*x)).collect::<Vec<_>>(),
                b.iter().map(|x| f16::from_f32(*x)).collect::<Vec<_>>(),
            );
            pool.install(|| {
                rounded_product(
                    Operand::row_major(&a, 37, 2100),
                    Operand::row_major(&b, 2100, 700),
                    out.chunks_mut(700).collect(),
                )
            });
            out
        };
        assert_eq!(on(1), on(3));
    }

    proptest! {
        #[test]
        fn int8_products_equal_integer_sums(m in 1usize..7, n in 1usize..7, k in 0usize..40, values in proptest::collection::vec(any::<i8>(), 480)) {
            let (a, b) = (&values[..m * k], &values[240..240 + k * n]);
            let mut out = vec![1i32; m * n];
            product(Operand::row_major(a, m, k), Operand::row_major(b, k, n), out.chunks_mut(n).collect(), |_, _, sums, line| line.copy_from_slice(sums));
            for r in 0..m {
                for c in 0..n {
                    let want: i32 = (0..k).map(|i| i32::from(a[r * k + i]) * i32::from(b[i * n + c])).sum();
                    prop_assert_eq!(out[r * n + c], want);
                }
            }
        }
    }
}
