//! Whether operations and passes differ by more than they vary: passes are samples, or the calls of few passes.

mod calls;
mod mix;
mod same_work;

use serde::Serialize;

use perfdb_model::statistics::{
    CLUSTERS_AS_SAMPLES, Drift, Estimate, Judgement, Limits, Verdict as Judged, allow_for_runs, drift, estimate,
    estimate_with_drift, judge, like_calls,
};

use crate::elapsed::compared::{Compared, compared};
use crate::elapsed::headline::Headline;
use crate::pairing::{Pair, Pairing};
use crate::run_variation::RunVariation;
use crate::steps::Basis;
use crate::trace::Trace;
use calls::{Calls, OperationCalls};

pub(crate) use same_work::{SameWork, same_work};

/// With which confidence the two traces differ. All verdicts hold together: of a hundred comparisons of the same thing
/// measured twice, about one says `slower` or `faster` anywhere.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Confidence {
    /// What runs of the same thing vary by, in percent; it counts where `by_pass` is false, or where it was given.
    pub run_variation_percent: f64,
    /// Whether it was given, and counts for any number of passes.
    pub run_variation_given: bool,
    /// Of the elapsed time per pass or step.
    pub whole: Verdict,
    /// Of the operations of both traces, in their order.
    pub operations: Vec<OperationVerdict>,
}

/// The verdict on an operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperationVerdict {
    /// Name of the operation.
    pub operation: String,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What can be said of a difference of trace 2 from trace 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The name of a verdict of [`perfdb_model::statistics`].
    pub verdict: &'static str,
    /// What is compared: time per `pass`, per `step`, or per `call` where passes are not known.
    pub per: &'static str,
    /// Samples of trace 1 and of trace 2: passes of the whole, kernels of an operation.
    pub samples: [u64; 2],
    /// Time of trace 2 by that of trace 1, outliers drawn in; nothing where there are too few samples.
    pub ratio: Option<f64>,
    /// Where the true ratio lies.
    pub interval: Option<[f64; 2]>,
    /// Probability of the interval.
    pub confidence: Option<f64>,
    /// Smallest difference in percent that would be found 95 times of 100.
    pub detectable_percent: Option<f64>,
    /// Why there is no interval.
    pub reason: Option<&'static str>,
    /// Whether samples were compared one by one, what they share left out.
    pub paired: bool,
    /// Whether passes are the samples: from five on in both traces. Else the verdict is about calls within these passes, and allows
    /// for what runs usually vary by.
    pub by_pass: bool,
    /// Other operations in which the same work stands in one of the traces; the verdict is about all of them together.
    pub together_with: Vec<String>,
    /// The traces hold other calls of the operation, so that the verdict is about like ones; nothing where it is about all.
    pub mix: Option<Mix>,
}

/// Two traces whose calls of an operation are not the same, such as more of the long ones in one of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mix {
    /// What the other mix alone makes of the time per call, trace 2 by trace 1: this times the ratio of calls of the same shape is the ratio of
    /// all, outliers drawn in.
    pub ratio: Option<f64>,
    /// Part of the operation's time in trace 1 and in trace 2 that is in calls of the same shape, in percent.
    pub like_percent: [f64; 2],
}

/// Verdicts on a comparison; nothing under rules that have no structure or timeline.
pub(crate) fn confidence(pairing: &Pairing<'_>, work: &SameWork, runs: RunVariation) -> Option<Confidence> {
    let [first, second] = pairing.traces;
    let compared = compared(first, second, pairing.filter)?;
    let found = judgements(pairing, &compared, work, runs, Waits::LeftOut)?;
    let overlap = pairing.traces.iter().any(|trace| trace.corrections.clipped > 0);
    let resident = if overlap { judgements(pairing, &compared, work, runs, Waits::Counted)? } else { Vec::new() };
    let named = pairing.pairs.iter().zip(found).enumerate();
    let operations = named.map(|(at, (pair, (found, judgement)))| {
        let judgement = resident.get(at).map_or(judgement, |(_, other)| of_both(judgement, other));
        OperationVerdict { operation: pair.operation.clone(), verdict: found.verdict(&judgement) }
    });
    let whole = whole(&Headline::new(&compared, runs));
    Some(Confidence {
        run_variation_percent: runs.percent(),
        run_variation_given: runs.is_given(),
        whole,
        operations: operations.collect(),
    })
}

/// Whether the time in which a kernel is resident and waits for the one before it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    LeftOut,
    Counted,
}

