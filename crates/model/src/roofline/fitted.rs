//! Rooflines fitted to measured times.

use crate::roofline::kernels::Work;

/// How the kernels of a table run: what a call costs before any work, and the rates that the best of them reach.
///
/// The time of a kernel is `overhead + ((F/P)⁴ + (B/W)⁴)^¼`: the longer one of computing and of moving bytes, with a soft corner. That of a
/// collective is `overhead + F/P + B/W`: its steps, and then its bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roofline {
    /// a: the time of a call without work.
    pub overhead_us: f64,
    /// P: operations per microsecond; infinite where none were counted.
    pub operations_per_us: f64,
    /// W: bytes per microsecond; infinite where none were counted.
    pub bytes_per_us: f64,
    /// How both parts of the work go together.
    pub terms: Terms,
}

/// How operations and bytes of a call go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Terms {
    /// At once: the longer one counts, with a soft corner.
    #[default]
    Overlapping,
    /// One after the other. The operations are steps, each with the latency of a link: Hockney, *The communication challenge
    /// for MPP*, Parallel Computing 20, 1994.
    InTurn,
}

impl Terms {
    fn joined(self, [operations_us, bytes_us]: [f64; 2]) -> f64 {
        match self {
            Terms::Overlapping => fourth_root(fourth(operations_us) + fourth(bytes_us)),
            Terms::InTurn => operations_us + bytes_us,
        }
    }

    /// The parts of what is joined by which it grows when the logarithm of either term does.
    fn slopes(self, [operations_us, bytes_us]: [f64; 2]) -> [f64; 2] {
        match self {
            Terms::Overlapping => {
                let joined = self.joined([operations_us, bytes_us]);
                let cube = (joined * joined * joined).max(1e-300);
                [fourth(operations_us) / cube, fourth(bytes_us) / cube]
            }
            Terms::InTurn => [operations_us, bytes_us],
        }
    }
}

/// Residuals beyond this count linearly, not squared (Huber).
const KNEE: f64 = 0.2;
const MOST_STEPS: usize = 40;
/// The share of steps in the time of a small message where rows do not tell it: with four ranks instead of two it takes 1.0 to 1.5 times as long
/// with NCCL on H100, 1.1 to 1.6 times with oneCCL on B60.
const STEPS: f64 = 0.25;
/// Times below this share of short ones (the 5th percentile) cannot be right, and the fit does not start from them.
const LEAST_OF_SHORT: f64 = 1e-3;

impl Roofline {
    /// The time of some work.
    pub fn time_us(&self, work: Work) -> f64 {
        self.overhead_us + self.work_us(work)
    }

    fn work_us(&self, work: Work) -> f64 {
        self.terms.joined(self.terms_us(work))
    }

    fn terms_us(&self, work: Work) -> [f64; 2] {
        [work.operations / self.operations_per_us, work.bytes / self.bytes_per_us]
    }

    /// Fits the three numbers to pairs of work and time: Levenberg–Marquardt on the logarithms of times, with Huber weights.
    ///
    /// Times must be positive and finite. `None` without any pair. The order of the pairs changes the last digits alone.
    pub fn fit(samples: &[(Work, f64)], terms: Terms) -> Option<Roofline> {
        if samples.is_empty() {
            return None;
        }
        let least = quantile(samples.iter().map(|(_, time_us)| *time_us), 0.05) * LEAST_OF_SHORT;
        let likely = || samples.iter().filter(|(_, time_us)| *time_us >= least);
        let shortest = likely().map(|(_, time_us)| *time_us).min_by(f64::total_cmp)?;
        let mut start = [
            (shortest * 0.9).ln(),
            quantile(likely().map(|(work, time_us)| work.operations / time_us), 0.95).ln(),
            quantile(likely().map(|(work, time_us)| work.bytes / time_us), 0.95).ln(),
        ];
        let steps = samples[0].0.operations;
        let is_constant = terms == Terms::InTurn && samples.iter().all(|(work, _)| work.operations == steps);
        if is_constant {
            start[1] = f64::INFINITY;
        }
        for rate in &mut start[1..] {
            if !rate.is_finite() {
                *rate = f64::INFINITY;
            }
        }
        let measured: Vec<(Work, f64)> = samples.iter().map(|(work, time_us)| (*work, time_us.ln())).collect();
        let fitted = of_logarithms(descend(start, &measured, terms), terms);
        Some(if is_constant { fitted.with_steps(steps) } else { fitted })
    }

    /// Where all calls took as many steps, these cannot be told from what every call takes.
    fn with_steps(self, steps: f64) -> Roofline {
        let steps_us = STEPS * self.overhead_us;
        Roofline { overhead_us: self.overhead_us - steps_us, operations_per_us: steps / steps_us, ..self }
    }
}

