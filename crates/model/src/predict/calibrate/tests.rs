//! Quantiles, ways to go and residuals of few rows, in tables of which they are known.

use super::residuals::{Misses, blind, difficulty_without, residual};
use super::*;
use crate::predict::{Point, Rows};

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
    let own = Misses { kriging, hold, plane, line: kriging };
    Residual {
        variance: 1.0,
        class: Class::Beyond,
        side: None,
        group: 0,
        is_seen: false,
        sigma: 1.0,
        own,
        collocated: Misses::default(),
        process: None,
        configuration: None,
    }
}

#[test]
fn the_way_that_misses_least_is_taken_where_it_was_tried_often_enough() {
    // Half way between kriging and the plane each row is met.
    let all: Vec<Residual> = (0..12).map(|row| missed_by(-0.5, 0.25 + f64::from(row), 0.5)).collect();
    let all: Vec<&Residual> = all.iter().collect();
    assert_eq!(best_method(&all, &Method::BEYOND), Method::KrigingAndPlane);
    assert_eq!(best_method(&all[..11], &Method::BEYOND), Method::Kriging);
    let alike: Vec<Residual> = (0..12).map(|_| missed_by(0.5, -0.5, 0.5)).collect();
    assert_eq!(best_method(&alike.iter().collect::<Vec<_>>(), &[Method::Hold, Method::Kriging]), Method::Hold);
}

/// A model of kernels in two widths and four sizes whose times are a roofline's, but for what `off` says of the logarithm of each; and
/// the works of its rows, in its order.
fn of_sizes(off: impl Fn(u32) -> f64) -> (Model, Vec<Work>) {
    let point = |row: u32| Point::elementwise(f64::from(64 << (row % 4)), f64::from(1024 << (row / 4)), 3.0);
    let mut rows = Rows::new(2);
    for row in 0..8 {
        rows.push(row, &point(row), (3.0 + point(row).work.bytes / 1e5) * off(row).exp(), None);
    }
    let model = Model::build(vec![rows], Some(0)).expect("eight rows");
    let works = model.row_numbers.iter().map(|row| point(*row).work).collect();
    (model, works)
}

#[test]
fn few_rows_are_left_out_one_by_one_by_configuration_and_the_largest() {
    let (model, works) = of_sizes(|row| if row % 2 == 0 { 0.1 } else { -0.1 });
    let all = few::residuals(&model, &works, &configurations(&model, &[0, 1, 2, 3, 4, 5, 6, 7]), &[]);
    // Every row alone, and with its width. Of the largest size, both rows from those of at most a half and a quarter of it; of the
    // second largest from those of a half; further down too few are left.
    assert_eq!(all.len(), 8 + 8 + 2 + 2 + 2);
    let of = |class| all.iter().filter(|one| one.class == class).count();
    assert_eq!([Class::Beyond, Class::NewConfiguration].map(of), [2 + 2 + 2, 8]);
    // Rows are off by a tenth either way, and a roofline of four small ones by up to a half.
    for one in &all {
        let errors = [one.own.kriging, one.own.hold];
        assert!(errors.iter().all(|error| error.abs() < 0.6), "{errors:?}");
    }
}

#[test]
fn a_few_configurations_tell_less_than_their_rows_are_many() {
    let of = |configuration: u64| Residual { group: configuration << 32, ..missed_by(1.0, 1.0, 1.0) };
    let all: Vec<Residual> = (0..60).map(|row| of(row % 3)).collect();
    let factor = |class: Class| widened(vec![(0.0, 1.0)], class, all.iter())[0].1;
    // Nine of ten values of Student's distribution with three degrees of freedom lie within 2.353, of a normal one within 1.645: half way.
    assert!((factor(Class::NewConfiguration) - (2.353f64 / 1.645).sqrt()).abs() < 1e-3);
    assert_eq!(factor(Class::Beyond), 1.0);
}

#[test]
fn of_many_sizes_more_than_the_three_largest_are_left_out() {
    let mut rows = Rows::new(1);
    (0..400).for_each(|row| rows.push(row, &Point::sizes(&[f64::from(1 + row)]), f64::from(5 + row), None));
    let model = Model::build(vec![rows], Some(0)).expect("rows");
    let rows: Vec<u32> = (0..400).collect();
    let mut all = Vec::new();
    residuals::by_size(&model, Asked { rows: &rows, collocated: None, inverses: &[] }, &mut all);
    // Sixty of them, each from rows of at most a half and of at most a quarter.
    assert_eq!(all.len(), 120);
    assert!(all.iter().all(|one| one.class == Class::Beyond));
}

