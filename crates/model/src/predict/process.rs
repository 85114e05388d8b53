//! Gaussian processes over all rows of a slice: Rasmussen and Williams, *Gaussian Processes for Machine Learning*, 2006, chapters 2 and 5. Kriging
//! from the nearest rows loses against them where rows are few and axes many.

mod inverse;
mod lengths;

use crate::predict::kriging::{SQRT_3, exp_of_minus};
use crate::predict::model::{Model, Spot};
use crate::predict::rows::choose;
use inverse::invert;

/// Rows of a slice from which on there is a process, and up to which.
const FEWEST: usize = 40;
const MOST: usize = 480;
/// Rows of which lengths are learnt.
const MOST_FOR_LENGTHS: usize = 240;
/// Rows left out together at most.
const MOST_HIDDEN: usize = 200;

/// How alike two points are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// By the distance between them.
    Radial,
    /// A product over the axes.
    Product,
}

/// The mean of some processes over the rows of a slice.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    /// Octaves, row after row.
    rows: Vec<f64>,
    dims: usize,
    forms: Vec<Form>,
}

/// One process.
#[derive(Debug, Clone)]
struct Form {
    shape: Shape,
    /// Whether it is of the logarithm over the roofline, not of the time itself.
    is_over_roofline: bool,
    /// √3 over the length of each axis.
    factors: Vec<f64>,
    mean: f64,
    /// One for each row.
    weights: Vec<f64>,
    /// Of the prediction.
    share: f64,
}

/// What predicts rows of a slice from the others, for each form: the inverse of the covariance, without its mean.
pub(crate) struct Inverses(Vec<Vec<f64>>);

impl Shape {
    fn correlation(self, differences: impl Iterator<Item = f64>) -> f64 {
        match self {
            Shape::Radial => {
                let distance = differences.map(|difference| difference * difference).sum::<f64>().sqrt();
                (1.0 + distance) * exp_of_minus(distance)
            }
            Shape::Product => {
                let (product, sum) = differences
                    .fold((1.0, 0.0), |(product, sum), difference| (product * (1.0 + difference), sum + difference));
                product * exp_of_minus(sum)
            }
        }
    }
}

impl Form {
    fn correlation(&self, one: &[f64], other: &[f64]) -> f64 {
        let pairs = one.iter().zip(other).zip(&self.factors);
        self.shape.correlation(pairs.map(|((one, other), factor)| (one - other).abs() * factor))
    }

    /// Learns from values; the inverse is for leaving rows out.
    fn learn(
        rows: &[f64],
        dims: usize,
        values: &[f64],
        shape: Shape,
        is_over_roofline: bool,
    ) -> Option<(Form, Vec<f64>)> {
        let count = values.len();
        let chosen = choose(count, MOST_FOR_LENGTHS, 29);
        let some: Vec<f64> = chosen.iter().flat_map(|row| &rows[row * dims..(row + 1) * dims]).copied().collect();
        let some_values: Vec<f64> = chosen.iter().map(|row| values[*row]).collect();
        let (lengths, nugget) = lengths::learn(&some, dims, &some_values, shape);
        let factors = lengths.iter().map(|length| SQRT_3 / length).collect();
        let form = Form { shape, is_over_roofline, factors, mean: 0.0, weights: Vec::new(), share: 1.0 };
        form.fit(rows, dims, values, nugget)
    }

    /// With the mean and the weights that follow from its lengths and a nugget.
    fn fit(mut self, rows: &[f64], dims: usize, values: &[f64], nugget: f64) -> Option<(Form, Vec<f64>)> {
        let count = values.len();
        let row = |at: usize| &rows[at * dims..(at + 1) * dims];
        let mut inverse = vec![0.0; count * count];
        for at in 0..count {
            for before in 0..at {
                inverse[at * count + before] = self.correlation(row(at), row(before));
            }
            inverse[at * count + at] = 1.0 + nugget;
        }
        invert(&mut inverse, count)?;
        let sums: Vec<f64> = inverse.chunks_exact(count).map(|row| row.iter().sum()).collect();
        let sum: f64 = sums.iter().sum();
        self.mean = sums.iter().zip(values).map(|(sum, value)| sum * value).sum::<f64>() / sum;
        for (row, own) in inverse.chunks_exact_mut(count).zip(&sums) {
            row.iter_mut().zip(&sums).for_each(|(entry, other)| *entry -= own * other / sum);
        }
        self.weights = times(&inverse, values);
        self.weights.iter().all(|weight| weight.is_finite()).then_some((self, inverse))
    }
}

/// A square matrix times a vector.
fn times(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
    let row = |row: &[f64]| row.iter().zip(vector).map(|(a, b)| a * b).sum();
    matrix.chunks_exact(vector.len()).map(row).collect()
}

impl Process {
    /// Of the rows of a slice, of logarithms over the roofline and of times.
    fn learn(rows: Vec<f64>, dims: usize, over_roofline: &[f64], times: &[f64]) -> Option<(Process, Inverses)> {
        let count = times.len();
        let ways = [(Shape::Radial, false), (Shape::Radial, true), (Shape::Product, false), (Shape::Product, true)];
        let learn = |(shape, is_over): (Shape, bool)| {
            Form::learn(&rows, dims, if is_over { over_roofline } else { times }, shape, is_over)
        };
        let found: Option<Vec<(Form, Vec<f64>)>> = ways.into_iter().map(learn).collect();
        let (mut forms, inverses): (Vec<Form>, Vec<Vec<f64>>) = found?.into_iter().unzip();
        let missed = |form: &Form, inverse: &[f64]| -> f64 {
            let missed = |at: usize| (form.weights[at] / inverse[at * count + at]).abs();
            (0..count).map(missed).sum::<f64>() / count as f64
        };
        for (form, inverse) in forms.iter_mut().zip(&inverses) {
            form.share = missed(form, inverse).max(1e-6).powi(-2);
        }
        let sum: f64 = forms.iter().map(|form| form.share).sum();
        forms.iter_mut().for_each(|form| form.share /= sum);
        Some((Process { rows, dims, forms }, Inverses(inverses)))
    }

