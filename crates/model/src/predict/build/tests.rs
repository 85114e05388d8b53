//! What leaving rows out one by one tells.

use super::*;
use crate::predict::{Attention, Class, Collective, MatMul, Operands, Point, Precision};

/// Forty-one sizes, each a quarter octave from the next, whose times go up and down by a hundredth; one takes five times as long.
fn with_outlier(outlier: u32) -> Model {
    let mut rows = Rows::new(1);
    for row in 0..41 {
        let size = 64.0 * (f64::from(row) / 4.0).exp2();
        let noise = 1.0 + f64::from(row * 7 % 5) / 200.0;
        let time_us = (3.0 + size / 10.0) * if row == outlier { 5.0 } else { noise };
        rows.push(row, &Point::sizes(&[size]), time_us, None);
    }
    Model::build(vec![rows], Some(0)).expect("rows")
}

/// The squares of what rows are missed by, in units of the variance, before they are cut.
fn uncut(model: &Model) -> Vec<f64> {
    let of_row = |row: u32| {
        let (_, kriged) = model.without(row);
        let residual = kriged.value - model.residuals[row as usize];
        residual * residual / kriged.variance
    };
    (0..model.len() as u32).map(of_row).collect()
}

fn assert_close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-5, "{found} instead of {expected}");
}

#[test]
fn difficulties_are_cut_where_one_in_fifty_lies_above() {
    let model = with_outlier(20);
    let mut sorted = uncut(&model);
    sorted.sort_unstable_by(f64::total_cmp);
    // 98 % of the way from the first of 41 to the last: between the 40th and the 41st.
    let cut = sorted[39] + 0.2 * (sorted[40] - sorted[39]);
    assert_close(model.hardest, cut);
    for (difficulty, uncut) in model.difficulty.iter().zip(uncut(&model)) {
        assert_close(f64::from(*difficulty) + 1e-12, uncut.min(cut) + 1e-12);
    }
    assert_close(model.typical, sorted.iter().map(|one| one.min(cut)).sum::<f64>() / 41.0);
}

#[test]
fn an_outlier_is_measured_in_units_of_what_most_rows_are_missed_by() {
    let mut model = with_outlier(20);
    let [outlier] = *model.outliers() else { panic!("{:?}", model.outliers()) };
    let size = 64.0 * 32.0;
    assert_eq!((outlier.row, outlier.measured_us), (20, 5.0 * (3.0 + size / 10.0)));
    assert!((outlier.predicted_us / (3.0 + size / 10.0) - 1.01).abs() < 0.02, "{outlier:?}");
    let own = model.row_numbers.iter().position(|row| *row == 20).expect("the row") as u32;
    // It is judged by its own duration, which it then does not count as.
    let judged = model.own_value(own);
    assert!((judged - model.residuals[own as usize] - 5.0_f64.ln()).abs() < 0.02, "{judged}");
    model.residuals[own as usize] = judged;
    model.moved.clear();
    let (near, kriged) = model.without(own);
    let squares = uncut(&model);
    let mut sorted = squares.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    // Three of four squares of a normal distribution lie below 1.323 of its variance, half of them below 0.455.
    let most = sorted[30] / 1.323;
    let around = median(near.rows().iter().map(|row| squares[*row as usize]).collect()) / 0.455;
    let residual = kriged.value - model.residuals[own as usize];
    let sigma = (kriged.variance * most.max(around)).sqrt().max(0.02 / 1.645);
    assert_close(outlier.sigmas, residual.abs() / sigma);
    assert!(with_outlier(99).outliers().is_empty());
}

/// Prompts with a window of 128 tokens that take as long as those with this one, up to 8,192 tokens.
fn windowed(takes: f64) -> Model {
    let call = |batch: f64, tokens: f64, window: f64| Attention {
        batch,
        tokens,
        heads: 16.0,
        kv_heads: 8.0,
        head_size: 64.0,
        window,
    };
    let mut rows = Rows::new(4);
    for row in 0..40 {
        let (batch, tokens) = (f64::from(1 << (row / 10)), f64::from(16 << (row % 10)));
        let time_us = 6.0 + call(batch, tokens, takes).prefill().operations / 2e7;
        rows.push(row, &Point::prefill(call(batch, tokens, 128.0)), time_us, None);
    }
    let model = Model::build(vec![rows], Some(1)).expect("rows");
    let longer = Point::prefill(call(2.0, 16_384.0, 128.0));
    let truth = 6.0 + call(2.0, 16_384.0, takes).prefill().operations / 2e7;
    let answer = model.predict(0, &longer).expect("an answer");
    assert!((answer.duration_us / truth).ln().abs() < 0.05, "{answer:?} {truth}");
    model
}

