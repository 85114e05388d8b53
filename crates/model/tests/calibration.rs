//! How often verdicts are wrong, and how often they find what was planted, over many generated reports.

use perfdb_model::statistics::{
    Estimate, Limits, RunVariation, Series, Verdict, allow_for_runs, block_length, estimate, estimate_of_passes,
    estimate_with_drift, judge, judge_headline, variance_of_sum,
};

/// SplitMix64: the same draws everywhere.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Between 0 and 1, neither of them.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Numbers of passes and of layers in each, and how long the two calls of a layer take.
type Size = ([u32; 2], [f64; 2]);

/// Two products of different size in each layer.
const UNEQUAL: [f64; 2] = [80.0, 240.0];
/// Two reductions of one size.
const EQUAL: [f64; 2] = [40.0, 40.0];

/// What makes calls differ.
#[derive(Clone, Copy, Default)]
struct Noise {
    /// Coefficient of variation of a call.
    call: f64,
    /// Of a forward pass as a whole.
    pass: f64,
    /// How much of a call's deviation the next one inherits.
    memory: f64,
    /// Share of calls that take twice as long.
    interrupted: f64,
}

/// Calls of one operation: so many passes of so many layers, two calls of these lengths in each.
fn series(draws: &mut Draws, ([passes, layers], lengths): Size, noise: Noise, scale: f64) -> Series {
    let mut series = Series::default();
    let mut deviation = 0.0;
    for pass in 0..passes {
        let common = noise.pass * draws.normal();
        for _ in 0..layers {
            for (point, time) in lengths.into_iter().enumerate() {
                let fresh = (1.0 - noise.memory * noise.memory).sqrt() * noise.call * draws.normal();
                deviation = noise.memory * deviation + fresh;
                let longer = if draws.uniform() < noise.interrupted { 2.0 } else { 1.0 };
                series.push(scale * longer * time * (1.0 + common + deviation), point as u32, pass);
            }
        }
    }
    series
}

fn compare(draws: &mut Draws, size: Size, noise: Noise, ratio: f64) -> Option<Estimate> {
    let [first, second] = [1.0, ratio].map(|scale| series(draws, size, noise, scale));
    estimate([&first, &second], [f64::from(size.0[0]); 2], true)
}

/// Reports with any false verdict, of `reports` with operations of all these kinds.
fn false_alarms(seed: u64, reports: u32, kinds: &[Noise], size: Size) -> u32 {
    let mut draws = Draws(seed);
    (0..reports)
        .filter(|_| {
            let estimates: Vec<_> = kinds.iter().map(|noise| compare(&mut draws, size, *noise, 1.0)).collect();
            let judgements = judge(&estimates, &Limits::default());
            judgements.iter().any(|found| matches!(found.verdict, Verdict::Slower | Verdict::Faster))
        })
        .count() as u32
}

/// How many of `count` something of this probability may happen at most, by chance alone in 99 of 100 tests.
fn at_most(rate: f64, count: u32) -> u32 {
    let (count, deviations) = (f64::from(count), 2.326);
    (count * rate + deviations * (count * rate * (1.0 - rate)).sqrt()).floor() as u32
}

/// How many of `count` something of this probability must happen at least.
fn at_least(rate: f64, count: u32) -> u32 {
    count - at_most(1.0 - rate, count)
}

#[test]
fn one_report_in_a_hundred_at_most_has_a_false_alarm() {
    const REPORTS: u32 = 400;
    let kinds = [0.002, 0.01, 0.025, 0.03, 0.05, 0.1, 0.2, 0.3].map(|call| Noise { call, ..Noise::default() });
    let sizes = [[4, 4], [5, 16], [8, 4], [24, 2], [1, 24]].map(|size| (size, UNEQUAL));
    let sizes = sizes.into_iter().chain([([4, 4], EQUAL)]);
    let alarms: Vec<u32> = sizes.map(|size| false_alarms(7, REPORTS, &kinds, size)).collect();
    assert!(alarms.iter().sum::<u32>() <= at_most(0.01, 6 * REPORTS), "{alarms:?} of {REPORTS} each");
    assert!(alarms.iter().all(|alarms| *alarms <= at_most(0.018, REPORTS)), "{alarms:?} of {REPORTS} each");
}

