//! Small functions of the predictor, with numbers from a pocket calculator.

use perfdb_model::predict::plan::{farthest, in_steps, next, scores, spread};
use perfdb_model::predict::{
    Class, ColumnSet, Columns, Doubt, Model, Point, Rows, Table, Timed, configuration, log_deviation, measured_interval,
};

fn is_close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

#[test]
fn kinds_of_tables_have_names() {
    let named = [
        ("gemm", ColumnSet::MatMul),
        ("prefill_attention", ColumnSet::PrefillAttention),
        ("decode_attention", ColumnSet::DecodeAttention),
        ("mla", ColumnSet::LatentAttention),
        ("moe", ColumnSet::Experts),
        ("collective", ColumnSet::Collective),
        ("elementwise", ColumnSet::Elementwise),
        ("layers", ColumnSet::Layers),
        ("mixed_attention", ColumnSet::MixedAttention),
    ];
    for (name, columns) in named {
        assert_eq!(ColumnSet::named(name), Some(columns), "{name}");
    }
    assert_eq!(ColumnSet::named("MoE"), None);
}

#[test]
fn a_measured_interval_holds_nine_of_ten_repeats() {
    let found = measured_interval(Timed::Kernel, 50.0, Some(0.1));
    assert_eq!((found.duration_us, found.class), (50.0, Class::Measured));
    // 1.645 standard deviations to either side of the logarithm.
    let factor = (found.high_us / 50.0).ln();
    assert!((0.164..0.165).contains(&factor), "{factor}");
    assert!(is_close(found.low_us * found.high_us, 2500.0) && is_close(found.half_width(), factor.exp() - 1.0));
}

#[test]
fn without_a_deviation_short_kernels_and_collectives_are_less_sure() {
    let half = |timed, duration_us| {
        let found = measured_interval(timed, duration_us, None);
        assert!(is_close(found.low_us * found.high_us, duration_us * duration_us));
        (found.high_us / duration_us).ln()
    };
    let halves = [
        (Timed::Kernel, 19.99, 0.04),
        (Timed::Kernel, 20.0, 0.02),
        (Timed::Kernel, 3000.0, 0.02),
        (Timed::Collective, 9.0, 0.054),
        (Timed::Collective, 3000.0, 0.054),
    ];
    for (timed, duration_us, expected) in halves {
        assert!(is_close(half(timed, duration_us), expected), "{timed:?}, {duration_us} µs");
    }
    assert!(is_close(Timed::Collective.deviation(9.0) * 1.645, 0.054));
}

#[test]
fn the_deviation_of_a_logarithm_is_that_of_a_log_normal_time() {
    assert_eq!(log_deviation(0.0), 0.0);
    assert!(is_close(log_deviation(0.5), 0.472_380_727_077_439_3));
    assert!(is_close(log_deviation(0.01), 0.009_999_750_012_498_96));
}

#[test]
fn places_count_in_steps_of_the_grid() {
    // log2(1 + x) is 1, 2, 3 and 5: distances of 1, 1 and 2, whose median is one step.
    let points = [[1.0], [3.0], [7.0], [31.0]];
    let points: Vec<&[f64]> = points.iter().map(|point| &point[..]).collect();
    assert_eq!(in_steps(&points), [[1.0], [2.0], [3.0], [5.0]]);
}