#[test]
fn what_a_window_spares_is_learnt() {
    assert_eq!(windowed(128.0).does_other, [false]);
    assert_eq!(windowed(0.0).does_other, [true]);
}

#[test]
fn what_a_message_counts_is_learnt() {
    let call = |size: i32, ranks: f64| Collective { message_bytes: f64::from(1 << size), ranks };
    let slice = |parts: bool, start: u32| {
        let mut rows = Rows::new(2);
        for row in 0..8 {
            let call = call(12 + 2 * row, if row % 2 == 0 { 2.0 } else { 4.0 });
            let bytes = call.message_bytes * (call.ranks - 1.0) / if parts { 1.0 } else { call.ranks };
            rows.push(start + row as u32, &Point::gather(call), 10.0 + call.ranks + bytes / 1e4, None);
        }
        rows
    };
    let model = Model::build(vec![slice(true, 0), slice(false, 100)], Some(0)).expect("rows");
    assert_eq!(model.does_other, [true, false]);
    let of = |slice: usize| model.predict(slice, &Point::gather(call(26, 2.0))).expect("an answer").duration_us;
    assert!((of(0) / of(1) / 2.0).ln().abs() < 0.1, "{} {}", of(0), of(1));
}

#[test]
fn a_configuration_of_another_slice_is_new() {
    let point = |size: i32, ranks: f64| Point::collective(Collective { message_bytes: f64::from(1 << size), ranks });
    let slice = |ranks: &[f64], start: u32| {
        let mut rows = Rows::new(2);
        for (index, ranks) in ranks.iter().enumerate() {
            for row in 0..8u32 {
                let time_us = 10.0 + ranks + f64::from(1 << row);
                rows.push(start + 8 * index as u32 + row, &point(10 + row as i32, *ranks), time_us, None);
            }
        }
        rows
    };
    let model = Model::build(vec![slice(&[2.0, 4.0, 8.0], 0), slice(&[2.0, 8.0], 100)], Some(0)).expect("rows");
    let class = |slice: usize| model.predict(slice, &point(12, 4.0)).expect("an answer").class;
    assert_eq!([class(0), class(1)], [Class::Measured, Class::NewConfiguration]);
}

#[test]
fn no_interval_is_wider_than_the_rows_differ() {
    let point = Point::sizes(&[100.0]);
    let half_width = |mut model: Model| {
        // As if rows that tell each other had been missed by many of their deviations.
        model.typical = 1e12;
        let found = model.predict(0, &point).expect("a slice");
        (found.high_us / found.low_us).ln() / 2.0
    };
    assert_close(half_width(with_outlier(41)), FEWEST_HALF_WIDTH);
    let mut wide = with_outlier(41);
    (wide.residuals[0], wide.residuals[1]) = (-1.0, 1.5);
    wide.widest = wide.widest_half_width();
    assert_close(half_width(wide), 2.5);
}

/// Products of sizes in pairs, with a tile more for the larger one, over a grid of columns and inner sizes.
fn assert_between_pairs(grid: &[f64]) {
    let time_us = |size: f64, columns: f64, inner: f64| 2.0 + (size / 256.0).ceil() * columns * inner / 4e5;
    let product = |rows, columns, inner| Point::matmul(MatMul { rows, columns, inner }, Operands::of(Precision::Bf16));
    let mut rows = Rows::new(3);
    for (columns, inner) in grid.iter().flat_map(|columns| grid.iter().map(|inner| (*columns, *inner))) {
        for size in [256.0, 257.0, 512.0, 513.0, 1024.0, 1025.0, 2048.0, 2049.0, 4096.0, 4097.0] {
            let number = rows.len() as u32;
            rows.push(number, &product(size, columns, inner), time_us(size, columns, inner), None);
        }
    }
    let model = Model::build(vec![rows], Some(0)).expect("rows");
    for (below, above) in [(257.0, 512.0), (513.0, 1024.0), (1025.0, 2048.0), (2049.0, 4096.0)] {
        for (columns, inner) in [(2048.0, 4096.0), (3072.0, 3072.0), (8192.0, 1024.0)] {
            let ends = [below, above].map(|size| time_us(size, columns, inner));
            let size = (below * above).sqrt().round();
            let found = model.predict(0, &product(size, columns, inner)).expect("a slice").duration_us;
            assert!(ends[0] * 0.9 < found && found < ends[1] * 1.1, "{size} {columns} {inner}: {found}, {ends:?}");
        }
    }
}

#[test]
fn sizes_between_measured_pairs_take_what_their_neighbours_do() {
    assert_between_pairs(&[1024.0, 2048.0, 3072.0, 8192.0]);
    assert_between_pairs(&[512.0, 1024.0, 2048.0, 3072.0, 4096.0, 6144.0, 8192.0, 12288.0]);
}