#[test]
fn calls_that_depend_on_each_other_raise_few_alarms() {
    let kind = |call, pass, memory, interrupted| Noise { call, pass, memory, interrupted };
    let kinds = [
        kind(0.02, 0.0, 0.0, 0.01),
        kind(0.02, 0.02, 0.0, 0.0),
        kind(0.05, 0.05, 0.0, 0.02),
        kind(0.02, 0.0, 0.6, 0.0),
        kind(0.05, 0.0, 0.3, 0.0),
        kind(0.02, 0.01, 0.5, 0.01),
    ];
    const REPORTS: u32 = 100;
    let alarms = [[5, 16], [8, 8], [24, 2]].map(|size| false_alarms(7, REPORTS, &kinds, (size, UNEQUAL)));
    // As independent ones they would give more than 60 of each 100.
    assert!(alarms.iter().sum::<u32>() <= at_most(0.04, 3 * REPORTS), "{alarms:?} of {REPORTS} each");
}

/// How often an operation that is 3 % slower or faster is found among others, of `reports`.
fn found(reports: u32, call: f64, size: Size) -> u32 {
    let others = [0.005, 0.02, 0.05, 0.1, 0.2].map(|call| Noise { call, ..Noise::default() });
    let planted = Noise { call, ..Noise::default() };
    let mut draws = Draws(11);
    (0..reports)
        .filter(|report| {
            let ratio = if report % 2 == 0 { 1.03 } else { 1.0 / 1.03 };
            let mut estimates = vec![compare(&mut draws, size, planted, ratio)];
            estimates.extend(others.iter().map(|noise| compare(&mut draws, size, *noise, 1.0)));
            let expected = if ratio > 1.0 { Verdict::Slower } else { Verdict::Faster };
            judge(&estimates, &Limits::default())[0].verdict == expected
        })
        .count() as u32
}

#[test]
fn three_percent_are_found_in_40_calls_that_vary_by_at_most_two_and_a_half() {
    for (call, reports) in [(0.01, 50), (0.02, 50), (0.025, 200)] {
        let found = [[8, 8], [10, 4], [1, 20]].map(|size| found(reports, call, (size, EQUAL)));
        assert!(found.iter().sum::<u32>() >= at_least(0.95, 3 * reports), "{call}: {found:?} of {reports} each");
    }
    for size in [([8, 4], EQUAL), ([8, 8], UNEQUAL), ([1, 24], EQUAL)] {
        let found = found(100, 0.025, size);
        assert!(found >= at_least(0.97, 100), "{size:?}: {found} of 100");
    }
}

#[test]
fn noise_that_hides_a_difference_is_never_called_the_same() {
    let mut draws = Draws(3);
    let noise = Noise { call: 0.3, ..Noise::default() };
    let reports = || judge(&[compare(&mut draws, ([5, 8], UNEQUAL), noise, 1.03)], &Limits::default())[0];
    let found: Vec<_> = std::iter::repeat_with(reports).take(100).collect();
    assert!(found.iter().all(|found| !matches!(found.verdict, Verdict::Same)));
    assert!(found.iter().filter(|found| found.verdict == Verdict::CannotTell).count() >= 95);
    assert!(found.iter().all(|found| found.detectable_percent.is_some_and(|percent| percent > 10.0)));
}

#[test]
fn the_smallest_detectable_difference_is_detected_19_times_of_20() {
    let noise = Noise { call: 0.06, ..Noise::default() };
    let size = ([1, 48], EQUAL);
    let mut draws = Draws(5);
    let detectable = |draws: &mut Draws| {
        let found = judge(&[compare(draws, size, noise, 1.0)], &Limits::default())[0];
        found.detectable_percent.expect("enough calls")
    };
    let mut all: Vec<f64> = (0..99).map(|_| detectable(&mut draws)).collect();
    all.sort_by(f64::total_cmp);
    let ratio = 1.0 + all[49] / 100.0;
    let slower = |draws: &mut Draws| {
        judge(&[compare(draws, size, noise, ratio)], &Limits::default())[0].verdict == Verdict::Slower
    };
    let found = (0..300).filter(|_| slower(&mut draws)).count() as u32;
    // Some runs vary by chance more than this one, and are judged with more caution.
    assert!((at_least(0.95, 300)..=at_most(0.95, 300)).contains(&found), "{found} of 300");
}

