//! Whether two series of measured times differ, how much, and with which confidence.
//!
//! A [`Series`] holds the times of one operation in one measurement, call by call. [`estimate`] gives the ratio of two of
//! them with its standard error, and [`judge`] turns the estimates of all operations of a report into verdicts that hold
//! together: of a hundred reports on the same thing measured twice, one at most says `slower` or `faster` anywhere.
//! [`like_calls`] comes before where the two measurements hold other calls, more long ones say.
//!
//! ```
//! use perfdb_model::statistics::{Limits, Series, Verdict, estimate, judge};
//!
//! // 40 calls of 100 us that vary by some percent, and as many that take 10 % longer.
//! let calls = |scale: f64, seed: u32| {
//!     let mut series = Series::default();
//!     (0..40).for_each(|call: u32| series.push(scale * (98.0 + f64::from(call * seed % 5)), 0, call / 4));
//!     series
//! };
//! let found = estimate([&calls(1.0, 7), &calls(1.1, 3)], [10.0, 10.0], false);
//! let judgement = &judge(&[found], &Limits::default())[0];
//! assert_eq!(judgement.verdict, Verdict::Slower);
//! let [low, high] = judgement.interval.expect("enough calls");
//! assert!(low < 1.1 && 1.1 < high);
//! ```

mod bootstrap;
mod clusters;
mod difference;
mod distribution;
mod estimate;
mod levels;
mod mix;
mod moderated;
mod runs;
mod series;
mod spread;
mod verdict;

pub use bootstrap::{block_length, variance_of_sum};
pub use clusters::{CLUSTERS_AS_SAMPLES, Drift, drift};
pub use difference::half_width;
pub(crate) use distribution::t_quantile;
pub use estimate::{Estimate, estimate, estimate_of_passes, estimate_with_drift};
pub use levels::{RUNS_AS_SAMPLES, RunSample, RunsEstimate, estimate_of_runs, holm, outlier_runs};
pub use mix::{LikeCalls, like_calls};
pub use moderated::CommonVariance;
pub use runs::{RunVariation, allow_for_runs};
pub use series::{Series, median};
pub use verdict::{Judgement, Limits, Verdict, judge, judge_headline};
