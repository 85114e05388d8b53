//! Rows that cannot be right answer for themselves and spoil nothing else; calls shorter than all rows are not free.
#![allow(missing_docs, reason = "tests are not API")]

use perfdb_model::predict::{Class, MatMul, Operands, Point, Precision, Rows, Table};

fn product(rows: f64, columns: f64, inner: f64) -> Point {
    Point::matmul(MatMul { rows, columns, inner }, Operands::of(Precision::Bf16))
}

fn true_us(point: &Point) -> f64 {
    4.0 + point.work.operations / 3e8 + point.work.bytes / 1.2e6
}

const WRONG: u32 = 30;

/// Products with two per cent of noise, of which one takes `factor` times as long.
fn table(factor: f64) -> Table {
    let mut rows = Rows::new(3);
    for number in 0..63_u32 {
        let point = point(number);
        let noise = 1.0 + 0.02 * (f64::from(number * 7 % 11) / 5.0 - 1.0);
        let factor = if number == WRONG { factor } else { 1.0 };
        rows.push(number, &point, true_us(&point) * noise * factor, None);
    }
    Table::new(vec![rows], Some(0))
}

fn point(number: u32) -> Point {
    let [rows, columns, inner] = [number % 7, number / 7 % 3, number / 21];
    product(f64::from(1 << (2 * rows)), f64::from(1024 << columns), f64::from(1024 << inner))
}

#[test]
fn one_absurd_duration_spoils_no_other_answer() {
    let asked = product(48.0, 3000.0, 3000.0);
    for factor in [1e300, 1e6, 1000.0, 9.0, 1e-3, 1e-300] {
        let table = table(factor);
        let answer = table.predict(0, &asked).expect("an answer");
        assert!((answer.duration_us / true_us(&asked)).ln().abs() < 0.1, "{factor}: {answer}");
        assert!(answer.half_width() < 0.25, "{factor}: {answer}");
        let (model, _) = table.model(0).expect("rows");
        let [outlier] = model.outliers() else { panic!("{factor}: {:?}", model.outliers()) };
        assert_eq!(
            (outlier.row, outlier.measured_us),
            (WRONG, table.predict(0, &point(WRONG)).expect("a row").duration_us)
        );
        assert!((outlier.predicted_us / true_us(&point(WRONG))).ln().abs() < 0.15, "{factor}: {outlier:?}");
    }
}

#[test]
fn an_outlier_answers_for_itself() {
    let answer = table(9.0).explain(0, &point(WRONG)).expect("a row");
    assert_eq!(answer.estimate.class, Class::Measured);
    assert_eq!(answer.neighbours.len(), 1);
    assert!(answer.neighbours[0].efficiency < 0.2, "{answer}");
    let residual = |table: Table| {
        let (model, within) = table.model(0).expect("rows");
        model.residuals(within).find(|residual| residual.row == WRONG).expect("the row").error()
    };
    assert!((residual(table(9.0)) - residual(table(1.0)) + 9f64.ln()).abs() < 0.1);
}

#[test]
fn a_call_of_less_work_than_any_row_is_not_free() {
    let true_us = |point: &Point| 4.0 + (point.work.operations / 1.5e8).max(point.work.bytes / 1.2e6);
    let mut rows = Rows::new(3);
    for (number, tokens) in [16.0, 256.0, 4096.0].into_iter().enumerate() {
        let point = product(tokens, 4096.0, 4096.0);
        rows.push(number as u32, &point, true_us(&point), None);
    }
    // The weight alone explains the shortest row: the fit finds no overhead.
    let asked = product(16.0, 1.0, 1.0);
    let answer = Table::new(vec![rows], Some(0)).predict(0, &asked).expect("an answer");
    assert!((answer.low_us..answer.high_us).contains(&true_us(&asked)), "{answer}");
    assert!(answer.duration_us > 0.01, "{answer}");
}

#[test]
fn a_call_of_half_the_work_of_any_row_is_as_the_roofline_has_it() {
    let mut rows = Rows::new(3);
    let sizes =
        (0..6).flat_map(|tokens| [2048.0, 4096.0, 8192.0].map(|columns| (f64::from(1 << (2 * tokens)), columns)));
    for (number, (tokens, columns)) in sizes.enumerate() {
        let point = product(tokens, columns, 4096.0);
        rows.push(number as u32, &point, true_us(&point), None);
    }
    let asked = product(1.0, 1024.0, 4096.0);
    let answer = Table::new(vec![rows], Some(0)).predict(0, &asked).expect("an answer");
    assert!((answer.duration_us / true_us(&asked)).ln().abs() < 0.08, "{answer} for {}", true_us(&asked));
}
