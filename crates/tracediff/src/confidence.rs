//! Whether operations and passes differ by more than they vary: layers and passes are samples.

mod calls;
mod mix;

use std::collections::BTreeMap;

use serde::Serialize;

use perfdb_statistics::{Estimate, Judgement, Limits, Series, estimate, judge, like_calls};

use crate::elapsed::{self, Compared};
use crate::pairing::Pairing;
use crate::steps::Basis;
use crate::time::{Picoseconds, milliseconds};
use crate::trace::Trace;
use calls::{Calls, OperationCalls};

/// How sure the differences of a comparison are. All verdicts hold together: of a hundred comparisons of the same thing
/// measured twice, one at most says `slower` or `faster` anywhere.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Confidence {
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
    /// `slower`, `faster`, `same` or `cannot tell`.
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
    /// Whether samples were compared one by one, what they share left out.
    pub paired: bool,
    /// Whether passes differ by more than their calls, so that they are the samples.
    pub by_pass: bool,
    /// The traces hold other calls of the operation, so that the verdict is about like ones; nothing where it is about all.
    pub mix: Option<Mix>,
}

/// Two traces whose calls of an operation are not the same, such as more of the long ones in one of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mix {
    /// What the other mix alone makes of the time per call, trace 2 by trace 1: this times the ratio of like calls is the ratio of
    /// all, outliers drawn in.
    pub ratio: Option<f64>,
    /// Part of the operation's time in trace 1 and in trace 2 that is in like calls, in percent.
    pub like_percent: [f64; 2],
}

/// Verdicts on a comparison; nothing under rules that have no structure or timeline.
pub(crate) fn confidence(pairing: &Pairing<'_>) -> Option<Confidence> {
    let [first, second] = pairing.traces;
    let compared = elapsed::compared(first, second, pairing.filter)?;
    let calls = [Calls::new(first, &compared[0], pairing.filter)?, Calls::new(second, &compared[1], pairing.filter)?];
    let whole = Measured::whole(&compared);
    let operation = |name: &str| match compared[0].basis {
        // Traces without passes begin and end anywhere, so that they may hold other calls.
        Basis::Whole => Measured::like_calls(name, &calls, pairing.traces),
        Basis::Pass | Basis::Step => Measured::operation(name, &calls, &compared),
    };
    let operations = pairing.pairs.iter().map(|pair| operation(&pair.operation));
    let measured: Vec<Measured> = std::iter::once(whole).chain(operations).collect();
    let estimates: Vec<Option<Estimate>> = measured.iter().map(|found| found.estimate).collect();
    let judgements = judge(&estimates, &Limits::default());
    let mut verdicts = measured.iter().zip(judgements).map(|(found, judgement)| found.verdict(judgement));
    let whole = verdicts.next()?;
    let named = pairing.pairs.iter().zip(verdicts);
    let operations = named.map(|(pair, verdict)| OperationVerdict { operation: pair.operation.clone(), verdict });
    Some(Confidence { whole, operations: operations.collect() })
}

/// What a verdict is made of.
struct Measured {
    estimate: Option<Estimate>,
    per: &'static str,
    samples: [u64; 2],
    mix: Option<Mix>,
}

/// What the traces are compared by, where they have it.
fn sample(compared: &[Compared<'_>; 2]) -> &'static str {
    if compared[0].basis == Basis::Step { "step" } else { "pass" }
}

impl Measured {
    /// The elapsed time of passes.
    fn whole(compared: &[Compared<'_>; 2]) -> Measured {
        let series = compared.each_ref().map(passes);
        let samples = series.each_ref().map(|series| series.len() as u64);
        let divisors = samples.map(|samples| samples as f64);
        let estimate = estimate([&series[0], &series[1]], divisors, samples[0] == samples[1]);
        Measured { estimate, per: sample(compared), samples, mix: None }
    }

    /// The kernels of an operation, by pass.
    fn operation(operation: &str, calls: &[Calls; 2], compared: &[Compared<'_>; 2]) -> Measured {
        let sides = calls.each_ref().map(|calls| calls.of(operation));
        Measured::plain(sides, compared.each_ref().map(Compared::per_pass), sample(compared))
    }

    /// The kernels of an operation, by call: those that have their like in the other trace.
    fn like_calls(operation: &str, calls: &[Calls; 2], traces: [&Trace; 2]) -> Measured {
        let sides = calls.each_ref().map(|calls| calls.of(operation));
        let all = Measured::plain(sides, sides.map(|side| side.series.len() as f64), "call");
        let kinds = mix::kinds(sides, traces);
        let Some(like) = like_calls(sides.map(|side| &side.series), [&kinds[0], &kinds[1]]) else { return all };
        let estimate = estimate([&like.sides[0], &like.sides[1]], [like.calls; 2], false);
        let ratio = all.estimate.zip(estimate).map(|(all, like)| (all.log_ratio - like.log_ratio).exp());
        let samples = like.sides.each_ref().map(|series| series.len() as u64);
        let like_percent = like.shares.map(|share| 100.0 * share);
        Measured { estimate, per: "call", samples, mix: Some(Mix { ratio, like_percent }) }
    }

    /// All of both sides.
    fn plain(sides: [&OperationCalls; 2], divisors: [f64; 2], per: &'static str) -> Measured {
        let [first, second] = sides;
        let samples = [first.series.len() as u64, second.series.len() as u64];
        let same_calls = first.places == second.places;
        Measured { estimate: estimate([&first.series, &second.series], divisors, same_calls), per, samples, mix: None }
    }

    fn verdict(&self, judgement: Judgement) -> Verdict {
        Verdict {
            verdict: judgement.verdict.name(),
            per: self.per,
            samples: self.samples,
            ratio: judgement.ratio,
            interval: judgement.interval,
            confidence: judgement.confidence,
            detectable_percent: judgement.detectable_percent,
            paired: self.estimate.is_some_and(|found| found.is_paired),
            by_pass: self.estimate.is_some_and(|found| found.by_cluster),
            mix: self.mix,
        }
    }
}

/// Elapsed times of the passes, in ms and summed over devices; none where the whole is compared.
fn passes(compared: &Compared<'_>) -> Series {
    let mut series = Series::default();
    if compared.basis == Basis::Whole {
        return series;
    }
    let mut times: BTreeMap<Option<u32>, Picoseconds> = BTreeMap::new();
    for window in &compared.windows {
        *times.entry(window.pass).or_default() += window.length();
    }
    (0..).zip(times.values()).for_each(|(pass, time)| series.push(milliseconds(*time), 0, pass));
    series
}