fn fourth(x: f64) -> f64 {
    let square = x * x;
    square * square
}

fn fourth_root(x: f64) -> f64 {
    x.sqrt().sqrt()
}

fn of_logarithms(parameters: [f64; 3], terms: Terms) -> Roofline {
    let [overhead_us, operations_per_us, bytes_per_us] = parameters.map(f64::exp);
    Roofline { overhead_us, operations_per_us, bytes_per_us, terms }
}

/// Linear between order statistics.
fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let position = share * (sorted.len() - 1) as f64;
    let below = sorted[position as usize];
    let above = sorted[(position as usize + 1).min(sorted.len() - 1)];
    below + (position - position.floor()) * (above - below)
}

fn huber(residual: f64) -> f64 {
    let size = residual.abs();
    if size < KNEE { size * size / 2.0 } else { KNEE * (size - KNEE / 2.0) }
}

fn loss(parameters: [f64; 3], measured: &[(Work, f64)], terms: Terms) -> f64 {
    let roofline = of_logarithms(parameters, terms);
    measured.iter().map(|(work, log)| huber(log - roofline.time_us(*work).ln())).sum()
}

/// The weighted normal equations: JᵀWJ and JᵀWr.
fn normal_equations(parameters: [f64; 3], measured: &[(Work, f64)], terms: Terms) -> ([[f64; 3]; 3], [f64; 3]) {
    let roofline = of_logarithms(parameters, terms);
    let mut matrix = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for (work, log) in measured {
        let own_us = roofline.terms_us(*work);
        let time = roofline.overhead_us + terms.joined(own_us);
        let residual = log - time.ln();
        let [operations, bytes] = terms.slopes(own_us);
        let gradient = [roofline.overhead_us / time, -operations / time, -bytes / time];
        let weight = 1.0 / (residual.abs() / KNEE).max(1.0);
        for row in 0..3 {
            right[row] += weight * gradient[row] * residual;
            for column in 0..3 {
                matrix[row][column] += weight * gradient[row] * gradient[column];
            }
        }
    }
    (matrix, right)
}

fn descend(mut parameters: [f64; 3], measured: &[(Work, f64)], terms: Terms) -> [f64; 3] {
    let mut damping = 1e-2;
    let mut best = loss(parameters, measured, terms);
    let (mut matrix, mut right) = normal_equations(parameters, measured, terms);
    for _ in 0..MOST_STEPS {
        let mut damped = matrix;
        for (axis, row) in damped.iter_mut().enumerate() {
            row[axis] += damping * (matrix[axis][axis] + 1e-9);
        }
        let step = solve(damped, right);
        let trial: [f64; 3] = std::array::from_fn(|axis| parameters[axis] + step[axis].clamp(-2.0, 2.0));
        let found = loss(trial, measured, terms);
        if found < best {
            let is_last = best - found < 1e-6 * best;
            (parameters, best) = (trial, found);
            if is_last {
                break;
            }
            (matrix, right) = normal_equations(parameters, measured, terms);
            damping = (damping / 3.0).max(1e-6);
        } else {
            damping *= 4.0;
            if damping > 1e6 {
                break;
            }
        }
    }
    parameters
}

