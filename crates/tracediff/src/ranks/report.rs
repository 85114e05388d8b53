//! From ranks to what they show.

use std::collections::BTreeMap;

use perfdb_trace::time::{Picoseconds, microseconds};

use crate::ranks::clock::{Clock, clocks, leave_together};
use crate::ranks::error::Error;
use crate::ranks::matching::{Match, matches};
use crate::ranks::rank::{Rank, number};
use crate::ranks::result::{Collective, CollectiveOfRank, Occurrence, OccurrenceOfRank, RankResult, Ranks, Step};
use crate::ranks::statistics::{mean, median};
use crate::ranks::straggler;

/// Matches the collectives of ranks, aligns their clocks, and finds who is late.
///
/// # Errors
/// When two ranks have the same number, or none shares a collective with another.
pub fn report(mut ranks: Vec<Rank>) -> Result<Ranks, Error> {
    number(&mut ranks)?;
    let ranks = ranks.as_slice();
    let matches = matches(ranks);
    if matches.is_empty() {
        return Err(Error::NothingInCommon);
    }
    let clocks = clocks(ranks, &matches);
    let occurrences = occurrences(ranks, &matches, &clocks);
    let by_step = occurrences.iter().any(|found| found.step.is_some());
    let mut numbers: Vec<Option<u32>> = occurrences.iter().map(|found| found.step).collect();
    numbers.sort_unstable();
    numbers.dedup();
    if by_step {
        numbers.retain(Option::is_some);
    }
    let steps = numbers.len().max(1) as u64;
    let all_calls: usize = ranks.iter().map(|rank| rank.calls.len()).sum();
    let matched: usize = occurrences.iter().map(|found| found.ranks.len()).sum();
    let mut results: Vec<RankResult> =
        ranks.iter().zip(&clocks).map(|(rank, clock)| of_rank(rank, *clock, &occurrences, steps)).collect();
    straggler::mark_outliers(&mut results);
    let elapsed_ms = results.iter().map(|rank| rank.elapsed_ms).fold(0.0, f64::max);
    Ok(Ranks {
        per: if by_step { "step" } else { "whole" },
        steps,
        world_size: ranks.iter().filter_map(|rank| rank.world_size).max(),
        elapsed_ms,
        matched_collectives: occurrences.len() as u64,
        unmatched_calls: (all_calls - matched) as u64,
        straggler: straggler::straggler(ranks, &results, &occurrences, steps, elapsed_ms),
        ranks: results,
        collectives: collectives(&occurrences),
        steps_ms: numbers.iter().filter_map(|step| of_step(*step, &occurrences)).collect(),
        occurrences,
    })
}

/// Every collective by start. Ranks whose clock is not known are left out.
fn occurrences(ranks: &[Rank], matches: &[Match], clocks: &[Option<Clock>]) -> Vec<Occurrence> {
    let mut found: Vec<(Picoseconds, Occurrence)> =
        matches.iter().filter_map(|found| occurrence(ranks, found, clocks)).collect();
    found.sort_by_key(|(start, _)| *start);
    let first = found.first().map_or(0, |(start, _)| *start);
    let mut numbers: BTreeMap<(String, String, Option<u32>), u32> = BTreeMap::new();
    for (start, occurrence) in &mut found {
        let key = (occurrence.kind.clone(), occurrence.group.clone(), occurrence.step);
        let number = numbers.entry(key).or_default();
        *number += 1;
        occurrence.number = *number;
        // Starts were relative to the first of the occurrence.
        let offset = microseconds(*start - first);
        occurrence.ranks.iter_mut().for_each(|rank| rank.start_us += offset);
    }
    found.into_iter().map(|(_, occurrence)| occurrence).collect()
}

fn occurrence(ranks: &[Rank], found: &Match, clocks: &[Option<Clock>]) -> Option<(Picoseconds, Occurrence)> {
    let aligned = |rank: usize, at: usize| {
        let (clock, call) = (clocks[rank]?, &ranks[rank].calls[at]);
        Some((rank, at, clock.aligned(call.start), clock.aligned(call.end)))
    };
    let times: Vec<(usize, usize, Picoseconds, Picoseconds)> =
        found.members.iter().filter_map(|(rank, at)| aligned(*rank, *at)).collect();
    let (first, last) = (times.iter().map(|time| time.2).min()?, times.iter().map(|time| time.2).max()?);
    if times.len() < 2 {
        return None;
    }
    // Whoever has left a broadcast, or has sent, waits for nobody who comes later.
    let together = leave_together(&ranks[times[0].0].calls[times[0].1].kind);
    let last_place = times.iter().position(|time| time.2 == last)?;
    let us = |time: Picoseconds| microseconds(time - first);
    let row = |(place, (rank, at, start, end)): (usize, &(usize, usize, Picoseconds, Picoseconds))| {
        let call = &ranks[*rank].calls[*at];
        let duration = call.end - call.start;
        let last_needed = times.iter().filter(|time| together || time.2 < *end).map(|time| time.2).max();
        let waiting = (last_needed.unwrap_or(*start) - start).clamp(0, duration);
        let others = || times.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, time)| time);
        let starts = || others().map(|time| us(time.2));
        let is_waited_for = together || others().any(|time| time.3 > *start);
        let held_up = if is_waited_for { us(last) - starts().fold(0.0, f64::max) } else { 0.0 };
        let late_us = us(*start) - median(starts().collect());
        OccurrenceOfRank {
            rank: ranks[*rank].rank,
            start_us: us(*start),
            waiting_us: microseconds(waiting),
            transfer_us: microseconds(duration - waiting),
            late_us: if is_waited_for { late_us } else { late_us.min(0.0) },
            held_up_us: if place == last_place { held_up } else { 0.0 },
            before: call.before.clone(),
        }
    };
    let rows = times.iter().enumerate().map(row).collect();
    let (rank, at, ..) = times[0];
    let call = &ranks[rank].calls[at];
    let (kind, group) = (call.kind.clone(), call.group.clone());
    Some((first, Occurrence { kind, group, step: call.step, number: 0, ranks: rows }))
}

