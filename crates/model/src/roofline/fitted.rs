//! Rooflines fitted to measured times.

use crate::roofline::kernels::Work;

/// How the kernels of a table run: what a call costs before any work, and the rates that the best of them reach.
///
/// The time of a kernel is `overhead + ((F/P)⁴ + (B/W)⁴)^¼`: the longer one of computing and of moving bytes, with a soft corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roofline {
    /// a: the time of a call without work.
    pub overhead_us: f64,
    /// P: operations per microsecond; infinite where none were counted.
    pub operations_per_us: f64,
    /// W: bytes per microsecond; infinite where none were counted.
    pub bytes_per_us: f64,
}

/// Residuals beyond this count linearly, not squared (Huber).
const KNEE: f64 = 0.2;
const MOST_STEPS: usize = 40;
/// Times below this share of short ones (the 5th percentile) cannot be right, and the fit does not start from them.
const LEAST_OF_SHORT: f64 = 1e-3;

impl Roofline {
    /// The time of some work.
    pub fn time_us(&self, work: Work) -> f64 {
        self.overhead_us + self.work_us(work)
    }

    fn work_us(&self, work: Work) -> f64 {
        fourth_root(fourth(work.operations / self.operations_per_us) + fourth(work.bytes / self.bytes_per_us))
    }

    /// Fits the three numbers to pairs of work and time: Levenberg–Marquardt on the logarithms of times, with Huber weights.
    ///
    /// Times must be positive and finite. `None` without any pair. The order of the pairs changes the last digits alone.
    pub fn fit(samples: &[(Work, f64)]) -> Option<Roofline> {
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
        for rate in &mut start[1..] {
            if !rate.is_finite() {
                *rate = f64::INFINITY;
            }
        }
        let measured: Vec<(Work, f64)> = samples.iter().map(|(work, time_us)| (*work, time_us.ln())).collect();
        Some(of_logarithms(descend(start, &measured)))
    }
}

fn fourth(x: f64) -> f64 {
    let square = x * x;
    square * square
}

fn fourth_root(x: f64) -> f64 {
    x.sqrt().sqrt()
}

fn of_logarithms(parameters: [f64; 3]) -> Roofline {
    let [overhead_us, operations_per_us, bytes_per_us] = parameters.map(f64::exp);
    Roofline { overhead_us, operations_per_us, bytes_per_us }
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

fn loss(parameters: [f64; 3], measured: &[(Work, f64)]) -> f64 {
    let roofline = of_logarithms(parameters);
    measured.iter().map(|(work, log)| huber(log - roofline.time_us(*work).ln())).sum()
}

/// The weighted normal equations: JᵀWJ and JᵀWr.
fn normal_equations(parameters: [f64; 3], measured: &[(Work, f64)]) -> ([[f64; 3]; 3], [f64; 3]) {
    let roofline = of_logarithms(parameters);
    let mut matrix = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for (work, log) in measured {
        let compute = fourth(work.operations / roofline.operations_per_us);
        let moving = fourth(work.bytes / roofline.bytes_per_us);
        let soft = fourth_root(compute + moving);
        let time = roofline.overhead_us + soft;
        let residual = log - time.ln();
        let cube = (soft * soft * soft).max(1e-300);
        let gradient = [roofline.overhead_us / time, -compute / cube / time, -moving / cube / time];
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

fn descend(mut parameters: [f64; 3], measured: &[(Work, f64)]) -> [f64; 3] {
    let mut damping = 1e-2;
    let mut best = loss(parameters, measured);
    let (mut matrix, mut right) = normal_equations(parameters, measured);
    for _ in 0..MOST_STEPS {
        let mut damped = matrix;
        for (axis, row) in damped.iter_mut().enumerate() {
            row[axis] += damping * (matrix[axis][axis] + 1e-9);
        }
        let step = solve(damped, right);
        let trial: [f64; 3] = std::array::from_fn(|axis| parameters[axis] + step[axis].clamp(-2.0, 2.0));
        let found = loss(trial, measured);
        if found < best {
            let is_last = best - found < 1e-6 * best;
            (parameters, best) = (trial, found);
            if is_last {
                break;
            }
            (matrix, right) = normal_equations(parameters, measured);
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
        let truth = Roofline { overhead_us: 4.0, operations_per_us: 6e5, bytes_per_us: 3e3 };
        let fitted = Roofline::fit(&samples(truth)).expect("there are samples");
        assert!((fitted.overhead_us / truth.overhead_us - 1.0).abs() < 1e-3, "{fitted:?}");
        assert!((fitted.operations_per_us / truth.operations_per_us - 1.0).abs() < 1e-3, "{fitted:?}");
        assert!((fitted.bytes_per_us / truth.bytes_per_us - 1.0).abs() < 1e-3, "{fitted:?}");
    }

    #[test]
    fn a_few_wild_times_do_not_move_it() {
        let truth = Roofline { overhead_us: 4.0, operations_per_us: 6e5, bytes_per_us: 3e3 };
        let mut wild = samples(truth);
        for sample in wild.iter_mut().step_by(40) {
            sample.1 *= 30.0;
        }
        let fitted = Roofline::fit(&wild).expect("there are samples");
        assert!((fitted.overhead_us / truth.overhead_us - 1.0).abs() < 0.2, "{fitted:?}");
    }

    #[test]
    fn a_time_of_nothing_moves_nothing() {
        let truth = Roofline { overhead_us: 4.0, operations_per_us: 6e5, bytes_per_us: 3e3 };
        for count in [4, 20, 400] {
            let mut wild: Vec<(Work, f64)> = samples(truth).into_iter().step_by(400 / count).collect();
            wild[1].1 = 1e-300;
            let fitted = Roofline::fit(&wild).expect("there are samples");
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
        let fitted = Roofline::fit(&[1.0, 1e2, 1e4, 1e6].map(only_bytes)).expect("there are samples");
        assert!(fitted.operations_per_us.is_infinite());
        assert!((fitted.bytes_per_us / 100.0 - 1.0).abs() < 1e-2, "{fitted:?}");
        assert_eq!(Roofline::fit(&[]), None);
        let nothing = Roofline::fit(&[(Work::default(), 3.0)]).expect("there is a sample");
        assert!((nothing.time_us(Work::default()) / 3.0 - 0.9).abs() < 0.2);
    }
}
