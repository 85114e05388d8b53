//! Rows of another slice at the same point.

use perfdb_model::predict::{Class, Explanation, MatMul, Operands, Point, Precision, Rows, Table, configuration};

const ROWS: u32 = 12;
const COLUMNS: u32 = 8;
const INNER: u32 = 6;

/// The point of a number.
fn point(number: u32, precision: Precision) -> Point {
    let (rows, columns, inner) = (number % ROWS, number / ROWS % COLUMNS, number / ROWS / COLUMNS);
    let product =
        MatMul { rows: f64::from(1 << rows), columns: f64::from(512 << columns), inner: f64::from(512 << inner) };
    Point::matmul(product, Operands::of(precision))
}

/// A number between −1 and 1 that has nothing to do with that of another point.
fn drawn(seed: f64, point: &Point) -> f64 {
    let draw = configuration(&[seed, point.axes[0], point.axes[1], point.axes[2]]) >> 11;
    draw as f64 / (1u64 << 52) as f64 - 1.0
}

/// How much of the scatter of a table both slices have, and how much each has for itself, as logarithms.
#[derive(Clone, Copy)]
struct Scatter {
    common: f64,
    own: f64,
}

const ALIKE: Scatter = Scatter { common: 0.3, own: 0.02 };
const UNLIKE: Scatter = Scatter { common: 0.0, own: 0.3 };

fn time_us(number: u32, precision: Precision, scatter: Scatter) -> f64 {
    let point = point(number, precision);
    let speed = if precision == Precision::Bf16 { 3e8 } else { 5e8 };
    let seed = if precision == Precision::Bf16 { 1.0 } else { 2.0 };
    let log = scatter.common * drawn(0.0, &point) + scatter.own * drawn(seed, &point);
    (4.0 + point.work.operations / speed + point.work.bytes / 2e6) * log.exp()
}

/// Rows of the numbers that are known; those of the second data type are numbered from 10,000 on.
fn slice(precision: Precision, scatter: Scatter, is_known: impl Fn(u32) -> bool) -> Rows {
    let start = if precision == Precision::Bf16 { 0 } else { 10_000 };
    let mut rows = Rows::new(3);
    for number in (0..ROWS * COLUMNS * INNER).filter(|number| is_known(*number)) {
        rows.push(start + number, &point(number, precision), time_us(number, precision, scatter), None);
    }
    rows
}

fn is_asked(number: u32) -> bool {
    number % 7 == 3
}

fn table(slices: Vec<Rows>) -> Table {
    Table::new(slices, Some(0))
}

fn asked(table: &Table, slice: usize) -> Vec<(u32, Explanation)> {
    let numbers = (0..ROWS * COLUMNS * INNER).filter(|number| is_asked(*number));
    numbers
        .map(|number| (number, table.explain(slice, &point(number, Precision::Bf16)).expect("there are rows")))
        .collect()
}

/// The median of how far answers are off, as logarithms; their median half width; and the share that lies in its interval.
fn score(answers: &[(u32, Explanation)], scatter: Scatter) -> (f64, f64, f64) {
    let truth = |number: u32| time_us(number, Precision::Bf16, scatter);
    let middle = |mut values: Vec<f64>| *values.select_nth_unstable_by(answers.len() / 2, f64::total_cmp).1;
    let errors = answers.iter().map(|(number, answer)| (answer.estimate.duration_us / truth(*number)).ln().abs());
    let widths = answers.iter().map(|(_, answer)| answer.estimate.half_width());
    let held = |(number, answer): &&(u32, Explanation)| {
        (answer.estimate.low_us..=answer.estimate.high_us).contains(&truth(*number))
    };
    let share = answers.iter().filter(held).count() as f64 / answers.len() as f64;
    (middle(errors.collect()), middle(widths.collect()), share)
}

#[test]
fn what_two_slices_have_in_common_is_told_by_the_other() {
    let known = || slice(Precision::Bf16, ALIKE, |number| !is_asked(number));
    let both = asked(&table(vec![known(), slice(Precision::Fp8, ALIKE, |_| true)]), 0);
    let alone = asked(&table(vec![known()]), 0);
    let ((error, width, held), (error_alone, width_alone, _)) = (score(&both, ALIKE), score(&alone, ALIKE));
    // Of ±30 % both have, and ±2 % each has for itself, what is left is hardly more than the latter.
    assert!(error < 0.03 && error_alone > 0.1, "{error} {error_alone}");
    assert!(width < 0.1 && width_alone > 0.25 && (0.8..=1.0).contains(&held), "{width} {width_alone} {held}");
    for (number, answer) in &both {
        let collocated = answer.collocated.expect("the other slice has every point");
        assert_eq!((collocated.row, collocated.slice), (10_000 + number, 1));
        assert!((0.7..=1.0).contains(&collocated.share), "{collocated:?}");
        assert_ne!(answer.estimate.class, Class::Measured);
    }
    assert!(alone.iter().all(|(_, answer)| answer.collocated.is_none()));
}