#[test]
fn intervals_hold_as_often_as_they_say() {
    let missed = |memory: f64| {
        let noise = Noise { call: 0.05, memory, ..Noise::default() };
        let mut draws = Draws(17);
        let misses = |draws: &mut Draws| {
            let found = judge(&[compare(draws, ([4, 12], UNEQUAL), noise, 1.2)], &Limits::default())[0];
            found.interval.is_none_or(|[low, high]| !(low..=high).contains(&1.2))
        };
        (0..300).filter(|_| misses(&mut draws)).count() as u32
    };
    let missed = [0.0, 0.4].map(missed);
    assert!(missed[0] <= at_most(0.01, 300), "{missed:?} of 300");
    // As independent ones they would miss it in more than 100 of 1000.
    assert!(missed[1] <= at_most(0.04, 300), "{missed:?} of 300");
}

#[test]
fn drawn_resamples_come_to_the_variance_in_the_limit() {
    let mut draws = Draws(23);
    let mut values = Vec::new();
    for _ in 0..60 {
        values.push(0.7 * values.last().copied().unwrap_or(0.0) + draws.normal());
    }
    let mean = values.iter().sum::<f64>() / 60.0;
    values.iter_mut().for_each(|value| *value -= mean);
    for length in [1, 4, 6] {
        let sum_of_resample = |draws: &mut Draws| -> f64 {
            let block = |draws: &mut Draws| -> f64 {
                let start = (draws.next() % 60) as usize;
                (0..length).map(|at| values[(start + at) % 60]).sum()
            };
            (0..60 / length).map(|_| block(draws)).sum()
        };
        let squares: f64 = (0..20_000).map(|_| sum_of_resample(&mut draws).powi(2)).sum::<f64>() / 20_000.0;
        let limit = variance_of_sum(&values, length);
        assert!((squares / limit - 1.0).abs() < 0.03, "{length}: {squares} instead of {limit}");
    }
}

#[test]
fn blocks_grow_with_the_memory_of_a_series() {
    let mut draws = Draws(29);
    let mut length = |memory: f64| {
        let mut value = 0.0;
        let values: Vec<f64> = (0..2000)
            .map(|_| {
                value = memory * value + draws.normal();
                value
            })
            .collect();
        block_length(&values)
    };
    let lengths = [0.0, 0.3, 0.6, 0.9].map(&mut length);
    assert!(lengths[0] <= 2 && lengths.is_sorted() && lengths[3] > 20, "{lengths:?}");
    assert_eq!(block_length(&[]), 1);
    assert_eq!(block_length(&[1.0; 40]), 11, "a constant never forgets");
}

/// A made-up report: passes of eight layers with four operations, whose calls vary by 3 % and whose passes all together by `drift`.
/// Each trace is as the second one of a run that is off by `run`. The verdict on the whole comes first.
fn report(
    draws: &mut Draws,
    runs: RunVariation,
    passes: u32,
    drift: f64,
    run: f64,
    slower: f64,
) -> Vec<perfdb_model::statistics::Judgement> {
    const OPERATIONS: [f64; 4] = [20.0, 12.0, 6.0, 4.0];
    let side = |draws: &mut Draws, slower: f64| {
        let mut operations: [Series; 4] = Default::default();
        let mut whole = Series::default();
        let off = 1.0 + run * draws.normal();
        for pass in 0..passes {
            let common = off * (1.0 + drift * draws.normal());
            let mut elapsed = 0.0;
            for _ in 0..8 {
                for (at, (time, series)) in OPERATIONS.iter().zip(&mut operations).enumerate() {
                    let scale = if at == 1 { slower } else { 1.0 };
                    let time = scale * time * common * (1.0 + 0.03 * draws.normal());
                    series.push(time, 0, pass);
                    elapsed += time;
                }
            }
            whole.push(elapsed, 0, pass);
        }
        (operations, whole)
    };
    let (first, second) = (side(draws, 1.0), side(draws, slower));
    let divisors = [f64::from(passes); 2];
    let drifts = [&first.0, &second.0].map(|operations| perfdb_model::statistics::drift(&operations.each_ref()));
    let mut rows: Vec<Option<Estimate>> =
        (0..4).map(|at| estimate_with_drift([&first.0[at], &second.0[at]], divisors, true, drifts)).collect();
    allow_for_runs(&mut rows, &OPERATIONS, runs);
    let whole = estimate_of_passes([&first.1, &second.1], runs);
    let mut all = vec![judge_headline(whole.as_ref(), &Limits::default())];
    all.extend(judge(&rows, &Limits::default()));
    all
}

