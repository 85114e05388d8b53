//! Whether operations and passes differ by more than they vary: layers and passes are samples.

mod calls;

use std::collections::BTreeMap;

use serde::Serialize;

use perfdb_statistics::{Estimate, Judgement, Limits, Series, estimate, judge};

use crate::elapsed::{self, Compared};
use crate::pairing::Pairing;
use crate::steps::Basis;
use crate::time::{Picoseconds, milliseconds};
use calls::Calls;

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
}

/// Verdicts on a comparison; nothing under rules that have no structure or timeline.
pub(crate) fn confidence(pairing: &Pairing<'_>) -> Option<Confidence> {
    let [first, second] = pairing.traces;
    let compared = elapsed::compared(first, second, pairing.filter)?;
    let calls = [Calls::new(first, &compared[0], pairing.filter)?, Calls::new(second, &compared[1], pairing.filter)?];
    let whole = Measured::whole(&compared);
    let operations = pairing.pairs.iter().map(|pair| Measured::operation(&pair.operation, &calls, &compared));
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
}

impl Measured {
    /// The elapsed time of passes.
    fn whole(compared: &[Compared<'_>; 2]) -> Measured {
        let series = compared.each_ref().map(passes);
        let samples = series.each_ref().map(|series| series.len() as u64);
        let divisors = samples.map(|samples| samples as f64);
        let estimate = estimate([&series[0], &series[1]], divisors, samples[0] == samples[1]);
        Measured { estimate, per: if compared[0].basis == Basis::Step { "step" } else { "pass" }, samples }
    }

    /// The kernels of an operation.
    fn operation(operation: &str, calls: &[Calls; 2], compared: &[Compared<'_>; 2]) -> Measured {
        let [first, second] = [0, 1].map(|side| calls[side].of(operation));
        let samples = [first.series.len() as u64, second.series.len() as u64];
        let (divisors, per) = match compared[0].basis {
            Basis::Whole => (samples.map(|samples| samples as f64), "call"),
            Basis::Step => (compared.each_ref().map(Compared::per_pass), "step"),
            Basis::Pass => (compared.each_ref().map(Compared::per_pass), "pass"),
        };
        let same_calls = first.places == second.places;
        Measured { estimate: estimate([&first.series, &second.series], divisors, same_calls), per, samples }
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
