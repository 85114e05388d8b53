//! Attention of a block of queries over a run of keys, without ever holding all scores.
//!
//! Keys are taken in steps; running maximum, sum and weighted values of each query are rescaled from step to step, so
//! memory does not grow with the length of a sequence. Steps and chunks depend on lengths alone: any number of threads
//! gives the same bits.

use std::ops::Range;

use crate::kernels::element::Wide;
use crate::kernels::jobs::collect;
use crate::kernels::product::{Matrix, Previous, multiply};

/// Keys per step.
const STEP: usize = 512;
/// Keys per chunk; chunks of one block of queries are computed side by side.
const CHUNK: usize = 8 * STEP;

/// Where keys and values come from: one run of positions 0, 1, 2, …
pub trait Source<W>: Sync {
    /// Elements of one key as it enters the score.
    fn key_size(&self) -> usize;
    /// Elements of one value.
    fn value_size(&self) -> usize;
    /// Writes the keys of these positions, one after the other.
    fn load_keys(&self, positions: Range<usize>, to: &mut [W]);
    /// Writes the values of these positions, one after the other.
    fn load_values(&self, positions: Range<usize>, to: &mut [W]);
}

/// Which positions a query sees.
pub enum Visible<'a> {
    /// Query i of the block sees positions below `limits[i]`.
    Below(&'a [usize]),
    /// Query i sees the position p < `end` unless `hidden(i, p)`.
    Unless {
        /// Number of positions.
        end: usize,
        /// True for what query i does not see.
        hidden: &'a (dyn Fn(usize, usize) -> bool + Sync),
    },
}

impl Visible<'_> {
    fn end(&self) -> usize {
        match self {
            Visible::Below(limits) => limits.iter().copied().max().unwrap_or(0),
            Visible::Unless { end, .. } => *end,
        }
    }

    fn hides(&self, query: usize, position: usize) -> bool {
        match self {
            Visible::Below(limits) => position >= limits[query],
            Visible::Unless { hidden, .. } => hidden(query, position),
        }
    }

    /// True if every query sees all of `positions`.
    fn covers(&self, positions: &Range<usize>) -> bool {
        matches!(self, Visible::Below(limits) if limits.iter().all(|limit| *limit >= positions.end))
    }
}

/// Attention of a block of queries: per query the weighted values and ln Σ e^score.
#[derive(Debug)]
pub struct Attended<W> {
    /// softmax(score) · values, one row per query; zeros for a query that sees nothing.
    pub output: Vec<W>,
    /// ln Σ e^score; −∞ for a query that sees nothing.
    pub log_sum: Vec<W>,
}

/// State of a block of queries after some keys.
struct Running<W> {
    maximum: Vec<W>,
    sum: Vec<W>,
    values: Vec<W>,
}

impl<W: Wide> Running<W> {
    fn new(queries: usize, value_size: usize) -> Self {
        Self {
            maximum: vec![W::neg_infinity(); queries],
            sum: vec![W::zero(); queries],
            values: vec![W::zero(); queries * value_size],
        }
    }

    /// Raises the maximum of one query and rescales what was summed under the old one.
    fn raise(&mut self, query: usize, maximum: W, value_size: usize) {
        if maximum > self.maximum[query] {
            let factor = (self.maximum[query] - maximum).exponential();
            self.maximum[query] = maximum;
            self.sum[query] *= factor;
            for value in &mut self.values[query * value_size..(query + 1) * value_size] {
                *value *= factor;
            }
        }
    }

    /// Takes over the sums of other positions.
    fn merge(&mut self, other: &Self, value_size: usize) {
        for query in 0..self.sum.len() {
            if other.maximum[query] == W::neg_infinity() {
                continue;
            }
            self.raise(query, other.maximum[query], value_size);
            let factor = (other.maximum[query] - self.maximum[query]).exponential();
            self.sum[query] += other.sum[query] * factor;
            let at = query * value_size..(query + 1) * value_size;
            for (value, more) in self.values[at.clone()].iter_mut().zip(&other.values[at]) {
                *value += *more * factor;
            }
        }
    }

    fn finish(mut self, value_size: usize) -> Attended<W> {
        let log_sum = self.maximum.iter().zip(&self.sum).map(|(maximum, sum)| *maximum + sum.ln()).collect();
        for (sum, values) in self.sum.iter().zip(self.values.chunks_exact_mut(value_size.max(1))) {
            if *sum > W::zero() {
                let factor = W::one() / *sum;
                values.iter_mut().for_each(|value| *value *= factor);
            }
        }
        Attended { output: self.values, log_sum }
    }
}

/// Attends `queries` (one after the other, `source.key_size()` elements each) to the positions that they see:
/// score = `scale` · (query · key), output = softmax(score) · value.
pub fn attend<W: Wide>(queries: &[W], scale: W, source: &impl Source<W>, visible: &Visible<'_>) -> Attended<W> {
    let (key_size, value_size) = (source.key_size(), source.value_size());
    let count = queries.len().checked_div(key_size).unwrap_or(0);
    let end = visible.end();
    let chunks: Vec<Range<usize>> = (0..end).step_by(CHUNK).map(|start| start..end.min(start + CHUNK)).collect();
    let part = |at: usize| over_chunk(queries, count, scale, source, visible, chunks[at].clone());
    let mut parts = collect(chunks.len(), part).into_iter();
    let mut running = parts.next().unwrap_or_else(|| Running::new(count, value_size));
    parts.for_each(|part| running.merge(&part, value_size));
    running.finish(value_size)
}

