//! How unsure a value is.

use super::*;
use crate::predict::{Point, Rows};

#[test]
fn sigma_is_that_of_rows_that_are_as_hard_as_the_neighbours_and_four_typical_ones() {
    let mut rows = Rows::new(1);
    (0..6).for_each(|row| rows.push(row, &Point::sizes(&[f64::from(1 << row)]), f64::from(2 + row), None));
    let mut model = Model::build(vec![rows], Some(0)).expect("six rows");
    (model.difficulty, model.typical) = (vec![2.0, 9.0, 4.0, 9.0, 9.0, 9.0], 1.0);
    // Two neighbours of 2 and 4, and four of 1: ten over six.
    assert!((model.sigma(3.0, &[0, 2]) - 5f64.sqrt()).abs() < 1e-12);
    assert!((model.sigma(0.5, &[]) - 0.5f64.sqrt()).abs() < 1e-12);
}