impl Occurrence {
    /// The rank that starts last.
    pub fn last(&self) -> Option<u32> {
        let starts = self.ranks.iter();
        starts.rev().max_by(|a, b| a.start_us.total_cmp(&b.start_us)).map(|rank| rank.rank)
    }

    /// A rank in it.
    pub fn of(&self, rank: u32) -> Option<&OccurrenceOfRank> {
        self.ranks.iter().find(|found| found.rank == rank)
    }
}

fn of_rank(rank: &Rank, clock: Option<Clock>, occurrences: &[Occurrence], steps: u64) -> RankResult {
    let rows = || occurrences.iter().filter_map(|found| found.of(rank.rank));
    let per_step = |time: fn(&OccurrenceOfRank) -> f64| rows().map(time).sum::<f64>() / 1000.0 / steps as f64;
    let parts = &rank.parts;
    RankResult {
        rank: rank.rank,
        trace: rank.path.to_string_lossy().into_owned(),
        collectives: rows().count() as u64,
        clock_ahead_us: clock.map(|clock| clock.ahead / 1e6),
        clock_drift_ppm: clock.map(|clock| clock.drift * 1e6),
        elapsed_ms: parts.elapsed_ms,
        busy_ms: parts.compute_ms + parts.exposed_communication_ms + parts.exposed_copies_ms,
        compute_ms: parts.compute_ms,
        exposed_communication_ms: parts.exposed_communication_ms,
        host_late_ms: parts.host_late_ms,
        device_idle_ms: parts.device_idle_ms,
        waiting_ms: per_step(|row| row.waiting_us),
        transfer_ms: per_step(|row| row.transfer_us),
        late_ms: per_step(|row| row.late_us),
        last: occurrences.iter().filter(|found| found.last() == Some(rank.rank)).count() as u64,
        outlier: Vec::new(),
    }
}

fn collectives(occurrences: &[Occurrence]) -> Vec<Collective> {
    let mut kinds: BTreeMap<(&str, &str), Vec<&Occurrence>> = BTreeMap::new();
    for found in occurrences {
        kinds.entry((&found.kind, &found.group)).or_default().push(found);
    }
    let row = |((kind, group), found): ((&str, &str), Vec<&Occurrence>)| {
        let mut ranks: BTreeMap<u32, Vec<&OccurrenceOfRank>> = BTreeMap::new();
        found.iter().flat_map(|found| &found.ranks).for_each(|row| ranks.entry(row.rank).or_default().push(row));
        let last = |rank: u32| found.iter().filter(|found| found.last() == Some(rank)).count() as u64;
        let of = |rows: &[&OccurrenceOfRank], time: fn(&OccurrenceOfRank) -> f64| {
            mean(&rows.iter().map(|row| time(row)).collect::<Vec<f64>>())
        };
        let ranks: Vec<CollectiveOfRank> = ranks
            .into_iter()
            .map(|(rank, rows)| CollectiveOfRank {
                rank,
                waiting_us: of(&rows, |row| row.waiting_us),
                transfer_us: of(&rows, |row| row.transfer_us),
                late_us: of(&rows, |row| row.late_us),
                last: last(rank),
            })
            .collect();
        let latest = ranks.iter().rev().max_by(|a, b| a.late_us.total_cmp(&b.late_us));
        let (latest_rank, late_us, last) = latest.map_or((0, 0.0, 0), |rank| (rank.rank, rank.late_us, rank.last));
        let all: Vec<&OccurrenceOfRank> = found.iter().flat_map(|found| &found.ranks).collect();
        Collective {
            kind: kind.to_owned(),
            group: group.to_owned(),
            count: found.len() as u64,
            transfer_us: of(&all, |row| row.transfer_us),
            waiting_us: of(&all, |row| row.waiting_us),
            latest_rank,
            late_us,
            last_share: last as f64 / found.len() as f64,
            ranks,
        }
    };
    let mut rows: Vec<Collective> = kinds.into_iter().map(row).collect();
    // Stable: by name where the same is waited.
    rows.sort_by(|a, b| (b.waiting_us * b.count as f64).total_cmp(&(a.waiting_us * a.count as f64)));
    rows
}

fn of_step(step: Option<u32>, occurrences: &[Occurrence]) -> Option<Step> {
    let mut late: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for row in occurrences.iter().filter(|found| found.step == step).flat_map(|found| &found.ranks) {
        let (late_us, waiting_us) = late.entry(row.rank).or_default();
        *late_us += row.late_us;
        *waiting_us += row.waiting_us;
    }
    let (rank, (late_us, _)) = late.iter().rev().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let waiting: Vec<f64> = late.values().map(|(_, waiting_us)| waiting_us / 1000.0).collect();
    Some(Step { step, rank: *rank, late_ms: late_us / 1000.0, waiting_ms: mean(&waiting) })
}
