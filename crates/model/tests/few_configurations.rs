//! Where rows of equal work, or two configurations, are all that is known.

use perfdb_model::predict::{Attention, Class, Point, Rows, Table};

/// An elementwise kernel: a cache that holds a million elements, beyond which each takes four times as long.
fn elementwise_us(rows: f64, columns: f64) -> f64 {
    let elements = rows * columns;
    2.0 + elements.min(1e6) / 1e5 + (elements - 1e6).max(0.0) * 4.0 / 1e5
}

#[test]
fn a_cache_that_overflows_is_known_from_other_columns() {
    let point = |rows: f64, columns: f64, couples: bool| {
        let point = Point::elementwise(rows, columns, 3.0);
        if couples { point } else { Point { coupling: &[], ..point } }
    };
    let sizes: Vec<f64> = (0..12).map(|power| f64::from(1 << power)).collect();
    let columns: Vec<f64> = (0..7).map(|power| f64::from(256 << power)).collect();
    let worst = |couples: bool| {
        let mut measured = Rows::new(2);
        for rows in &sizes {
            for columns in &columns {
                measured.push(
                    measured.len() as u32,
                    &point(*rows, *columns, couples),
                    elementwise_us(*rows, *columns),
                    None,
                );
            }
        }
        let table = Table::new(vec![measured], Some(0));
        // Larger than all rows; other columns have calls of as many elements.
        let errors = columns[..5].iter().map(|columns| {
            let answer = table.predict(0, &point(4096.0, *columns, couples)).expect("an answer");
            assert_eq!(answer.class, Class::Beyond);
            (answer.duration_us / elementwise_us(4096.0, *columns)).ln().abs()
        });
        errors.fold(0.0, f64::max)
    };
    let (coupled, uncoupled) = (worst(true), worst(false));
    assert!(coupled < 0.1 && uncoupled > 2.0 * coupled, "{coupled} {uncoupled}");
}

#[test]
fn two_configurations_tell_that_a_third_is_uncertain() {
    // How much of the time goes down with ranks is not what a roofline says.
    let time_us = |tokens: f64, ranks: f64| 4.0 + tokens / 50.0 / f64::powf(ranks, 0.8);
    let sizes: Vec<f64> = (0..40).map(|step| 32.0 * f64::from(step + 1)).collect();
    let mut measured = Rows::new(2);
    for ranks in [1.0, 8.0] {
        for tokens in &sizes {
            measured.push(measured.len() as u32, &Point::layer(*tokens, ranks), time_us(*tokens, ranks), None);
        }
    }
    let table = Table::new(vec![measured], Some(0));
    let half_width = |ranks: f64| {
        let answer = table.predict(0, &Point::layer(500.0, ranks)).expect("an answer");
        assert_eq!(answer.class, if ranks == 8.0 { Class::Inside } else { Class::NewConfiguration });
        answer.half_width()
    };
    let (known, new) = (half_width(8.0), half_width(2.0));
    assert!(new > 20.0 * known, "{known} {new}");
}

#[test]
fn five_rows_tell_a_factor_of_four() {
    let call = |batch: f64, tokens: f64, heads: f64| {
        Point::decode(Attention { batch, tokens, heads, kv_heads: heads, head_size: 128.0, window: 0.0 }, 2.0)
    };
    let mut measured = Rows::new(4);
    for (batch, tokens, heads, us) in [
        (128.0, 1023.0, 64.0, 6066.2),
        (128.0, 1023.0, 48.0, 4575.2),
        (64.0, 1023.0, 64.0, 3046.5),
        (128.0, 511.0, 64.0, 2966.5),
        (128.0, 1023.0, 40.0, 3804.2),
    ] {
        measured.push(measured.len() as u32, &call(batch, tokens, heads), us, None);
    }
    // More tokens than any row has, and a third of the least caches.
    let answer = Table::new(vec![measured], Some(1)).predict(0, &call(32.0, 2047.0, 40.0)).expect("an answer");
    assert_eq!(answer.class, Class::Beyond);
    assert!(answer.half_width() < 3.0, "{answer:?}");
}

#[test]
fn a_slice_without_rows_is_a_new_configuration() {
    let mut measured = Rows::new(2);
    for rows in (0..12).map(|power| f64::from(1 << power)) {
        for columns in (0..5).map(|power| f64::from(256 << power)) {
            let point = Point::elementwise(rows, columns, 3.0);
            measured.push(measured.len() as u32, &point, elementwise_us(rows, columns), None);
        }
    }
    let table = Table::new(vec![measured, Rows::new(2)], Some(0));
    // A row of the other slice.
    let point = Point::elementwise(64.0, 512.0, 3.0);
    let classes = [0, 1].map(|slice| table.predict(slice, &point).map(|answer| answer.class));
    assert_eq!(classes, [Some(Class::Measured), Some(Class::NewConfiguration)]);
}

#[test]
fn a_slice_without_rows_changes_nothing_of_the_others() {
    let answer = |is_first: bool| {
        let mut measured = Rows::new(2);
        for rows in (0..12).map(|power| f64::from(1 << power)) {
            for columns in (0..5).map(|power| f64::from(256 << power)) {
                let point = Point::elementwise(rows, columns, 3.0);
                measured.push(measured.len() as u32, &point, elementwise_us(rows, columns), None);
            }
        }
        let (slices, slice) =
            if is_first { (vec![measured, Rows::new(2)], 0) } else { (vec![Rows::new(2), measured], 1) };
        let table = Table::new(slices, Some(0));
        table.predict(slice, &Point::elementwise(4096.0, 1024.0, 3.0)).map(|answer| answer.duration_us)
    };
    assert!(answer(true).is_some());
    assert_eq!(answer(true), answer(false));
}
