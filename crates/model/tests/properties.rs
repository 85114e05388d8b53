//! What must hold of every prediction.

use perfdb_model::predict::{Class, MatMul, Model, Operands, Point, Precision, Rows, Table};
use proptest::prelude::*;

/// Rows, columns, inner size and duration.
type Measured = (u32, u32, u32, f64);

fn point(rows: u32, columns: u32, inner: u32) -> Point {
    let product = MatMul { rows: rows.into(), columns: columns.into(), inner: inner.into() };
    Point::matmul(product, Operands::of(Precision::Bf16))
}

fn table(measured: &[Measured]) -> Table {
    let mut rows = Rows::new(3);
    for (line, (m, n, k, time_us)) in measured.iter().enumerate() {
        rows.push(line as u32, &point(*m, *n, *k), *time_us, None);
    }
    Table::new(vec![rows], Some(0))
}

/// A table of distinct shapes whose times are a roofline with noise.
fn some_rows() -> impl Strategy<Value = Vec<Measured>> {
    let row = ((1u32..14, 5u32..12, 5u32..12), 0.7f64..1.5).prop_map(|((m, n, k), noise)| {
        let (m, n, k) = (1 << m, 1 << n, 1 << k);
        (m, n, k, noise * (3.0 + 2.0 * f64::from(m) * f64::from(n) * f64::from(k) / 3e8))
    });
    proptest::collection::vec(row, 1..80).prop_map(|mut rows| {
        rows.sort_by_key(|row| (row.0, row.1, row.2));
        rows.dedup_by_key(|row| (row.0, row.1, row.2));
        rows
    })
}

#[test]
fn one_row_tells_less_the_further_away_the_question_is() {
    let mut one = Rows::new(1);
    one.push(0, &Point::sizes(&[1.0]), 2.0, None);
    let model = Model::build(vec![one], Some(0)).expect("a row");
    let near = model.predict(0, &Point::sizes(&[2.0])).expect("an answer");
    let far = model.predict(0, &Point::sizes(&[4096.0])).expect("an answer");
    // A call that costs the same whatever its size, and one whose time goes with it, are both held.
    assert!(far.low_us < 2.0 && far.high_us > 2.0 * 4096.0 * 0.5, "{far:?}");
    assert!(near.half_width() < far.half_width() && near.low_us < 2.0 && near.high_us > 4.0, "{near:?} {far:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn an_exact_row_answers_itself(rows in some_rows()) {
        let table = table(&rows);
        for (m, n, k, time_us) in rows {
            let answer = table.predict(0, &point(m, n, k)).expect("there are rows");
            prop_assert_eq!((answer.duration_us, answer.class), (time_us, Class::Measured));
        }
    }

    #[test]
    fn nothing_else_is_measured_and_nothing_is_negative(rows in some_rows(), asked in (1u32..100_000, 1u32..9999, 1u32..9999)) {
        let answer = table(&rows).predict(0, &point(asked.0, asked.1, asked.2)).expect("there are rows");
        let is_row = rows.iter().any(|row| (row.0, row.1, row.2) == asked);
        prop_assert_eq!(answer.class == Class::Measured, is_row);
        prop_assert!(0.0 < answer.low_us && answer.low_us <= answer.duration_us, "{answer:?}");
        prop_assert!(answer.duration_us <= answer.high_us && answer.high_us.is_finite(), "{answer:?}");
    }

    #[test]
    fn the_order_of_rows_is_of_no_matter(rows in some_rows(), seed in any::<u64>()) {
        let asked = point(300, 700, 900);
        let answer = table(&rows).predict(0, &asked);
        let mut shuffled = rows.clone();
        shuffled.sort_by_key(|row| (u64::from(row.0) * 31 + u64::from(row.1) * 17 + u64::from(row.2)).wrapping_mul(seed | 1));
        prop_assert_eq!(answer, table(&shuffled).predict(0, &asked));
    }

    #[test]
    fn times_in_another_unit_give_the_same_answer_in_it(rows in some_rows(), factor in 1e-3f64..1e3) {
        let asked = point(300, 700, 900);
        let answer = table(&rows).predict(0, &asked).expect("there are rows");
        let scaled: Vec<Measured> = rows.iter().map(|(m, n, k, t)| (*m, *n, *k, t * factor)).collect();
        let other = table(&scaled).predict(0, &asked).expect("there are rows");
        for (one, other) in [(answer.duration_us, other.duration_us), (answer.low_us, other.low_us), (answer.high_us, other.high_us)] {
            prop_assert!((one * factor / other - 1.0).abs() < 1e-6, "{one} {other}");
        }
    }

    #[test]
    fn weights_add_up_to_one(rows in some_rows()) {
        let explained = table(&rows).explain(0, &point(300, 700, 900)).expect("there are rows");
        let sum: f64 = explained.neighbours.iter().map(|neighbour| neighbour.weight).sum();
        prop_assert!((sum - 1.0).abs() < 1e-6 || explained.method == perfdb_model::predict::Method::Plane, "{explained:?}");
    }
}

#[test]
fn rows_that_are_no_measurements_are_passed_over() {
    let mut rows = Rows::new(3);
    for (line, time_us) in [5.0, 0.0, -1.0, f64::NAN, f64::INFINITY].into_iter().enumerate() {
        rows.push(line as u32, &point(16 << line, 64, 64), time_us, None);
    }
    assert_eq!((rows.len(), rows.rejected()), (1, [1, 2, 3, 4].as_slice()));
    let answer = Table::new(vec![rows], Some(0)).predict(0, &point(32, 64, 64)).expect("one row is left");
    // A factor of three on either side, and room for a time that stays as it is or doubles with the work.
    let width = answer.high_us / answer.low_us;
    assert!((9.0..=18.0).contains(&width), "one row says little: {answer:?}");
    assert_eq!(Table::new(vec![Rows::new(3)], Some(0)).predict(0, &point(32, 64, 64)), None);
}

#[test]
fn repeats_are_one_row_with_their_median() {
    let answer = table(&[(16, 64, 64, 5.0), (16, 64, 64, 9.0), (16, 64, 64, 6.0)]).predict(0, &point(16, 64, 64));
    assert_eq!(answer.map(|answer| answer.duration_us), Some(6.0));
}

#[test]
fn a_row_far_from_its_neighbours_is_an_outlier() {
    let shape = |index: u32| (16 << (index / 24), 256 << (index / 4 % 6), 256 << (index % 4));
    let mut rows: Vec<Measured> = (0..192)
        .map(shape)
        .map(|(m, n, k)| (m, n, k, 3.0 + 2.0 * f64::from(m) * f64::from(n) * f64::from(k) / 3e8))
        .collect();
    rows[110].3 *= 50.0;
    let table = table(&rows);
    let (model, _) = table.model(0).expect("there are rows");
    let outliers: Vec<u32> = model.outliers().iter().map(|outlier| outlier.row).collect();
    assert!(outliers.contains(&110) && outliers.len() < 4, "{:?}", model.outliers());
}
