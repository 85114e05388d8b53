//! Small functions of the predictor, with numbers from a pocket calculator.

use perfdb_predict::plan::in_steps;
use perfdb_predict::{Class, Family, log_deviation, measured_interval};

fn is_close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

#[test]
fn families_have_the_names_of_tables() {
    let named = [
        ("gemm", Family::MatMul),
        ("prefill_attention", Family::PrefillAttention),
        ("decode_attention", Family::DecodeAttention),
        ("mla", Family::LatentAttention),
        ("moe", Family::Experts),
        ("collective", Family::Collective),
        ("elementwise", Family::Elementwise),
        ("layers", Family::Layers),
        ("mixed_attention", Family::MixedAttention),
    ];
    for (name, family) in named {
        assert_eq!(Family::named(name), Some(family), "{name}");
    }
    assert_eq!(Family::named("MoE"), None);
}

#[test]
fn a_measured_interval_holds_nine_of_ten_repeats() {
    let found = measured_interval(50.0, Some(0.1));
    assert_eq!((found.duration_us, found.class), (50.0, Class::Measured));
    // 1.645 standard deviations to either side of the logarithm.
    let factor = (found.high_us / 50.0).ln();
    assert!((0.164..0.165).contains(&factor), "{factor}");
    assert!(is_close(found.low_us * found.high_us, 2500.0) && is_close(found.half_width(), factor.exp() - 1.0));
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
    let places = [[1.0], [3.0], [7.0], [31.0]];
    let places: Vec<&[f64]> = places.iter().map(|place| &place[..]).collect();
    assert_eq!(in_steps(&places), [[1.0], [2.0], [3.0], [5.0]]);
}