/// What is measured of each operation, and judgements that hold together.
fn judgements(
    pairing: &Pairing<'_>,
    compared: &[Compared<'_>; 2],
    work: &SameWork,
    runs: RunVariation,
    waits: Waits,
) -> Option<Vec<(Measured, Judgement)>> {
    let calls = |side: usize| Calls::new(pairing.traces[side], &compared[side], pairing.filter, waits);
    let calls = [calls(0)?, calls(1)?];
    let drifts = calls.each_ref().map(|calls| drift(&calls.all()));
    let sample = Sample { calls: &calls, compared, traces: pairing.traces, drifts };
    let measured: Vec<Measured> = pairing.pairs.iter().map(|pair| sample.measured(&pair.operation, work)).collect();
    let mut estimates: Vec<Option<Estimate>> = measured.iter().map(|found| found.estimate).collect();
    let weight = |pair: &Pair| {
        [0, 1].map(|side| pair.sides[side].in_passes.time.max(0) as f64 / compared[side].per_pass()).iter().sum::<f64>()
    };
    let weights: Vec<f64> = pairing.pairs.iter().map(weight).collect();
    allow_for_runs(&mut estimates, &weights, runs.as_difference());
    let judged = judge(&estimates, &Limits::default());
    Some(measured.into_iter().zip(judged).collect())
}

/// A kernel that is resident before the one in front of it ends waits for an unknown part of that time, or works: its time lies between the
/// one without the overlap and the one with it. Slower or faster is what both say; else one kernel that ends earlier makes the next one slower.
fn of_both(without: Judgement, with: &Judgement) -> Judgement {
    if !matches!(without.verdict, Judged::Slower | Judged::Faster) || without.verdict == with.verdict {
        return without;
    }
    Judgement {
        verdict: Judged::CannotTell,
        interval: None,
        confidence: None,
        detectable_percent: None,
        reason: Some("as times with and without the overlap of kernels disagree"),
        ..without
    }
}

/// The verdict on the elapsed time.
fn whole(headline: &Headline) -> Verdict {
    let found = Measured {
        estimate: headline.estimate,
        per: if headline.basis == Basis::Step { "step" } else { "pass" },
        samples: headline.samples,
        together_with: Vec::new(),
        mix: None,
    };
    let by_pass = headline.samples.iter().all(|passes| *passes >= CLUSTERS_AS_SAMPLES as u64);
    Verdict { by_pass, ..found.verdict(&headline.judgement) }
}

/// What verdicts on operations are made of.
struct Sample<'a> {
    calls: &'a [Calls; 2],
    compared: &'a [Compared<'a>; 2],
    traces: [&'a Trace; 2],
    drifts: [Option<Drift>; 2],
}

/// What a verdict is made of.
struct Measured {
    estimate: Option<Estimate>,
    per: &'static str,
    samples: [u64; 2],
    together_with: Vec<String>,
    mix: Option<Mix>,
}

impl Sample<'_> {
    fn measured(&self, operation: &str, work: &SameWork) -> Measured {
        let others = work.others(operation);
        if others.is_empty() {
            let sides = self.calls.each_ref().map(|calls| calls.of(operation));
            return match self.compared[0].basis {
                // Traces without passes begin and end anywhere, so that they may hold other calls.
                Basis::Whole => self.like_calls(sides),
                Basis::Pass | Basis::Step => self.plain(sides),
            };
        }
        let all = || others.iter().map(String::as_str).chain([operation]);
        let sides = self.calls.each_ref().map(|calls| calls.union(all()));
        let found = match self.compared[0].basis {
            // One trace may take more calls than the other for the same work.
            Basis::Whole => self.of_all([&sides[0], &sides[1]], [1.0; 2], "call"),
            Basis::Pass | Basis::Step => self.plain([&sides[0], &sides[1]]),
        };
        Measured { together_with: others.to_vec(), ..found }
    }

    /// The kernels of an operation, by pass.
    fn plain(&self, sides: [&OperationCalls; 2]) -> Measured {
        let per = if self.compared[0].basis == Basis::Step { "step" } else { "pass" };
        self.of_all(sides, self.compared.each_ref().map(Compared::per_pass), per)
    }

    /// The kernels of an operation, by call: those that have their like in the other trace.
    fn like_calls(&self, sides: [&OperationCalls; 2]) -> Measured {
        let all = self.of_all(sides, sides.map(|side| side.series.len() as f64), "call");
        let kinds = mix::kinds(sides, self.traces);
        let Some(like) = like_calls(sides.map(|side| &side.series), [&kinds[0], &kinds[1]]) else { return all };
        let estimate = estimate([&like.sides[0], &like.sides[1]], [like.calls; 2], false);
        let ratio = all.estimate.zip(estimate).map(|(all, like)| (all.log_ratio - like.log_ratio).exp());
        let samples = like.sides.each_ref().map(|series| series.len() as u64);
        let like_percent = like.shares.map(|share| 100.0 * share);
        Measured { estimate, samples, mix: Some(Mix { ratio, like_percent }), ..all }
    }

    /// All of both sides.
    fn of_all(&self, sides: [&OperationCalls; 2], divisors: [f64; 2], per: &'static str) -> Measured {
        let [first, second] = sides;
        let samples = [first.series.len() as u64, second.series.len() as u64];
        let same_calls = first.places == second.places;
        let estimate = estimate_with_drift([&first.series, &second.series], divisors, same_calls, self.drifts);
        Measured { estimate, per, samples, together_with: Vec::new(), mix: None }
    }
}

impl Measured {
    fn verdict(self, judgement: &Judgement) -> Verdict {
        Verdict {
            verdict: judgement.verdict.name(),
            per: self.per,
            samples: self.samples,
            ratio: judgement.ratio,
            interval: judgement.interval,
            confidence: judgement.confidence,
            detectable_percent: judgement.detectable_percent,
            reason: judgement.reason,
            paired: self.estimate.is_some_and(|found| found.is_paired),
            by_pass: self.estimate.is_some_and(|found| found.by_cluster),
            together_with: self.together_with,
            mix: self.mix,
        }
    }
}
