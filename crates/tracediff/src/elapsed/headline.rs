//! Whether the elapsed times of two traces differ by more than passes and runs do.

use std::collections::BTreeMap;

use perfdb_model::statistics::{Estimate, Judgement, Limits, Series, Verdict, estimate_of_passes, judge_headline};

use super::compared::Compared;
use crate::run_variation::RunVariation;
use crate::steps::Basis;
use crate::time::{Picoseconds, milliseconds};

/// The elapsed time per pass, judged.
pub(crate) struct Headline {
    pub(crate) judgement: Judgement,
    pub(crate) estimate: Option<Estimate>,
    /// Passes of both traces; none where the whole is compared.
    pub(crate) samples: [u64; 2],
    pub(crate) basis: Basis,
    /// By how many percent passes vary, in the trace where they do so most; nothing of single passes.
    vary_percent: Option<f64>,
    /// The middle one of the times of the passes of both traces, where both have three or more.
    pub(crate) medians: Option<[f64; 2]>,
    pub(crate) runs: RunVariation,
}

impl Headline {
    pub(crate) fn new(compared: &[Compared<'_>; 2], runs: RunVariation) -> Headline {
        let series = compared.each_ref().map(times);
        let estimate = estimate_of_passes([&series[0], &series[1]], runs.as_difference());
        let judgement = judge_headline(estimate.as_ref(), &Limits::default());
        let basis = compared[0].basis;
        let samples = series.each_ref().map(|series| if basis == Basis::Whole { 0 } else { series.len() as u64 });
        let vary_percent = compared.iter().filter_map(variation_percent).max_by(f64::total_cmp);
        let medians = match compared.each_ref().map(|compared| compared.median_pass_ms()) {
            [Some(first), Some(second)] if basis != Basis::Whole && compared.iter().all(is_of_one_kind) => {
                Some([first, second])
            }
            _ => None,
        };
        Headline { judgement, estimate, samples, basis, vary_percent, medians, runs }
    }

    /// What times per pass differ by at most, by chance.
    pub(super) fn noise_ms(&self, per_pass_ms: f64) -> Option<f64> {
        let [low, high] = self.judgement.interval?;
        Some(per_pass_ms * ((high / low).sqrt() - 1.0))
    }

    /// Whether one trace takes longer by more than the noise, or both take the same time.
    pub(super) fn is_clear(&self) -> bool {
        self.judgement.verdict != Verdict::CannotTell
    }

    /// Whether trace 2 takes longer for certain, or shorter; nothing where that is not known.
    pub(super) fn second_is_slower(&self) -> Option<bool> {
        match self.judgement.verdict {
            Verdict::Slower => Some(true),
            Verdict::Faster => Some(false),
            Verdict::Same | Verdict::CannotTell => None,
        }
    }

    /// `, median of 20 and 22 steps`; nothing where the figures are not medians.
    pub(super) fn figures(&self) -> String {
        match (self.medians, self.samples) {
            (None, _) => String::new(),
            (Some(_), [first, second]) if first == second => format!(", median of {first} {}", self.many()),
            (Some(_), [first, second]) => format!(", median of {first} and {second} {}", self.many()),
        }
    }

    fn many(&self) -> &'static str {
        match self.basis {
            Basis::Step => "steps",
            Basis::Pass | Basis::Whole => "passes",
        }
    }

    /// `in these 5 passes, which vary by 4.0 %: not distinguishable`
    pub(super) fn doubt(&self) -> String {
        let one = if self.basis == Basis::Step { "step" } else { "pass" };
        let many = self.many();
        let samples = match self.samples {
            [0, 0] => "in these traces".to_owned(),
            [1, 1] => format!("in one {one} of each trace"),
            [first, second] if first == second => format!("in these {first} {many}"),
            [first, second] => format!("in these {first} and {second} {many}"),
        };
        let vary = match self.vary_percent {
            Some(percent) if self.is_by_runs() => {
                format!(", which vary by {percent:.1} %, where runs vary by {} %", self.runs.percent())
            }
            Some(percent) => format!(", which vary by {percent:.1} %"),
            None => format!(", where runs vary by {} %", self.runs.percent()),
        };
        format!("{samples}{vary}: not distinguishable")
    }

    fn is_by_runs(&self) -> bool {
        self.estimate.is_some_and(|found| found.runs.is_some())
    }
}

/// Whether passes are of one kind, so that the middle one stands for them: of one phase, and no two of them take more than half as long
/// again as the others. A single one may: it was held up.
fn is_of_one_kind(compared: &Compared<'_>) -> bool {
    const NEXT_KIND: f64 = 1.5;
    let mut phases = compared.windows.iter().map(|window| window.phase);
    let first = phases.next().flatten();
    let mut times = by_pass(compared);
    times.sort_by(f64::total_cmp);
    let kinds = times.chunk_by(|shorter, longer| *longer <= NEXT_KIND * shorter);
    phases.all(|phase| phase == first) && kinds.filter(|kind| kind.len() > 1).count() == 1
}

/// Elapsed times of the passes, in ms and summed over devices; the whole is one.
fn times(compared: &Compared<'_>) -> Series {
    let mut series = Series::default();
    (0..).zip(by_pass(compared)).for_each(|(pass, time)| series.push(time, 0, pass));
    series
}

fn by_pass(compared: &Compared<'_>) -> Vec<f64> {
    let mut times: BTreeMap<Option<u32>, Picoseconds> = BTreeMap::new();
    for window in &compared.windows {
        let pass = window.pass.filter(|_| compared.basis != Basis::Whole);
        *times.entry(pass).or_default() += window.length();
    }
    times.into_values().map(|time| milliseconds(time) / compared.devices as f64).collect()
}

/// The standard deviation of the times of passes by their mean, in percent.
fn variation_percent(compared: &Compared<'_>) -> Option<f64> {
    let times = by_pass(compared);
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let squares: f64 = times.iter().map(|time| (time - mean) * (time - mean)).sum();
    (times.len() > 1 && mean > 0.0).then(|| 100.0 * (squares / (count - 1.0)).sqrt() / mean)
}
