//! Element-wise work on operands that are stretched to a common shape.

use crate::kernels::element::Element;
use crate::kernels::jobs::{Jobs, rows_per_job};

/// How the elements of an operand follow one another within a run of result elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// One after the other.
    Next,
    /// The same one again.
    Same,
}

/// Where an operand's elements lie for each element of a result of some shape.
#[derive(Clone, Debug)]
pub struct Stretched {
    /// Size and stride of the outer dimensions, innermost last.
    outer: Vec<(usize, usize)>,
    step: Step,
    run: usize,
}

impl Stretched {
    /// The operands' ways through `target`, which every shape must broadcast to.
    ///
    /// All of them have the same runs: stretches of the result in which each operand either advances by one or stays.
    pub fn all<const N: usize>(shapes: [&[usize]; N], target: &[usize]) -> [Stretched; N] {
        let strides = shapes.map(|shape| strides(shape, target));
        // Dimensions that every operand walks through like one are merged.
        let mut merged: Vec<(usize, [usize; N])> = Vec::new();
        for (at, &size) in target.iter().enumerate().filter(|(_, size)| **size != 1) {
            let stride: [usize; N] = std::array::from_fn(|operand| strides[operand][at]);
            match merged.last_mut() {
                Some((outer, outer_stride))
                    if (0..N).all(|operand| outer_stride[operand] == size * stride[operand]) =>
                {
                    *outer *= size;
                    *outer_stride = stride;
                }
                _ => merged.push((size, stride)),
            }
        }
        let (run, last) = merged.pop().unwrap_or((1, [1; N]));
        std::array::from_fn(|operand| Stretched {
            outer: merged.iter().map(|(size, stride)| (*size, stride[operand])).collect(),
            step: if last[operand] == 0 { Step::Same } else { Step::Next },
            run,
        })
    }

    /// Where the operand's elements for a run of the result begin.
    fn start(&self, mut at: usize) -> usize {
        let mut start = 0;
        for (size, stride) in self.outer.iter().rev() {
            start += at % size * stride;
            at /= size;
        }
        start
    }

    /// The operand's elements for `count` elements of a run from `first` on; a single one where it stays the same.
    fn slice<'a, T>(&self, values: &'a [T], run: usize, first: usize, count: usize) -> &'a [T] {
        let start = self.start(run);
        match self.step {
            Step::Next => &values[start + first..start + first + count],
            Step::Same => &values[start..=start],
        }
    }
}

/// Strides of a shape's dimensions within `target`; 0 where it is stretched.
fn strides(shape: &[usize], target: &[usize]) -> Vec<usize> {
    let mut strides = vec![0; target.len()];
    let mut stride = 1;
    for (size, to) in shape.iter().rev().zip(strides.iter_mut().rev()) {
        *to = if *size == 1 { 0 } else { stride };
        stride *= size;
    }
    strides
}

/// Elements of a long run per job, and those that are widened at a time.
const JOB: usize = 1 << 16;
const BLOCK: usize = 1024;

/// Hands the result on in pieces that lie within a run: `work(run, first element within the run, piece)`.
fn each_piece<O: Send>(out: &mut [O], run: usize, work: impl Fn(usize, usize, &mut [O]) + Sync) {
    if out.is_empty() {
        return;
    }
    let mut jobs = Jobs::new();
    let work = &work;
    if run > JOB {
        for (at, out) in out.chunks_mut(run).enumerate() {
            for (part, out) in out.chunks_mut(JOB).enumerate() {
                jobs.add(move || work(at, part * JOB, out));
            }
        }
    } else {
        let count = rows_per_job(run);
        for (job, out) in out.chunks_mut(count * run).enumerate() {
            jobs.add(move || {
                out.chunks_mut(run).enumerate().for_each(|(at, out)| work(job * count + at, 0, out));
            });
        }
    }
    jobs.run();
}

/// out = f(a, b) for each element, with the operands' ways from [`Stretched::all`].
pub fn combine<A, B, O>(a: (&[A], &Stretched), b: (&[B], &Stretched), out: &mut [O], f: impl Fn(A, B) -> O + Sync)
where
    A: Copy + Sync,
    B: Copy + Sync,
    O: Send,
{
    each_piece(out, a.1.run, |at, first, out| {
        match (a.1.slice(a.0, at, first, out.len()), b.1.slice(b.0, at, first, out.len())) {
            ([x], [y]) => out.iter_mut().for_each(|out| *out = f(*x, *y)),
            ([x], y) => out.iter_mut().zip(y).for_each(|(out, y)| *out = f(*x, *y)),
            (x, [y]) => out.iter_mut().zip(x).for_each(|(out, x)| *out = f(*x, *y)),
            (x, y) => out.iter_mut().zip(x.iter().zip(y)).for_each(|(out, (x, y))| *out = f(*x, *y)),
        }
    });
}