#[test]
fn mixed_attention_counts_pairs_of_tokens_and_tokens_that_are_read() {
    struct Named<'n>(&'n [(&'n str, f64)]);
    impl Columns for Named<'_> {
        fn number(&self, column: &str) -> Option<f64> {
            self.0.iter().find(|(name, _)| *name == column).map(|(_, value)| *value)
        }
        fn text(&self, _: &str) -> Option<&str> {
            None
        }
    }
    let point = |columns: &[(&str, f64)]| ColumnSet::MixedAttention.point(&Named(columns)).expect("all columns");
    // Two requests of 4 tokens after 10: each token attends to 10, to half of its 4 and to itself.
    let requests = point(&[("batch", 2.0), ("query_tokens", 4.0), ("past_tokens", 10.0)]);
    assert_eq!((requests.work.operations, requests.work.bytes), (2.0 * 4.0 * 13.0, 2.0 * 15.0));
    // A chunk of 4 tokens after 10, and 3 requests that read 7 tokens and their own.
    let mixed = point(&[("prefill_chunk", 4.0), ("kv_prefill", 10.0), ("n_decode", 3.0), ("kv_decode", 7.0)]);
    assert_eq!((mixed.work.operations, mixed.work.bytes), (4.0 * 12.5 + 4.0, 3.0 * 8.0 + 14.0));
    assert_eq!(
        (mixed.axes.as_slice(), mixed.axes[ColumnSet::MixedAttention.size()]),
        (&[4.0, 10.0, 3.0, 7.0][..], 7.0)
    );
    assert_eq!((ColumnSet::DecodeAttention.size(), ColumnSet::Layers.size()), (1, 0));
}

#[test]
fn rows_vary_on_the_axes_on_which_they_differ() {
    let mut rows = Rows::new(2);
    (0..3).for_each(|row| rows.push(row, &Point::sizes(&[f64::from(1 + row), 64.0]), 5.0, None));
    assert_eq!([0, 1].map(|axis| rows.varies(axis)), [true, false]);
}

#[test]
fn rows_of_one_size_are_left_behind_by_larger_calls_alone() {
    let mut rows = Rows::new(2);
    (0..8).for_each(|row| {
        rows.push(row, &Point::sizes(&[64.0, f64::from(1 << row)]), 5.0 + f64::from(row), None);
    });
    let table = Table::new(vec![rows], Some(0));
    let class = |size: f64| {
        let point = Point { configuration: configuration(&[16.0]), ..Point::sizes(&[size, 20.0]) };
        table.predict(0, &point).map(|answer| answer.class)
    };
    assert_eq!([32.0, 64.0, 128.0].map(class), [Some(Class::Inside), Some(Class::Inside), Some(Class::Beyond)]);
}

#[test]
fn a_score_is_sigma_times_the_fourth_root_of_the_disagreement() {
    let doubt = |sigma, disagreement| Doubt { sigma, disagreement, coordinates: Default::default(), slice_row: 0 };
    // A fifth of the median of 5 is common to all: fourth roots of 1, 1, 6, 16 and 81.
    let doubts = [doubt(2.0, 0.0), doubt(1.0, 0.0), doubt(3.0, 5.0), doubt(0.5, 15.0), doubt(1.0, 80.0)];
    let expected = [2.0, 1.0, 3.0 * 6f64.sqrt().sqrt(), 1.0, 3.0];
    for (score, expected) in scores(&doubts.iter().collect::<Vec<_>>()).into_iter().zip(expected) {
        assert!((score - expected).abs() < 1e-5, "{score} instead of {expected}");
    }
}

/// What `plan::next` chooses by what the model is unsure of, and by distance alone.
fn both_ways(known: &Rows, at: &[f64], open: &[Point], count: usize) -> [Vec<usize>; 2] {
    let model = Model::build(vec![known.clone()], Some(0)).expect("rows");
    let doubts: Vec<Doubt> = open.iter().map(|point| model.doubt(0, point).expect("a point")).collect();
    let coordinates: Vec<&[f64]> = doubts.iter().map(|doubt| doubt.coordinates.as_slice()).collect();
    let by_doubt = spread(&scores(&doubts.iter().collect::<Vec<_>>()), &coordinates, count);
    let all: Vec<&[f64]> = at.chunks(1).chain(open.iter().map(|point| point.axes.as_slice())).collect();
    let steps = in_steps(&all);
    [by_doubt, farthest(&steps[..at.len()], &steps[at.len()..], count)]
}

#[test]
fn doubt_counts_once_eight_rows_and_a_tenth_of_all_are_known() {
    // Sizes an octave apart; the larger half jumps up and down.
    let sizes = |known: usize| -> Vec<f64> { (0..known).map(|row| f64::from(1 << row)).collect() };
    let rows = |known: usize| {
        let mut rows = Rows::new(1);
        for (row, size) in sizes(known).into_iter().enumerate() {
            let jump = if row > 4 { 1.0 + 2.0 * (row % 2) as f64 } else { 1.0 };
            rows.push(row as u32, &Point::sizes(&[size]), (3.0 + size / 10.0) * jump, None);
        }
        rows
    };
    let open = |count: usize| -> Vec<Point> {
        (0..count).map(|at| Point::sizes(&[1.5 * (at as f64 * 7.0 / count as f64).exp2()])).collect()
    };
    for (known, count, is_by_doubt) in [(7, 12, false), (8, 12, true), (9, 90, false), (10, 90, true)] {
        let (rows, open) = (rows(known), open(count));
        let ways = both_ways(&rows, &sizes(known), &open, 3);
        assert_ne!(ways[0], ways[1]);
        assert_eq!(next(&rows, &open, Some(0), 3), ways[usize::from(!is_by_doubt)], "{known} of {}", known + count);
    }
}