    /// The logarithm over the roofline of a point, in octaves, where the roofline has this logarithm of the time.
    fn value(&self, point: &[f64], roofline: f64) -> f64 {
        let of_form = |form: &Form| {
            let rows = self.rows.chunks_exact(self.dims).zip(&form.weights);
            let value = form.mean + rows.map(|(row, weight)| weight * form.correlation(row, point)).sum::<f64>();
            form.share * if form.is_over_roofline { value } else { value - roofline }
        };
        self.forms.iter().map(of_form).sum()
    }

    /// By how much some rows are missed by the others, with their signs; these are the logarithms over the roofline of all rows.
    fn misses(&self, inverses: &Inverses, over_roofline: &[f64], hidden: &[usize]) -> Option<Vec<f64>> {
        let count = over_roofline.len();
        let mut misses = vec![0.0; hidden.len()];
        for (form, inverse) in self.forms.iter().zip(&inverses.0) {
            // Of values that were learnt again without the rows, the weights are others.
            let weight = |at: &usize| {
                if form.is_over_roofline {
                    inverse[at * count..(at + 1) * count].iter().zip(over_roofline).map(|(a, b)| a * b).sum()
                } else {
                    form.weights[*at]
                }
            };
            let weights: Vec<f64> = hidden.iter().map(weight).collect();
            let mut block: Vec<f64> =
                hidden.iter().flat_map(|row| hidden.iter().map(move |column| inverse[row * count + column])).collect();
            invert(&mut block, hidden.len())?;
            for (missed, found) in misses.iter_mut().zip(times(&block, &weights)) {
                *missed -= form.share * found;
            }
        }
        Some(misses)
    }

    pub(crate) fn bytes(&self) -> usize {
        let of_form = |form: &Form| size_of_val(form) + size_of_val(&*form.weights) + size_of_val(&*form.factors);
        size_of_val(&*self.rows) + self.forms.iter().map(of_form).sum::<usize>()
    }
}

impl Model {
    /// A process for each slice of which that is worth the time; none where the work of a call is known.
    pub(crate) fn learn_processes(&mut self) -> Vec<Option<Inverses>> {
        if self.powers.is_empty() || self.scale.varying.is_empty() {
            return Vec::new();
        }
        let learn = |slice: usize| {
            let rows = self.forest.slices[slice].clone();
            if !(FEWEST..=MOST).contains(&rows.len()) {
                return None;
            }
            let dims = self.forest.dims;
            let octaves = rows.clone().flat_map(|row| self.octaves(self.forest.row(row))).collect();
            let over_roofline = &self.residuals[rows.start as usize..rows.end as usize];
            let times: Vec<f64> = rows.map(|row| self.log_time(row)).collect();
            Process::learn(octaves, dims, over_roofline, &times)
        };
        let found: Vec<_> = (0..self.forest.slices.len()).map(learn).collect();
        let (processes, inverses) = found
            .into_iter()
            .map(|found| found.map_or((None, None), |(process, inverses)| (Some(process), Some(inverses))))
            .unzip();
        self.processes = processes;
        inverses
    }

    /// Those of a point on the axes that vary.
    fn octaves(&self, point: &[f64]) -> impl Iterator<Item = f64> + use<> {
        self.scale.uncoupled(point).into_iter().take(self.forest.dims)
    }

    /// The logarithm of the time that a row counts as.
    fn log_time(&self, row: u32) -> f64 {
        (self.times_us[row as usize] / self.reference_us).ln() + self.moved_by(row)
    }

    /// What the process of a slice says of a spot, over the roofline; `None` without one, or where the spot differs on an axis on which no row does.
    pub(crate) fn process_value(&self, spot: &Spot, roofline: f64) -> Option<f64> {
        let process = self.processes.get(spot.slice)?.as_ref().filter(|_| spot.beside_distance == 0.0)?;
        let octaves: Vec<f64> = self.octaves(&spot.point).collect();
        Some(process.value(&octaves, roofline))
    }

    /// By how much the process of a slice misses rows that it does not know, with their signs; `None` without one, or of too many rows.
    pub(crate) fn process_misses(
        &self,
        inverses: &[Option<Inverses>],
        slice: usize,
        hidden: &[u32],
    ) -> Option<Vec<f64>> {
        let (process, inverses) = (self.processes.get(slice)?.as_ref()?, inverses.get(slice)?.as_ref()?);
        let rows = self.forest.slices[slice].clone();
        let count = rows.len();
        if hidden.is_empty() || hidden.len() > MOST_HIDDEN.min(count / 2) {
            return None;
        }
        let hidden: Vec<usize> = hidden.iter().map(|row| (row - rows.start) as usize).collect();
        process.misses(inverses, &self.residuals[rows.start as usize..rows.end as usize], &hidden)
    }
}

#[cfg(test)]
mod tests;
