//! What a database knows of predicted times: their 90 % interval.

use super::call::{Book, Call};
use super::group::{Groups, Sources};
use crate::error::Error;
use crate::picoseconds::PS_PER_US;
use bitcode::{Decode, Encode};
use perfdb_model::predict::{Calls, Class, Estimate, Sum, Timed, measured_interval, sum};
use perfdb_query::{Answer, ParallelConfig, Reader, Source, read_trace_events};
use perfdb_store::registry::is_collective;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The predicted calls of a contribution, or of a pass, as the database predicts them. All times in picoseconds, of all calls in a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Encode, Decode)]
pub struct Interval {
    /// What the simulator made of these calls.
    pub simulated_ps: i128,
    /// What the database predicts for them.
    pub best_ps: i128,
    /// The lower end of the 90 % interval.
    pub low_ps: i128,
    /// Its upper end.
    pub high_ps: i128,
    /// The part of `simulated_ps` that the database does not answer, taken as it is.
    pub unanswered_ps: i128,
}

impl Interval {
    fn new(simulated_ps: i128, unanswered_ps: i128, sum: Sum) -> Interval {
        let ps = |us: f64| (us * PS_PER_US as f64).round() as i128 + unanswered_ps;
        Interval {
            simulated_ps,
            best_ps: ps(sum.duration_us),
            low_ps: ps(sum.low_us),
            high_ps: ps(sum.high_us),
            unanswered_ps,
        }
    }
}

/// What the database answers to the signatures of the predicted side, `None` where it does not: one question each, that of the first
/// event. A pipe can't be read again; nothing is known then.
///
/// # Errors
/// When the trace can't be read again.
pub(super) fn estimates(book: &Book, trace: &Path, reader: &Reader) -> Result<Vec<Option<Estimate>>, Error> {
    if !std::fs::metadata(trace).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(Vec::new());
    }
    let mut events: FxHashMap<u32, u64> = FxHashMap::default();
    for call in &book.predicted {
        events.entry(call.signature).or_insert(call.event.into());
    }
    let wanted: BTreeSet<u64> = events.values().copied().collect();
    let calls = read_trace_events(trace, &ParallelConfig::default(), &wanted)?;
    let mut answers: FxHashMap<u64, Answer> = FxHashMap::default();
    answers.extend(calls.iter().filter_map(|call| Some((call.event, reader.lookup(&call.query).ok()?))));
    let estimate = |signature: u32| {
        let answer = answers.get(events.get(&signature)?)?;
        estimate_of(book, signature as usize, answer)
    };
    Ok((0..book.signatures.len() as u32).map(estimate).collect())
}

/// The part of an answer that is one kernel of its event, or all of it; `None` of a sum of which kernels are missing, since no interval of
/// what is there holds the whole.
fn estimate_of(book: &Book, signature: usize, answer: &Answer) -> Option<Estimate> {
    let prediction = answer.prediction()?;
    let whole = Estimate {
        duration_us: answer.duration_us,
        low_us: prediction.low_us,
        high_us: prediction.high_us,
        class: prediction.class,
    };
    let first = (0..=signature).rev().find(|&at| is_first_part(book, at))?;
    let is_alone =
        first == signature && book.signatures.get(signature + 1).is_none_or(|_| is_first_part(book, signature + 1));
    if is_alone {
        return (answer.source != Source::Partial).then_some(whole);
    }
    let kernel_type = &book.signatures[signature].kernel_type;
    let nth = (first..signature).filter(|&at| book.signatures[at].kernel_type == *kernel_type).count();
    let part = answer.parts().iter().filter(|part| *part.kernel_type == **kernel_type).nth(nth)?;
    Some(match part.interval_us {
        Some([low_us, high_us]) => Estimate { duration_us: part.duration_us, low_us, high_us, class: whole.class },
        // A row as it is.
        None => measured_interval(Timed::of(is_collective(&part.kernel_type)), part.duration_us, None),
    })
}

/// Whether the calls of an event begin with this signature; those of measured calls count as such.
fn is_first_part(book: &Book, signature: usize) -> bool {
    book.signatures[signature].prediction().is_none_or(|prediction| prediction.is_first_part)
}

/// The intervals of the groups whose predicted times do not all come from rows as they are.
pub(super) fn of_groups(
    book: &Book,
    groups: &Groups,
    predicted: &[Call],
    sources: &[Sources],
) -> Vec<Option<Interval>> {
    let mut members: Vec<Vec<&Call>> = vec![Vec::new(); groups.list.len()];
    if !book.estimates.is_empty() {
        for call in predicted {
            let at = groups.position(book, call);
            if sources[at].is_predicted() {
                members[at].push(call);
            }
        }
    }
    members.into_iter().map(|calls| of_calls(book, &calls).filter(|interval| interval.unanswered_ps == 0)).collect()
}

/// The interval of a whole pass; `None` if the database answers nothing of it.
pub(super) fn of_pass(book: &Book) -> Option<Interval> {
    let calls: Vec<&Call> = book.predicted.iter().collect();
    of_calls(book, &calls)
}

/// The sum of intervals, each of a group of its own.
pub(super) fn together(intervals: impl Iterator<Item = Interval>) -> Option<Interval> {
    let intervals: Vec<Interval> = intervals.collect();
    let us = |ps: i128| ps as f64 / PS_PER_US as f64;
    let of = |interval: &Interval| Calls {
        kernel_type: "",
        estimate: Estimate {
            duration_us: us(interval.best_ps),
            low_us: us(interval.low_ps),
            high_us: us(interval.high_ps),
            class: Class::Inside,
        },
        count: 1.0,
    };
    let simulated_ps = intervals.iter().map(|interval| interval.simulated_ps).sum();
    (!intervals.is_empty()).then(|| Interval::new(simulated_ps, 0, sum(intervals.iter().map(of))))
}

/// Calls of one signature are one place: their errors do not average out.
fn of_calls(book: &Book, calls: &[&Call]) -> Option<Interval> {
    let mut counts: FxHashMap<u32, f64> = FxHashMap::default();
    let (mut simulated_ps, mut unanswered_ps) = (0, 0);
    let mut order = Vec::new();
    for call in calls {
        simulated_ps += i128::from(call.duration_ps);
        if book.estimates.get(call.signature as usize).is_none_or(Option::is_none) {
            unanswered_ps += i128::from(call.duration_ps);
            continue;
        }
        let count = counts.entry(call.signature).or_insert(0.0);
        if *count == 0.0 {
            order.push(call.signature);
        }
        *count += 1.0;
    }
    let known = order.iter().filter_map(|&signature| {
        let estimate = book.estimates.get(signature as usize).copied().flatten()?;
        let kernel_type = &*book.signatures[signature as usize].kernel_type;
        Some(Calls { kernel_type, estimate, count: counts.get(&signature).copied().unwrap_or(0.0) })
    });
    (!order.is_empty()).then(|| Interval::new(simulated_ps, unanswered_ps, sum(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_several_groups_are_one() {
        let of = |ps: i128| Interval {
            simulated_ps: ps,
            best_ps: ps,
            low_ps: ps - 500_000,
            high_ps: ps + 500_000,
            unanswered_ps: 0,
        };
        assert_eq!(together(std::iter::empty()), None);
        assert_eq!(together([of(3_250_000)].into_iter()), Some(of(3_250_000)));
        let both = together([of(3_250_000), of(8_000_000)].into_iter());
        assert_eq!(both.map(|both| (both.simulated_ps, both.best_ps)), Some((11_250_000, 11_250_000)));
    }
}