/// Gaussian elimination with pivots; directions that do not matter get no step.
fn solve(mut matrix: [[f64; 3]; 3], mut right: [f64; 3]) -> [f64; 3] {
    for column in 0..3 {
        let pivot = (column..3).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()));
        let pivot = pivot.unwrap_or(column);
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        if matrix[column][column].abs() < 1e-300 {
            continue;
        }
        for row in column + 1..3 {
            let factor = matrix[row][column] / matrix[column][column];
            let pivot_row = matrix[column];
            for (entry, pivot) in matrix[row].iter_mut().zip(pivot_row).skip(column) {
                *entry -= factor * pivot;
            }
            right[row] -= factor * right[column];
        }
    }
    let mut solution = [0.0; 3];
    for row in (0..3).rev() {
        let known: f64 = (row + 1..3).map(|inner| matrix[row][inner] * solution[inner]).sum();
        let pivot = matrix[row][row];
        solution[row] = if pivot.abs() < 1e-300 { 0.0 } else { (right[row] - known) / pivot };
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(truth: Roofline) -> Vec<(Work, f64)> {
        let sizes = (0..20).flat_map(|a| (0..20).map(move |b| (2f64.powi(a), 2f64.powi(b))));
        let works = sizes.map(|(a, b)| Work { operations: 1e3 * a * b, bytes: 50.0 * (a + b) });
        works.map(|work| (work, truth.time_us(work))).collect()
    }

    #[test]
    fn the_numbers_behind_the_times_are_found() {
        let truth = Roofline { overhead_us: 4.0, operations_per_us: 6e5, bytes_per_us: 3e3, terms: Terms::Overlapping };
        let fitted = Roofline::fit(&samples(truth), Terms::Overlapping).expect("there are samples");
        assert!((fitted.overhead_us / truth.overhead_us - 1.0).abs() < 1e-3, "{fitted:?}");
        assert!((fitted.operations_per_us / truth.operations_per_us - 1.0).abs() < 1e-3, "{fitted:?}");
        assert!((fitted.bytes_per_us / truth.bytes_per_us - 1.0).abs() < 1e-3, "{fitted:?}");
    }

    fn collective(ranks: f64, bytes: f64) -> Work {
        Work { operations: ranks, bytes: bytes * (ranks - 1.0) / ranks }
    }

    #[test]
    fn steps_and_bytes_of_a_collective_are_added() {
        let truth = Roofline { overhead_us: 3.5, operations_per_us: 0.6, bytes_per_us: 2e5, terms: Terms::InTurn };
        assert_eq!(truth.time_us(collective(6.0, 1.2e6)), 3.5 + 10.0 + 5.0);
        let sizes = (9..30).flat_map(|power| [2.0, 4.0].map(|ranks| collective(ranks, 2f64.powi(power))));
        let samples: Vec<(Work, f64)> = sizes.map(|work| (work, truth.time_us(work))).collect();
        let fitted = Roofline::fit(&samples, Terms::InTurn).expect("there are samples");
        let eight = collective(8.0, 512.0);
        assert!((fitted.time_us(eight) / truth.time_us(eight) - 1.0).abs() < 1e-3, "{fitted:?}");
    }

    #[test]
    fn of_one_number_of_ranks_a_quarter_of_a_small_message_is_steps() {
        let sample = |bytes: f64| (collective(4.0, bytes), 8.0 + bytes / 1e5);
        let fitted = Roofline::fit(&[1.0, 1e4, 1e6, 1e8].map(sample), Terms::InTurn).expect("there are samples");
        let small_us = |ranks: f64| fitted.time_us(collective(ranks, 0.0));
        assert!((small_us(4.0) / 8.0 - 1.0).abs() < 1e-2, "{fitted:?}");
        assert!((small_us(8.0) / small_us(4.0) - 1.25).abs() < 1e-6, "{fitted:?}");
    }

    #[test]
    fn a_few_wild_times_do_not_move_it() {
        let truth = Roofline { overhead_us: 4.0, operations_per_us: 6e5, bytes_per_us: 3e3, terms: Terms::Overlapping };
        let mut wild = samples(truth);
        for sample in wild.iter_mut().step_by(40) {
            sample.1 *= 30.0;
        }
        let fitted = Roofline::fit(&wild, Terms::Overlapping).expect("there are samples");
        assert!((fitted.overhead_us / truth.overhead_us - 1.0).abs() < 0.2, "{fitted:?}");
    }

    #[test]
    fn a_time_of_nothing_moves_nothing() {
        let truth = Roofline { overhead_us: 4.0, operations_per_us: 6e5, bytes_per_us: 3e3, terms: Terms::Overlapping };
        for count in [4, 20, 400] {
            let mut wild: Vec<(Work, f64)> = samples(truth).into_iter().step_by(400 / count).collect();
            wild[1].1 = 1e-300;
            let fitted = Roofline::fit(&wild, Terms::Overlapping).expect("there are samples");
            assert!((fitted.overhead_us / truth.overhead_us - 1.0).abs() < 0.2, "{count}: {fitted:?}");
            for (work, _) in &wild {
                let ratio = fitted.time_us(*work) / truth.time_us(*work);
                assert!((0.7..1.4).contains(&ratio), "{count}: {ratio}, {fitted:?}");
            }
        }
    }

    #[test]
    fn work_that_is_never_there_takes_no_time() {
        let only_bytes = |bytes: f64| (Work { operations: 0.0, bytes }, 2.0 + bytes / 100.0);
        let fitted =
            Roofline::fit(&[1.0, 1e2, 1e4, 1e6].map(only_bytes), Terms::Overlapping).expect("there are samples");
        assert!(fitted.operations_per_us.is_infinite());
        assert!((fitted.bytes_per_us / 100.0 - 1.0).abs() < 1e-2, "{fitted:?}");
        assert_eq!(Roofline::fit(&[], Terms::Overlapping), None);
        let nothing = Roofline::fit(&[(Work::default(), 3.0)], Terms::Overlapping).expect("there is a sample");
        assert!((nothing.time_us(Work::default()) / 3.0 - 0.9).abs() < 0.2);
    }
}
