//! What holds for any times.

use perfdb_model::statistics::{Limits, Series, Verdict, estimate, judge};
use proptest::prelude::*;

fn series(times: &[f64]) -> Series {
    let mut series = Series::default();
    for (at, time) in times.iter().enumerate() {
        series.push(*time, at as u32 % 2, at as u32 / 8);
    }
    series
}

proptest! {
    #[test]
    fn the_same_times_are_the_same(times in prop::collection::vec(1.0..1e6_f64, 8..200)) {
        let one = series(&times);
        let found = judge(&[estimate([&one, &one], [3.0, 3.0], true)], &Limits::default())[0];
        prop_assert_eq!(found.verdict, Verdict::Same);
        prop_assert_eq!(found.ratio, Some(1.0));
    }

    #[test]
    fn exchanged_traces_have_the_mirrored_verdict(
        first in prop::collection::vec(50.0..60.0_f64, 8..80),
        second in prop::collection::vec(40.0..70.0_f64, 8..80),
        same_calls in any::<bool>(),
    ) {
        let sides = [series(&first), series(&second)];
        let divisors = [first.len() as f64, second.len() as f64];
        let there = judge(&[estimate([&sides[0], &sides[1]], divisors, same_calls)], &Limits::default())[0];
        let back =
            judge(&[estimate([&sides[1], &sides[0]], [divisors[1], divisors[0]], same_calls)], &Limits::default())[0];
        let mirrored = match there.verdict {
            Verdict::Slower => Verdict::Faster,
            Verdict::Faster => Verdict::Slower,
            other => other,
        };
        prop_assert_eq!(back.verdict, mirrored);
        prop_assert_eq!((there.interval.is_some(), there.reason), (back.interval.is_some(), back.reason));
        if let (Some([low, high]), Some([from, to])) = (there.interval, back.interval) {
            prop_assert!((low * to - 1.0).abs() < 1e-9 && (high * from - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn units_do_not_matter(times in prop::collection::vec(1.0..3.0_f64, 16..64), unit in 1e-6..1e6_f64) {
        let (one, other) = times.split_at(times.len() / 2);
        let scaled = |times: &[f64]| series(&times.iter().map(|time| time * unit).collect::<Vec<f64>>());
        let of = |first: &Series, second: &Series| estimate([first, second], [1.0, 1.0], false).expect("enough");
        let (plain, scaled) = (of(&series(one), &series(other)), of(&scaled(one), &scaled(other)));
        prop_assert!((plain.log_ratio - scaled.log_ratio).abs() < 1e-9);
        prop_assert!((plain.standard_error / scaled.standard_error - 1.0).abs() < 1e-6);
    }
}

#[test]
fn too_few_calls_tell_nothing() {
    let few = series(&[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(estimate([&few, &few], [1.0, 1.0], false), None);
    let empty = Series::default();
    assert_eq!(estimate([&empty, &empty], [1.0, 1.0], true), None);
    let nothing = judge(&[None], &Limits::default())[0];
    assert_eq!((nothing.verdict, nothing.detectable_percent), (Verdict::CannotTell, None));
}

#[test]
fn calls_of_one_kind_each_tell_nothing() {
    let mut series = Series::default();
    (0..40).for_each(|at| series.push(1.0 + f64::from(at), at, 0));
    assert_eq!(estimate([&series, &series], [1.0, 1.0], false), None);
}

/// Rounds of so many calls, each longer by its factor.
fn rounds(mut series: Series, rounds: &[(u32, f64)]) -> Series {
    for (number, (calls, factor)) in (0..).zip(rounds) {
        (0..*calls).for_each(|call| series.push(factor * (100.0 + f64::from(call * 7 % 5)), 0, number));
    }
    series
}

#[test]
fn uneven_clusters_differ_by_their_calls_and_not_by_their_number() {
    let of = |first: &[(u32, f64)], second: &[(u32, f64)]| {
        let sides = [first, second].map(|sizes| rounds(Series::of_uneven_clusters(), sizes));
        let counts = sides.each_ref().map(|series| series.len() as f64);
        let found = estimate([&sides[0], &sides[1]], counts, false);
        (found.expect("enough").by_cluster, judge(&[found], &Limits::default())[0].verdict)
    };
    assert_eq!(of(&[(100, 1.0), (60, 1.0)], &[(100, 1.0), (60, 1.0)]), (false, Verdict::Same));
    assert_eq!(of(&[(100, 1.0), (60, 1.05)], &[(100, 1.0), (60, 1.0)]), (false, Verdict::CannotTell));
    // From five rounds on, they are the samples.
    let many = |slow: f64| [(40, 1.0), (30, slow), (40, 1.0), (20, slow), (40, 1.0)];
    assert_eq!(of(&many(1.05), &many(1.0)), (true, Verdict::CannotTell));
}