#[test]
fn a_row_that_is_left_out_does_not_make_its_neighbours_look_hard() {
    // One row of thirty is four times as slow as its neighbours.
    let mut rows = Rows::new(1);
    for row in 0..30 {
        let time_us = f64::from(1 << (row % 15)) * if row == 7 { 4.0 } else { 1.0 + f64::from(row % 3) / 50.0 };
        rows.push(row, &Point::sizes(&[f64::from(1 << (row % 15)) * (1.0 + f64::from(row / 15) / 2.0)]), time_us, None);
    }
    let model = Model::build(vec![rows], Some(0)).expect("thirty rows");
    let row = model.row_numbers.iter().position(|row| *row == 7).expect("row 7") as u32;
    let (near, kriged) = model.without(row);
    let from: Vec<(u32, f64)> = near.rows().iter().copied().zip(near.distances().iter().copied()).collect();
    let seen = residual(&model, None, row, &from);
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

/// Residuals of a class with these own misses of kriging, and those of the same sizes in another data type.
fn with_collocated(misses: impl Iterator<Item = (f64, f64)>) -> Vec<Residual> {
    let of = |kriging: f64| Misses { kriging, ..Misses::default() };
    misses
        .enumerate()
        .map(|(index, (own, collocated))| Residual {
            variance: index as f64,
            class: Class::Inside,
            side: None,
            group: 0,
            is_seen: false,
            sigma: 1.0,
            own: of(own),
            collocated: of(collocated),
            process: None,
            configuration: None,
        })
        .collect()
}

fn share_of(all: Vec<Residual>, alone: Method) -> Way {
    with_share(&all.iter().collect::<Vec<_>>(), methods_of(Class::Inside, None), alone)
}

#[test]
fn the_share_of_a_collocated_row_is_that_which_misses_least() {
    // Four rows follow half of the collocated, and one that does not weighs less than they do.
    let all = with_collocated([(1.0, 2.0), (-0.5, -1.0), (0.25, 0.5), (1.5, 3.0), (-2.0, 1.0)].into_iter());
    let best =
        |all: &[Residual]| best_share(&all.iter().collect::<Vec<_>>(), |one| (one.own.kriging, one.collocated.kriging));
    assert_eq!(best(&all), 0.5);
    // Never more than all of it, nor less than nothing.
    let more = with_collocated([(3.0, 1.0), (4.0, 1.0)].into_iter());
    assert_eq!(best(&more), 1.0);
    let against = with_collocated([(-3.0, 1.0), (4.0, -1.0)].into_iter());
    assert_eq!(best(&against), 0.0);
    assert_eq!(best(&with_collocated([(1.0, 0.0)].into_iter())), 0.0);
}

#[test]
fn a_collocated_row_counts_by_how_far_the_rows_lie_and_only_where_it_wins() {
    // Of the near half of 800 rows a quarter of the collocated is right, of the far half all of it.
    let sign = |row: u32| if row.is_multiple_of(2) { 1.0 } else { -1.0 };
    let follows = (0..800).map(|row| (sign(row) * if row < 400 { 0.25 } else { 1.0 }, sign(row)));
    let way = share_of(with_collocated(follows), Method::Kriging);
    assert_eq!(way, Way { shares: vec![(0.0, 0.25), (400.0, 1.0)], ..Way::alone(Method::Kriging) });
    assert_eq!([way.share(-1.0), way.share(399.0), way.share(401.0)], [0.25, 0.25, 1.0]);
    // A collocated whose sign has nothing to do with that of the row.
    let strange = (0..800).map(|row| (sign(row), sign(row / 2)));
    assert_eq!(share_of(with_collocated(strange), Method::Kriging), Way::alone(Method::Kriging));
    // Too few rows to tell.
    let few = (0..11).map(|row| (sign(row), sign(row)));
    assert_eq!(share_of(with_collocated(few), Method::Hold), Way::alone(Method::Hold));
}

#[test]
fn gains_must_be_more_than_chance() {
    let all = with_collocated((0..100).map(|row| (1.0, if row < 53 { 0.5 } else { -0.5 })));
    let own: Vec<&Residual> = all.iter().collect();
    let with = |one: &Residual| one.missed(Method::Kriging, 1.0);
    let without = |one: &Residual| one.missed(Method::Kriging, 0.0);
    // Three of 106 more are better by a half than worse: 3 % of the error, but well within what coins do.
    assert!(!wins(&own, without, with));
    let all = with_collocated((0..100).map(|row| (1.0, if row < 70 { 0.5 } else { -0.5 })));
    assert!(wins(&all.iter().collect::<Vec<_>>(), without, with));
}
