//! Quantiles, ways to go and residuals of few rows, in tables of which they are known.

use super::*;
use crate::{Place, Rows};

#[test]
fn a_quantile_counts_the_question_itself() {
    let scores: Vec<(f64, f64)> = (1..=19).map(|score| (0.0, f64::from(score))).collect();
    assert_eq!(quantile(&scores), 19.0);
    assert_eq!(quantile(&scores[..5]), 7.5);
}

#[test]
fn windows_follow_the_variance() {
    let scores: Vec<(f64, f64)> = (0..1000).map(|index| (f64::from(index), f64::from(index))).collect();
    let steps = steps(&scores);
    assert_eq!(steps.len(), 36);
    assert_eq!(steps[0], (0.0, 273.0));
    assert_eq!(steps[35], (849.0, 973.0));
}

fn missed_by(kriging: f64, hold: f64, plane: f64) -> Residual {
    Residual { variance: 1.0, class: Class::Beyond, kriging, hold, plane, sigma: 1.0 }
}

#[test]
fn the_way_that_misses_least_is_taken_where_it_was_tried_often_enough() {
    // Half way between kriging and the plane each row is met.
    let all: Vec<Residual> = (0..12).map(|row| missed_by(-0.5, 0.25 + f64::from(row), 0.5)).collect();
    assert_eq!(best_method(&all, Class::Beyond, &Method::ALL), Method::KrigingAndPlane);
    assert_eq!(best_method(&all[..11], Class::Beyond, &Method::ALL), Method::Kriging);
    assert_eq!(best_method(&all, Class::Inside, &Method::ALL), Method::Kriging);
    let alike: Vec<Residual> = (0..12).map(|_| missed_by(0.5, -0.5, 0.5)).collect();
    assert_eq!(best_method(&alike, Class::Beyond, &[Method::Hold, Method::Kriging]), Method::Hold);
}

/// A model of kernels in two widths and four sizes whose times are a roofline's, but for what `off` says of the logarithm of each; and
/// the works of its rows, in its order.
fn of_sizes(off: impl Fn(u32) -> f64) -> (Model, Vec<Work>) {
    let place = |row: u32| Place::elementwise(f64::from(64 << (row % 4)), f64::from(1024 << (row / 4)), 3.0);
    let mut rows = Rows::new(2);
    for row in 0..8 {
        rows.push(row, &place(row), (3.0 + place(row).work.bytes / 1e5) * off(row).exp(), None);
    }
    let model = Model::build(vec![rows], Some(0)).expect("eight rows");
    let works = model.row_numbers.iter().map(|row| place(*row).work).collect();
    (model, works)
}

#[test]
fn few_rows_are_left_out_one_by_one_by_configuration_and_the_largest() {
    let (model, works) = of_sizes(|row| if row % 2 == 0 { 0.1 } else { -0.1 });
    let all = few::residuals(&model, &works, &configurations(&model));
    // Every row alone, and with its width. Of the largest size, both rows from those of at most a half and a quarter of it; of the
    // second largest from those of a half; further down too few are left.
    assert_eq!(all.len(), 8 + 8 + 2 + 2 + 2);
    let of = |class| all.iter().filter(|one| one.class == class).count();
    assert_eq!([Class::Beyond, Class::NewConfiguration].map(of), [2 + 2 + 2, 8]);
    // Rows are off by a tenth either way, and a roofline of four small ones by up to a half.
    for one in &all {
        let errors = [one.kriging, one.hold];
        assert!(errors.iter().all(|error| error.abs() < 0.6), "{errors:?}");
    }
}

#[test]
fn a_row_that_is_left_out_does_not_make_its_neighbours_look_hard() {
    // One row of thirty is four times as slow as its neighbours.
    let mut rows = Rows::new(1);
    for row in 0..30 {
        let time_us = f64::from(1 << (row % 15)) * if row == 7 { 4.0 } else { 1.0 + f64::from(row % 3) / 50.0 };
        rows.push(row, &Place::sizes(&[f64::from(1 << (row % 15)) * (1.0 + f64::from(row / 15) / 2.0)]), time_us, None);
    }
    let model = Model::build(vec![rows], Some(0)).expect("thirty rows");
    let row = model.row_numbers.iter().position(|row| *row == 7).expect("row 7") as u32;
    let (near, kriged) = model.without(row);
    let from: Vec<(u32, f64)> = near.rows().iter().copied().zip(near.distances().iter().copied()).collect();
    let seen = residual(&model, row, &from);
    let (seen_sigma, blind) = (seen.sigma, blind(&model, row, &from, seen));
    // The same as of a model whose difficulties come from rows that do not know it.
    let mut without = model.clone();
    for other in near.rows() {
        without.difficulty[*other as usize] = difficulty_without(&model, *other, row) as f32;
    }
    let expected = without.sigma(kriged.variance, near.rows());
    assert!((blind.sigma / expected - 1.0).abs() < 1e-6, "{} {expected}", blind.sigma);
    assert!(blind.sigma < seen_sigma, "{} {seen_sigma}", blind.sigma);
}
