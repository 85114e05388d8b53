//! The rank that the others wait for, and ranks that are unlike the others.

use std::collections::BTreeMap;

use crate::ranks::rank::{PartsPerStep, Rank};
use crate::ranks::result::{Occurrence, Place, RankResult, Straggler};
use crate::ranks::statistics::median;

/// A part of a rank's time and its name.
type PartOfTime = (&'static str, fn(&PartsPerStep) -> f64);
/// A figure of a rank and its name.
type Figure = (&'static str, fn(&RankResult) -> f64);

/// How late a rank comes to one place of a step, in us summed over steps, and what it runs before it, how often.
#[derive(Default)]
struct Lateness<'a> {
    late_us: f64,
    before: BTreeMap<&'a str, u32>,
}

/// Share of the time of a step from which on a rank is late.
const LATE: f64 = 0.01;
/// Ranks from which on one can be unlike the others.
const RANKS_FOR_OUTLIERS: usize = 4;
/// Standard deviations of the others from which on it is.
const FARTHEST: f64 = 4.0;
/// Standard deviations of a normal distribution per median distance from the median.
const DEVIATIONS: f64 = 1.4826;
/// Part of the lateness of a rank from which on a place is reported.
const SMALLEST_PLACE: f64 = 0.05;
/// Places that are reported.
const PLACES: usize = 3;

/// The latest rank, if it is late by 1 % of the time of a step.
pub(crate) fn straggler(
    ranks: &[Rank],
    results: &[RankResult],
    occurrences: &[Occurrence],
    steps: u64,
    elapsed_ms: f64,
) -> Option<Straggler> {
    let latest = results.iter().rev().max_by(|a, b| a.late_ms.total_cmp(&b.late_ms))?;
    if latest.late_ms <= 0.0 || latest.late_ms < LATE * elapsed_ms {
        return None;
    }
    let rows = || occurrences.iter().filter_map(|found| Some((found, found.of(latest.rank)?)));
    let first_us = occurrences.first().and_then(|found| found.of(latest.rank)).map_or(0.0, |row| row.late_us);
    let held_up_us: f64 = rows().map(|(_, row)| row.held_up_us).sum();
    Some(Straggler {
        rank: latest.rank,
        late_ms: latest.late_ms,
        held_up_ms: held_up_us / 1000.0 / steps as f64,
        share: (elapsed_ms > 0.0).then(|| latest.late_ms / elapsed_ms),
        last_share: latest.last as f64 / (latest.collectives.max(1)) as f64,
        first_ms: first_us / 1000.0 / steps as f64,
        longer_ms: longer(latest.rank, ranks),
        places: places(latest.rank, latest.late_ms, occurrences, steps),
    })
}

/// What a rank does longer than the median of the others, the longest first.
fn longer(rank: u32, ranks: &[Rank]) -> Vec<(&'static str, f64)> {
    let parts: [PartOfTime; 4] = [
        ("compute", |parts| parts.compute_ms),
        ("host late", |parts| parts.host_late_ms),
        ("device idle", |parts| parts.device_idle_ms),
        ("exposed copies", |parts| parts.exposed_copies_ms),
    ];
    let more = |(name, time): PartOfTime| {
        let own = ranks.iter().find(|found| found.rank == rank).map(|found| time(&found.parts))?;
        let others = ranks.iter().filter(|found| found.rank != rank).map(|found| time(&found.parts)).collect();
        let more = own - median(others);
        (more > 0.0).then_some((name, more))
    };
    let mut found: Vec<(&'static str, f64)> = parts.into_iter().filter_map(more).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found
}

/// The collectives of a step that a rank is latest to.
fn places(rank: u32, late_ms: f64, occurrences: &[Occurrence], steps: u64) -> Vec<Place> {
    let mut sums: BTreeMap<(&str, &str, u32), Lateness<'_>> = BTreeMap::new();
    for found in occurrences {
        let Some(row) = found.of(rank) else { continue };
        let place = sums.entry((&found.kind, &found.group, found.number)).or_default();
        place.late_us += row.late_us;
        *place.before.entry(&row.before).or_default() += 1;
    }
    let mut places: Vec<Place> = sums
        .into_iter()
        .filter(|(_, found)| found.late_us > 0.0)
        .map(|((kind, group, number), Lateness { late_us, before })| Place {
            kind: kind.to_owned(),
            group: group.to_owned(),
            number,
            late_ms: late_us / 1000.0 / steps as f64,
            before: before.into_iter().rev().max_by_key(|(_, count)| *count).map_or("", |(name, _)| name).to_owned(),
        })
        .collect();
    places.sort_by(|a, b| b.late_ms.total_cmp(&a.late_ms));
    places.retain(|place| place.late_ms >= SMALLEST_PLACE * late_ms);
    places.truncate(PLACES);
    places
}

/// Notes what sets ranks apart: figures farther from the median of all than four standard deviations of the rest, and than
/// 1 % of the time of a step.
pub(crate) fn mark_outliers(results: &mut [RankResult]) {
    if results.len() < RANKS_FOR_OUTLIERS {
        return;
    }
    let step = median(results.iter().map(|rank| rank.elapsed_ms).collect());
    let figures: [Figure; 4] = [
        ("compute", |rank| rank.compute_ms),
        ("host late", |rank| rank.host_late_ms),
        ("device idle", |rank| rank.device_idle_ms),
        ("late", |rank| rank.late_ms),
    ];
    for (name, figure) in figures {
        let middle = median(results.iter().map(figure).collect());
        let spread = DEVIATIONS * median(results.iter().map(|rank| (figure(rank) - middle).abs()).collect());
        let limit = (FARTHEST * spread).max(LATE * step);
        for rank in results.iter_mut().filter(|rank| (figure(rank) - middle).abs() > limit) {
            rank.outlier.push(name);
        }
    }
}
