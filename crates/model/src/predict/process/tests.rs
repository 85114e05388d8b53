//! What a process over all rows says of rows that it does not know, and when it counts.

use super::*;
use crate::predict::point::mix;
use crate::predict::{Point, Rows};

/// A number from zero to one.
fn share(seed: u64) -> f64 {
    (mix(seed) >> 11) as f64 / (1u64 << 53) as f64
}

/// A call with sizes on four axes, in whole octaves.
fn sizes(seed: u64) -> [f64; 4] {
    let size = |axis: u64, octaves: u64| ((mix(seed * 4 + axis) % octaves) as f64).exp2();
    [size(1, 9), size(2, 6), size(3, 6), size(4, 6)]
}

/// Not a product of powers: what a size counts for depends on another.
fn time_us(sizes: [f64; 4]) -> f64 {
    let [a, b, c, d] = sizes.map(f64::log2);
    let bend = 0.4 * (a / 3.0 + b / 2.0).sin() + 0.3 * (c * d / 8.0).cos();
    (1.0 + 0.3 * a + 0.2 * b + 0.1 * c + bend).exp()
}

fn rows(seeds: impl Iterator<Item = u64>) -> Rows {
    let mut rows = Rows::new(4);
    for seed in seeds {
        rows.push(seed as u32, &Point::generic(&sizes(seed)), time_us(sizes(seed)), None);
    }
    rows
}

/// The mean error of calls without a row, and the share of them that their intervals cover.
fn missed(model: &Model) -> (f64, f64) {
    let (mut sum, mut covered, mut count) = (0.0, 0, 0);
    for seed in 5000..5400 {
        let estimate = model.predict(0, &Point::generic(&sizes(seed))).expect("an answer");
        if estimate.class != crate::predict::Class::Measured {
            let truth = time_us(sizes(seed));
            sum += (estimate.duration_us / truth).ln().abs();
            covered += usize::from(estimate.low_us <= truth && truth <= estimate.high_us);
            count += 1;
        }
    }
    (sum / f64::from(count), covered as f64 / f64::from(count))
}

#[test]
fn few_rows_on_many_axes_are_predicted_from_all_of_them() {
    let model = Model::build(vec![rows(0..160)], Some(0)).expect("rows");
    let nearest = Model { processes: Vec::new(), ..model.clone() };
    let ((error, coverage), (of_nearest, _)) = (missed(&model), missed(&nearest));
    assert!(error < 0.75 * of_nearest, "{error} {of_nearest}");
    assert!((0.84..0.97).contains(&coverage), "{coverage}");
    // The order of the rows is of no matter, nor is the unit of time.
    let reverse = Model::build(vec![rows((0..160).rev())], Some(0)).expect("rows");
    assert_eq!(missed(&reverse), (error, coverage));
}

#[test]
fn a_few_rows_and_many_have_none() {
    let has_process = |count: u64| {
        let model = Model::build(vec![rows(0..count)], Some(0)).expect("rows");
        model.processes.iter().any(Option::is_some)
    };
    // Repeats are one row.
    assert_eq!([30, 160, 900].map(has_process), [false, true, false]);
    let mut known = Rows::new(2);
    (0..80u32).for_each(|row| {
        let (size, columns) = (f64::from(1 << (row % 10)), f64::from(64 << (row / 10)));
        known.push(row, &Point::elementwise(size, columns, 3.0), 2.0 + size * columns / 1e4, None);
    });
    let model = Model::build(vec![known], Some(0)).expect("rows");
    assert!(model.processes.is_empty());
}

#[test]
fn rows_that_are_left_out_are_missed_as_if_they_had_not_been_there() {
    let octaves = |seed: u64| sizes(seed).map(f64::log2);
    let learnt: Vec<f64> = (0..60).flat_map(octaves).collect();
    let values: Vec<f64> = (0..60).map(|seed| time_us(sizes(seed)).ln() + share(seed) / 10.0).collect();
    for shape in [Shape::Radial, Shape::Product] {
        let form =
            Form { shape, is_over_roofline: false, factors: vec![0.4; 4], mean: 0.0, weights: Vec::new(), share: 1.0 };
        let (all, inverse) = form.clone().fit(&learnt, 4, &values, 1e-2).expect("rows");
        // The last five rows.
        let (without, _) = form.fit(&learnt[..55 * 4], 4, &values[..55], 1e-2).expect("rows");
        let process = |form: &Form, rows: &[f64]| Process { rows: rows.to_vec(), dims: 4, forms: vec![form.clone()] };
        let hidden: Vec<usize> = (55..60).collect();
        let misses = process(&all, &learnt).misses(&Inverses(vec![inverse]), &values, &hidden).expect("rows");
        for (row, missed) in hidden.iter().zip(misses) {
            let predicted = process(&without, &learnt[..55 * 4]).value(&octaves(*row as u64), 0.0);
            assert!((missed - (predicted - values[*row])).abs() < 1e-9, "{row}: {missed} {}", predicted - values[*row]);
        }
    }
}