fn over_chunk<W: Wide>(
    queries: &[W],
    count: usize,
    scale: W,
    source: &impl Source<W>,
    visible: &Visible<'_>,
    chunk: Range<usize>,
) -> Running<W> {
    let (key_size, value_size) = (source.key_size(), source.value_size());
    let mut running = Running::new(count, value_size);
    let longest = STEP.min(chunk.len());
    let mut lines = vec![W::zero(); longest * key_size.max(value_size)];
    let mut scores = vec![W::zero(); count * longest];
    for start in chunk.clone().step_by(STEP) {
        let positions = start..chunk.end.min(start + STEP);
        let length = positions.len();
        let keys = &mut lines[..length * key_size];
        source.load_keys(positions.clone(), keys);
        let scores = &mut scores[..count * length];
        multiply(
            Matrix::row_major(queries, count, key_size),
            Matrix::row_major(keys, length, key_size).transposed(),
            scores,
            Previous::Replaced,
        );
        let all = visible.covers(&positions);
        for (query, scores) in scores.chunks_exact_mut(length).enumerate() {
            for (position, score) in positions.clone().zip(scores.iter_mut()) {
                *score *= scale;
                if !all && visible.hides(query, position) {
                    *score = W::neg_infinity();
                }
            }
            let maximum = scores.iter().copied().fold(W::neg_infinity(), W::max);
            if maximum == W::neg_infinity() {
                scores.fill(W::zero());
                continue;
            }
            running.raise(query, maximum, value_size);
            let maximum = running.maximum[query];
            for score in scores.iter_mut() {
                *score = (*score - maximum).exponential();
            }
            running.sum[query] += super::normalise::sum(scores);
        }
        let values = &mut lines[..length * value_size];
        source.load_values(positions, values);
        multiply(
            Matrix::row_major(scores, count, length),
            Matrix::row_major(values, length, value_size),
            &mut running.values,
            Previous::Kept,
        );
    }
    running
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys and values of `size` elements with values that differ everywhere.
    struct Waves {
        size: usize,
    }

    impl Waves {
        fn key(&self, position: usize, at: usize) -> f64 {
            ((position * 7 + at * 3) as f64).sin()
        }

        fn value(position: usize, at: usize) -> f64 {
            ((position * 5 + at) as f64).cos()
        }
    }

    impl Source<f64> for Waves {
        fn key_size(&self) -> usize {
            self.size
        }

        fn value_size(&self) -> usize {
            2
        }

        fn load_keys(&self, positions: Range<usize>, to: &mut [f64]) {
            let size = self.size;
            to.iter_mut()
                .zip(positions.flat_map(|p| (0..size).map(move |at| self.key(p, at))))
                .for_each(|(to, value)| *to = value);
        }

        fn load_values(&self, positions: Range<usize>, to: &mut [f64]) {
            to.iter_mut()
                .zip(positions.flat_map(|p| (0..2).map(move |at| Self::value(p, at))))
                .for_each(|(to, value)| *to = value);
        }
    }

    /// The definition, all scores at once.
    fn direct(queries: &[f64], source: &Waves, visible: &Visible<'_>) -> (Vec<f64>, Vec<f64>) {
        let (mut outputs, mut logs) = (Vec::new(), Vec::new());
        for (i, query) in queries.chunks_exact(source.size).enumerate() {
            let seen: Vec<usize> = (0..visible.end()).filter(|p| !visible.hides(i, *p)).collect();
            let weights: Vec<f64> = seen
                .iter()
                .map(|p| (0.5 * query.iter().enumerate().map(|(at, q)| q * source.key(*p, at)).sum::<f64>()).exp())
                .collect();
            let sum: f64 = weights.iter().sum();
            logs.push(sum.ln());
            outputs.extend(
                (0..2).map(|at| seen.iter().zip(&weights).map(|(p, w)| w * Waves::value(*p, at)).sum::<f64>() / sum),
            );
        }
        (outputs, logs)
    }

    #[test]
    fn steps_and_chunks_agree_with_the_definition() {
        let source = Waves { size: 3 };
        let queries: Vec<f64> = (0..12).map(|i| (i as f64).sin() * 3.0).collect();
        let limits = [1, 600, 4096, 9001];
        let hidden = |query: usize, position: usize| (position + query).is_multiple_of(3);
        for visible in [Visible::Below(&limits), Visible::Unless { end: 4700, hidden: &hidden }] {
            let got = attend(&queries, 0.5, &source, &visible);
            let (outputs, logs) = direct(&queries, &source, &visible);
            for (got, want) in got.output.iter().zip(&outputs).chain(got.log_sum.iter().zip(&logs)) {
                assert!((got - want).abs() < 1e-12, "{got} {want}");
            }
        }
    }

    #[test]
    fn a_query_that_sees_nothing_gets_zeros() {
        let got = attend(&[1.0, 2.0, 3.0, 1.0, 2.0, 3.0], 1.0, &Waves { size: 3 }, &Visible::Below(&[0, 2]));
        assert_eq!(got.output[..2], [0.0, 0.0]);
        assert_eq!(got.log_sum[0], f64::NEG_INFINITY);
        assert!(got.output[2] != 0.0);
    }
}
