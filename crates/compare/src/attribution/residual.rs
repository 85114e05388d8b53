//! What groups leave: more or fewer calls, time per call, and what is on one side alone.

use super::Splitter;
use super::call::{Book, Call};
use super::contribution::{
    Calls, Cause, Contribution, Detail, MeasuredDetail, Position, PredictedDetail, Spread, TimeDetail, WaitDetail,
};
use super::family::{COMPOSITES, is_collective};
use super::group::{Durations, Groups, Sources};
use super::pool::contribution_of;
use super::quotient::{compare, rounded, within};
use crate::profile::FEWEST_CALLS;
use perfdb_trace::sequence::nearest_rank;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// Factor between the calls of a composite operator and of a kernel that may be a part of it.
const COMPOSITE_FACTOR: i128 = 2;

impl Splitter<'_> {
    /// All contributions of the groups that no pool took, and of the time of all groups.
    pub(super) fn rest(&mut self, predicted: &[Call], measured: &[Call], sources: &[Sources]) {
        let durations = self.groups.measured_durations(self.book, measured);
        let waits = waits(self.book, measured);
        let events = Events::new(self.book, &self.groups, predicted);
        let operators = operators(self.book, predicted);
        for (at, &source) in sources.iter().enumerate() {
            let group = &self.groups.list[at];
            if group.is_on_both_sides() {
                let wait_ps = waits.get(&group.kernel_type).copied().unwrap_or(0);
                self.both_sides(at, source, durations.of(at), wait_ps);
            } else if group.pool.is_none() && group.difference_ps() != 0 {
                let detail = if group.is_predicted() {
                    Detail::Predicted(PredictedDetail {
                        source,
                        place: events.position(at),
                        predicted_calls: self.calls(group.n1),
                    })
                } else {
                    Detail::Measured(MeasuredDetail {
                        measured_calls: self.calls(group.n2),
                        composite: self.part_of(at, &operators),
                        spread: spread(&durations, at),
                    })
                };
                let cause = if group.is_predicted() { Cause::PredictedOnly } else { Cause::NotModelled };
                let (difference_ps, interval) = (group.difference_ps(), self.intervals[at]);
                self.contributions.push(Contribution {
                    difference_ps,
                    interval,
                    detail,
                    ..contribution_of(cause, group)
                });
            }
        }
    }

    fn both_sides(&mut self, at: usize, source: Sources, durations_ps: &[i64], wait_ps: i128) {
        let group = &self.groups.list[at];
        let calls = Calls {
            predicted_calls: self.calls(group.n1),
            measured_calls: self.calls(group.n2),
            exact: (group.n1, group.n2),
        };
        let spread = spread_of(durations_ps);
        if group.pool.is_none() && group.count_ps != 0 {
            let detail = Detail::Calls(calls);
            self.contributions.push(Contribution {
                difference_ps: group.count_ps,
                detail,
                ..contribution_of(Cause::Count, group)
            });
        }
        let mut time_ps = group.time_ps;
        if time_ps < 0 && wait_ps > 0 {
            // W / passes · (n1 + n2) / (2 n2), at most the shortfall
            let share = [wait_ps, self.passes.denominator(), group.n1 + group.n2];
            let wait_ps = rounded(&share, &[2, self.passes.numerator(), group.n2]).min(-time_ps);
            if wait_ps > 0 {
                let detail = Detail::Wait(WaitDetail { estimate: true, calls, spread });
                self.contributions.push(Contribution {
                    difference_ps: -wait_ps,
                    detail,
                    ..contribution_of(Cause::CollectiveWait, group)
                });
                time_ps += wait_ps;
            }
        }
        if time_ps == 0 {
            return;
        }
        let n1 = i128::from(group.predicted.calls);
        let inside = |spread: Spread| {
            i128::from(spread.p10_ps) * n1 <= group.predicted_ps && group.predicted_ps <= i128::from(spread.p90_ps) * n1
        };
        let detail = Detail::Time(TimeDetail {
            source,
            inside_spread: spread.is_some_and(inside),
            noise: spread.is_some_and(|spread| is_noise(group.predicted_ps, n1, durations_ps, spread)),
            predicted_mean_ps: rounded(&[group.predicted_ps], &[n1]),
            measured_mean_ps: rounded(&[group.measured_ps, self.passes.unit()], &[group.n2]),
            calls,
            spread,
        });
        let interval = self.intervals[at];
        self.contributions.push(Contribution {
            difference_ps: time_ps,
            interval,
            detail,
            ..contribution_of(Cause::Time, group)
        });
    }

    /// The composite operator that runs as often as a kernel of its list.
    fn part_of(&self, at: usize, operators: &FxHashMap<&str, u64>) -> Option<String> {
        let group = &self.groups.list[at];
        let fits = |operator: &str, kernel_types: &[&str]| {
            kernel_types.contains(&group.kernel_type.as_ref())
                && operators
                    .get(operator)
                    .is_some_and(|&calls| within(i128::from(calls) * self.passes.unit(), group.n2, COMPOSITE_FACTOR))
        };
        COMPOSITES
            .iter()
            .find(|(operator, kernels)| fits(operator, kernels))
            .map(|(operator, _)| (*operator).to_owned())
    }
}