fn is_alarm(found: &perfdb_model::statistics::Judgement) -> bool {
    matches!(found.verdict, Verdict::Slower | Verdict::Faster)
}

/// Reports with a false verdict, of so many.
fn alarms(reports: u32, passes: u32, drift: f64, run: f64) -> u32 {
    alarms_where(usual(), reports, passes, drift, run)
}

fn alarms_where(runs: RunVariation, reports: u32, passes: u32, drift: f64, run: f64) -> u32 {
    let mut draws = Draws(41);
    (0..reports).filter(|_| report(&mut draws, runs, passes, drift, run, 1.0).iter().any(is_alarm)).count() as u32
}

/// What is assumed of runs.
fn usual() -> RunVariation {
    RunVariation::of_percent(2.0)
}

const DRIFTS: [f64; 5] = [0.0, 0.005, 0.01, 0.02, 0.03];

#[test]
fn passes_that_vary_raise_no_more_alarms_than_steady_ones() {
    const REPORTS: u32 = 240;
    let found = [5, 10].map(|passes| DRIFTS.map(|drift| alarms(REPORTS, passes, drift, 0.0)));
    let all: u32 = found.iter().flatten().sum();
    assert!(all <= at_most(0.01, 10 * REPORTS), "{found:?} of {REPORTS} each");
    assert!(found.iter().flatten().all(|alarms| *alarms <= at_most(0.015, REPORTS)), "{found:?} of {REPORTS} each");
}

#[test]
fn runs_that_are_off_raise_few_alarms_where_passes_are_few() {
    const REPORTS: u32 = 240;
    let found = [1, 2, 4].map(|passes| [0.0, 0.01, 0.02].map(|run| alarms(REPORTS, passes, run, run)));
    assert!(found.iter().flatten().sum::<u32>() <= at_most(0.01, 9 * REPORTS), "{found:?} of {REPORTS} each");
}

#[test]
fn what_is_known_of_runs_counts_for_any_number_of_passes() {
    const REPORTS: u32 = 240;
    let known = usual().for_many_passes();
    let found = [5, 10].map(|passes| [0.0, 0.01].map(|drift| alarms_where(known, REPORTS, passes, drift, 0.02)));
    assert!(found.iter().flatten().sum::<u32>() <= at_most(0.01, 4 * REPORTS), "{found:?} of {REPORTS} each");
    // What is assumed of all runs does not, so that steady passes show small differences.
    assert!(alarms(REPORTS, 10, 0.0, 0.02) > REPORTS / 4);
}

/// The table of the guide: `cargo test -p perfdb-model --release --test all -- --ignored --nocapture calibration::table`.
#[test]
#[ignore = "prints figures for the guide"]
fn table_of_the_guide() {
    const REPORTS: u32 = 2_000;
    for passes in [5, 10] {
        let percent = DRIFTS
            .map(|drift| format!("{:.2}", f64::from(alarms(REPORTS, passes, drift, 0.0)) * 100.0 / f64::from(REPORTS)));
        let mut draws = Draws(43);
        let found = DRIFTS.map(|drift| {
            let is_found =
                |_: &u32| report(&mut draws, usual(), passes, drift, 0.0, 1.03)[2].verdict == Verdict::Slower;
            (0..1000).filter(is_found).count() / 10
        });
        println!("{passes} passes: false verdicts in {percent:?} %, 3 % found in {found:?} %");
    }
}