/// Writes `value` over the elements of `x` whose mask is true.
pub(crate) fn mask_into<T: Copy + Send + Sync>(x: &mut [T], mask: (&[bool], &Stretched), value: T) {
    each_piece(x, mask.1.run, |at, first, x| match mask.1.slice(mask.0, at, first, x.len()) {
        [false] => {}
        [true] => x.fill(value),
        mask => x.iter_mut().zip(mask).for_each(|(x, masked)| *x = if *masked { value } else { *x }),
    });
}

/// [`combine`] for floating-point operands: `f` works on widened values, results are rounded once.
pub(crate) fn combine_floats<E: Element>(
    a: (&[E], &Stretched),
    b: (&[E], &Stretched),
    out: &mut [E],
    f: impl Fn(E::Wide, E::Wide) -> E::Wide + Sync,
) {
    if a.1.run < BLOCK {
        combine(a, b, out, |x, y| E::round(f(x.widen(), y.widen())));
        return;
    }
    each_piece(out, a.1.run, |at, first, out| {
        let mut scratch = [vec![E::Wide::default(); BLOCK], vec![E::Wide::default(); BLOCK]];
        for (block, out) in out.chunks_mut(BLOCK).enumerate() {
            for ((values, way), to) in [a, b].into_iter().zip(&mut scratch) {
                match way.slice(values, at, first + block * BLOCK, out.len()) {
                    [value] => to.fill(value.widen()),
                    values => E::widen_slice(values, &mut to[..values.len()]),
                }
            }
            let [left, right] = &mut scratch;
            for (x, y) in left.iter_mut().zip(right) {
                *x = f(*x, *y);
            }
            E::round_slice(&left[..out.len()], out);
        }
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sums(x_shape: &[usize], y_shape: &[usize], target: &[usize]) -> (usize, Vec<usize>) {
        let (x, y): (Vec<usize>, Vec<usize>) =
            ((0..x_shape.iter().product()).collect(), (0..y_shape.iter().product()).map(|i: usize| 1000 * i).collect());
        let [x_way, y_way] = Stretched::all([x_shape, y_shape], target);
        let mut out = vec![0; target.iter().product()];
        combine((&x, &x_way), (&y, &y_way), &mut out, |x, y| x + y);
        (x_way.run, out)
    }

    #[test]
    fn dimensions_that_can_be_are_merged() {
        assert_eq!(sums(&[2, 3], &[2, 3], &[2, 3]), (6, vec![0, 1001, 2002, 3003, 4004, 5005]));
        assert_eq!(sums(&[2, 2], &[2], &[2, 2]), (2, vec![0, 1001, 2, 1003]));
        assert_eq!(sums(&[2, 1], &[1, 2], &[2, 2]), (2, vec![0, 1000, 1, 1001]));
        assert_eq!(sums(&[], &[2, 2], &[2, 2]), (4, vec![0, 1000, 2000, 3000]));
        assert_eq!(sums(&[], &[], &[]), (1, vec![0]));
    }

    proptest! {
        #[test]
        fn every_element_meets_its_partner(sizes in proptest::collection::vec(1usize..4, 1..5), masks: (u8, u8), cut in 0usize..4) {
            let stretch = |mask: u8| -> Vec<usize> { sizes.iter().enumerate().map(|(i, size)| if mask >> i & 1 == 1 { 1 } else { *size }).collect() };
            let (x_shape, y_shape) = (stretch(masks.0), stretch(masks.1));
            let target: Vec<usize> = x_shape.iter().zip(&y_shape).map(|(a, b)| *a.max(b)).collect();
            let leading = target.iter().zip(&y_shape).take_while(|(t, y)| t == y || **y == 1).count();
            let y_shape = if y_shape[..cut.min(leading).min(y_shape.len())].iter().all(|size| *size == 1) { y_shape[cut.min(y_shape.len())..].to_vec() } else { y_shape };
            let (_, got) = sums(&x_shape, &y_shape, &target);
            let place = |shape: &[usize], coordinates: &[usize]| {
                let skipped = coordinates.len() - shape.len();
                shape.iter().zip(&coordinates[skipped..]).fold(0, |at, (size, c)| at * size + if *size == 1 { 0 } else { *c })
            };
            for (flat, got) in got.into_iter().enumerate() {
                let mut rest = flat;
                let mut coordinates = vec![0; target.len()];
                for (c, size) in coordinates.iter_mut().zip(&target).rev() {
                    *c = rest % size;
                    rest /= size;
                }
                prop_assert_eq!(got, place(&x_shape, &coordinates) + 1000 * place(&y_shape, &coordinates));
            }
        }
    }
}