fn spread(durations: &Durations, group: usize) -> Option<Spread> {
    spread_of(durations.of(group))
}

fn spread_of(sorted_ps: &[i64]) -> Option<Spread> {
    let percentile = |percent| nearest_rank(sorted_ps, percent).filter(|_| sorted_ps.len() >= FEWEST_CALLS);
    Some(Spread { p10_ps: percentile(10)?, p90_ps: percentile(90)? })
}

/// Whether a predicted mean lies inside the band of the *mean* of N measured calls: (t₁ − mean)² N ≤ h², h from the mean to
/// P90 or P10.
fn is_noise(predicted_ps: i128, predicted_calls: i128, durations_ps: &[i64], spread: Spread) -> bool {
    let calls = durations_ps.len() as i128;
    let sum_ps: i128 = durations_ps.iter().map(|&ps| i128::from(ps)).sum();
    // All times the number of both calls.
    let off = predicted_ps * calls - sum_ps * predicted_calls;
    let half =
        if off > 0 { i128::from(spread.p90_ps) * calls - sum_ps } else { sum_ps - i128::from(spread.p10_ps) * calls };
    half > 0 && compare(&[off, off, calls], &[half, predicted_calls, half, predicted_calls]) != Ordering::Greater
}

/// Time of each kind of collective above the tenth percentile of the same collective behind the same kernel.
fn waits(book: &Book, measured: &[Call]) -> FxHashMap<Box<str>, i128> {
    let mut classes: FxHashMap<(u32, Option<u32>), Vec<i64>> = FxHashMap::default();
    let mut before = None;
    for call in measured {
        if is_collective(&book.signature(call).kernel_type) {
            classes.entry((call.signature, before)).or_default().push(call.duration_ps);
        } else {
            before = Some(book.keys(call).operands);
        }
    }
    let mut waits: FxHashMap<Box<str>, i128> = FxHashMap::default();
    classes.into_iter().for_each(|((signature, _), mut durations_ps)| {
        durations_ps.sort_unstable();
        let Some(Spread { p10_ps, .. }) = spread_of(&durations_ps) else { return };
        let above: i128 = durations_ps.iter().map(|&ps| i128::from((ps - p10_ps).max(0))).sum();
        *waits.entry(book.signatures[signature as usize].kernel_type.clone()).or_default() += above;
    });
    waits
}

/// How many events each operator has.
fn operators<'b>(book: &'b Book, predicted: &[Call]) -> FxHashMap<&'b str, u64> {
    let mut operators = FxHashMap::default();
    for call in predicted {
        if let Some(prediction) = book.signature(call).prediction()
            && prediction.is_first_part
        {
            *operators.entry(prediction.operator.as_ref()).or_default() += 1;
        }
    }
    operators
}

/// Which events the calls of each group belong to.
struct Events {
    /// The first and the last one of each group.
    bounds: Vec<(u32, u32)>,
    /// The first and the last one of all groups that were measured as well.
    measured: Option<(u32, u32)>,
}

impl Events {
    fn new(book: &Book, groups: &Groups, predicted: &[Call]) -> Events {
        let mut bounds = vec![(u32::MAX, 0); groups.list.len()];
        for call in predicted {
            let (first, last) = &mut bounds[groups.position(book, call)];
            (*first, *last) = ((*first).min(call.event), (*last).max(call.event));
        }
        let counts = |at: &usize| {
            let group = &groups.list[*at];
            group.is_on_both_sides()
                && group.predicted.calls > 2
                && group.n2 * 2 >= group.n1
                && !is_collective(&group.kernel_type)
        };
        let both = (0..groups.list.len()).filter(counts).map(|at| bounds[at]);
        let measured = both.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        Events { bounds, measured }
    }

    fn position(&self, group: usize) -> Position {
        let (first, last) = self.bounds[group];
        match self.measured {
            Some((begin, _)) if last < begin => Position::Head,
            Some((_, end)) if first > end => Position::Tail,
            _ => Position::Body,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_what_the_mean_of_as_many_calls_may_be_off() {
        // A mean of 109, which is within (190 - 109) / √10 upwards and (109 - 100) / √10 downwards by chance.
        let durations: Vec<i64> = [vec![100; 9], vec![190]].concat();
        let spread = Spread { p10_ps: 100, p90_ps: 190 };
        let noise = |predicted_ps: i128| is_noise(predicted_ps * 3, 3, &durations, spread);
        assert_eq!([106, 107, 109, 120, 134, 135].map(noise), [false, true, true, true, true, false]);
    }
}