#[test]
fn the_order_of_slices_and_the_unit_of_the_other_are_of_no_matter() {
    let known = || slice(Precision::Bf16, ALIKE, |number| !is_asked(number));
    let first = asked(&table(vec![known(), slice(Precision::Fp8, ALIKE, |_| true)]), 0);
    let second = asked(&table(vec![slice(Precision::Fp8, ALIKE, |_| true), known()]), 1);
    let mut slower = Rows::new(3);
    for number in 0..ROWS * COLUMNS * INNER {
        let time_us = 1000.0 * time_us(number, Precision::Fp8, ALIKE);
        slower.push(10_000 + number, &point(number, Precision::Fp8), time_us, None);
    }
    let third = asked(&table(vec![known(), slower]), 0);
    for (((_, one), (_, two)), (_, three)) in first.iter().zip(&second).zip(&third) {
        assert_eq!(one.estimate, two.estimate);
        assert!((three.estimate.duration_us / one.estimate.duration_us - 1.0).abs() < 1e-5, "{one:?} {three:?}");
    }
}

#[test]
fn slices_that_have_nothing_in_common_do_not_count() {
    let known = || slice(Precision::Bf16, UNLIKE, |number| !is_asked(number));
    let both = asked(&table(vec![known(), slice(Precision::Fp8, UNLIKE, |_| true)]), 0);
    assert_eq!(both, asked(&table(vec![known()]), 0));
}

#[test]
fn a_place_that_the_other_slice_lacks_is_answered_as_alone() {
    let known = || slice(Precision::Bf16, ALIKE, |number| !is_asked(number));
    let both = asked(&table(vec![known(), slice(Precision::Fp8, ALIKE, |number| !is_asked(number))]), 0);
    assert_eq!(both, asked(&table(vec![known()]), 0));
}

#[test]
fn rows_at_other_points_are_not_collocated() {
    let moved = |number: u32| {
        let mut point = point(number, Precision::Fp8);
        point.axes[0] += 0.5;
        point
    };
    let mut other = Rows::new(3);
    for number in 0..ROWS * COLUMNS * INNER {
        other.push(10_000 + number, &moved(number), time_us(number, Precision::Fp8, ALIKE), None);
    }
    let known = || slice(Precision::Bf16, ALIKE, |number| !is_asked(number));
    assert_eq!(asked(&table(vec![known(), other]), 0), asked(&table(vec![known()]), 0));
}

#[test]
fn a_measured_row_answers_for_itself_alone() {
    let table = table(vec![slice(Precision::Bf16, ALIKE, |_| true), slice(Precision::Fp8, ALIKE, |_| true)]);
    for (number, answer) in asked(&table, 0) {
        assert_eq!((answer.estimate.class, answer.collocated), (Class::Measured, None));
        assert_eq!(answer.estimate.duration_us, time_us(number, Precision::Bf16, ALIKE));
    }
}

#[test]
fn an_outlier_of_the_other_slice_says_what_its_neighbours_say() {
    let strange = 3 + 7 * 30;
    assert!(is_asked(strange));
    // Little scatter, so that fifty times as long is an outlier.
    let calm = Scatter { common: 0.05, own: 0.005 };
    let known = || slice(Precision::Bf16, calm, |number| !is_asked(number));
    let mut other = slice(Precision::Fp8, calm, |number| number != strange);
    let time_us = 50.0 * time_us(strange, Precision::Fp8, calm);
    other.push(10_000 + strange, &point(strange, Precision::Fp8), time_us, None);
    let both = table(vec![known(), other]).explain(0, &point(strange, Precision::Bf16)).expect("there are rows");
    let truth = self::time_us(strange, Precision::Bf16, calm);
    assert!((both.estimate.duration_us / truth).ln().abs() < 0.15, "{truth} {both:?}");
}

#[test]
fn a_few_rows_have_no_collocated_one() {
    let few = || slice(Precision::Bf16, ALIKE, |number| number < 30);
    let both = table(vec![few(), slice(Precision::Fp8, ALIKE, |_| true), slice(Precision::Fp4, ALIKE, |_| true)]);
    let answer = both.explain(0, &point(40, Precision::Bf16)).expect("there are rows");
    assert_eq!(answer.collocated, None);
}

#[test]
fn the_sentence_names_the_collocated_row_and_what_of_it_counts() {
    let known = slice(Precision::Bf16, ALIKE, |number| !is_asked(number));
    let table = table(vec![known, slice(Precision::Fp8, ALIKE, |_| true)]);
    let answer = table.explain(0, &point(52, Precision::Bf16)).expect("there are rows");
    let collocated = answer.collocated.expect("a collocated row");
    let way = if collocated.excess < 0.0 { "faster" } else { "slower" };
    let expected = format!(
        "; row 10052 (same sizes, other data type) is {:.1} % {way} than its neighbours; {:.0} % of that is applied",
        100.0 * collocated.excess.abs(),
        100.0 * collocated.share
    );
    assert!(answer.to_string().ends_with(&expected), "{answer}");
}
