//! From raw results to one value per point, and to rows.

use crate::backend::Backend;
use crate::collective::Collective;
use crate::dtype::CollectiveDType;
use crate::plan::{Batch, Plan};
use crate::profile::{CALLS_PER_SMALL_POINT, SESSIONS_PER_LARGE_POINT, large_session, read_session, small_session};
use crate::results::{PointResult, RankResults, Results, Timing};
use perfdb_pycompat::float::round;
use serde::Serialize;
use std::path::Path;

/// Whether the correction for the call chain of the serving framework is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DispatchOverhead {
    /// On NPUs, where it was measured.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl DispatchOverhead {
    /// Whether it is added to times of this engine.
    pub(crate) fn is_added(self, backend: Backend) -> bool {
        match self {
            Self::Auto => backend == Backend::Hccl,
            Self::On => true,
            Self::Off => false,
        }
    }
}

/// The value of one point, without correction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Index into the plan's points.
    #[serde(skip)]
    pub config: usize,
    /// The call that was used; `None` with kernel timing.
    pub api: Option<String>,
    /// Ranks whose times are known.
    pub ranks_reported: usize,
    /// Number of the leader's samples.
    pub samples: usize,
    /// Median of the leader's samples in microseconds, not rounded.
    pub median_us: f64,
    /// Smallest of the leader's samples in microseconds.
    pub min_us: f64,
    /// Largest of the leader's samples in microseconds.
    pub max_us: f64,
    /// Mean of the leader's samples in microseconds.
    pub mean_us: f64,
    /// Largest of the ranks' own medians in microseconds.
    pub slowest_rank_us: f64,
}

impl Measurement {
    /// The same with its times rounded to this number of decimals.
    #[must_use]
    pub(crate) fn rounded(&self, decimals: usize) -> Self {
        Self {
            median_us: round(self.median_us, decimals),
            min_us: round(self.min_us, decimals),
            max_us: round(self.max_us, decimals),
            mean_us: round(self.mean_us, decimals),
            slowest_rank_us: round(self.slowest_rank_us, decimals),
            ..self.clone()
        }
    }
}

/// A point without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Index into the plan's points.
    pub config: usize,
    /// Why.
    pub reason: String,
}

/// A row of a communication table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Operator; it names the table.
    pub op: Collective,
    /// Size label in bytes.
    pub message_bytes: u64,
    /// Ranks in the group.
    pub num_devices: u64,
    /// Element type of the tensors that were really sent.
    pub dtype: CollectiveDType,
    pub topology_tier: u64,
    /// Latency in microseconds, rounded to two decimals, correction included.
    pub duration_us: f64,
    /// Bytes per duration in 1e9 bytes per second, rounded to two decimals.
    pub bandwidth_gbps: f64,
}

/// What a results folder amounts to.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Points with a value, in plan order.
    pub measurements: Vec<Measurement>,
    /// Points without, in plan order.
    pub missing: Vec<Missing>,
    /// Rows in the order in which they are written.
    pub rows: Vec<Row>,
    /// Things that a reader of the outcome should know.
    pub warnings: Vec<String>,
}

/// The median; the mean of the two middle ones for an even count. `None` without samples.
///
/// ```
/// assert_eq!(perfdb_comm::aggregate::median(&[3.0, 1.0, 2.0, 10.0]), Some(2.5));
/// ```
pub fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Turns results into values and rows.
pub fn aggregate(results: &Results, dispatch_overhead: DispatchOverhead) -> Aggregate {
    let plan = &results.plan;
    let mut warnings = results.warnings.clone();
    let values: Vec<Result<Measurement, String>> = match results.run.timing {
        Timing::Event => (0..plan.configs.len()).map(|config| event_value(results, config)).collect(),
        Timing::Profiler => kernel_values(results, &mut warnings),
    };
    let order: Vec<usize> = match results.run.timing {
        Timing::Event => (0..plan.configs.len()).collect(),
        Timing::Profiler => plan.batches.iter().flat_map(|b| b.small.iter().chain(&b.large).copied()).collect(),
    };
    let corrected = dispatch_overhead.is_added(results.run.backend);
    let row_of = |config: usize| {
        let value = values.get(config)?.as_ref().ok()?;
        Some(row(plan, value, results.run.executed_dtype, corrected))
    };
    let rows = order.into_iter().filter_map(row_of).collect();
    let (mut measurements, mut missing) = (Vec::new(), Vec::new());
    for (config, value) in values.into_iter().enumerate() {
        match value {
            Ok(value) => measurements.push(value),
            Err(reason) => missing.push(Missing { config, reason }),
        }
    }
    Aggregate { measurements, missing, rows, warnings }
}

fn row(plan: &Plan, value: &Measurement, dtype: CollectiveDType, corrected: bool) -> Row {
    let point = &plan.configs[value.config];
    let overhead = if corrected { point.op.dispatch_overhead_us(point.num_devices) } else { 0.0 };
    let mut duration_us = round(value.median_us, 2);
    let mut basis_us = value.median_us;
    if overhead != 0.0 {
        duration_us = round(duration_us + overhead, 2);
        basis_us = duration_us;
    }
    Row {
        op: point.op,
        message_bytes: point.message_bytes,
        num_devices: point.num_devices,
        dtype,
        topology_tier: point.topology_tier,
        duration_us,
        bandwidth_gbps: round(point.message_bytes as f64 / (basis_us * 1e-6) / 1e9, 2),
    }
}

fn measurement(config: usize, samples: &[f64]) -> Result<Measurement, String> {
    let median_us = median(samples).ok_or("no samples")?;
    let sum: f64 = samples.iter().sum();
    Ok(Measurement {
        config,
        api: None,
        ranks_reported: 1,
        samples: samples.len(),
        median_us,
        min_us: samples.iter().copied().fold(f64::INFINITY, f64::min),
        max_us: samples.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        mean_us: sum / samples.len() as f64,
        slowest_rank_us: median_us,
    })
}

/// The rank, if any, that found wrong values at this point.
fn wrong_rank(results: &Results, ranks: &[u64], config: usize) -> Option<u64> {
    ranks.iter().copied().find(|rank| results.ranks.get(rank).is_some_and(|r| r.wrong.contains(&config)))
}

/// The leader's samples decide; the other ranks are only counted and compared.
fn event_value(results: &Results, config: usize) -> Result<Measurement, String> {
    let ranks = &results.plan.groups[results.plan.configs[config].group].ranks;
    if let Some(rank) = wrong_rank(results, ranks, config) {
        return Err(format!("rank {rank} found a wrong result"));
    }
    let leader = ranks[0];
    let Some(of_leader) = results.ranks.get(&leader) else {
        return Err(format!("no results of rank {leader}"));
    };
    let mut value = match of_leader.points.get(&config) {
        Some(PointResult::Samples { api, samples_us }) => {
            let value = measurement(config, samples_us)?;
            Measurement { api: api.clone(), ranks_reported: 0, ..value }
        }
        Some(PointResult::Failed(reason)) => return Err(reason.clone()),
        None => return Err(not_reached(of_leader, leader)),
    };
    for rank in ranks {
        let point = results.ranks.get(rank).and_then(|r| r.points.get(&config));
        if let Some(PointResult::Samples { samples_us, .. }) = point
            && let Some(median_us) = median(samples_us)
        {
            value.ranks_reported += 1;
            value.slowest_rank_us = value.slowest_rank_us.max(median_us);
        }
    }
    Ok(value)
}

fn not_reached(rank: &RankResults, number: u64) -> String {
    let ended = if rank.done { "left it out" } else { "ended before it" };
    format!("rank {number} {ended}")
}

/// Values of a run with kernel timing, batch by batch.
fn kernel_values(results: &Results, warnings: &mut Vec<String>) -> Vec<Result<Measurement, String>> {
    let plan = &results.plan;
    let mut values: Vec<Result<Measurement, String>> =
        plan.configs.iter().map(|_| Err("in no batch of the plan".to_owned())).collect();
    for (number, batch) in plan.batches.iter().enumerate() {
        small_values(results, number, batch, &mut values, warnings);
        for (large, &config) in batch.large.iter().enumerate() {
            values[config] = large_value(&results.directory, number, batch.op, large, config, warnings);
        }
    }
    for (config, value) in values.iter_mut().enumerate() {
        let ranks = &plan.groups[plan.configs[config].group].ranks;
        let failed = results.ranks.get(&ranks[0]).and_then(|rank| rank.points.get(&config));
        if let Some(PointResult::Failed(reason)) = failed {
            *value = Err(reason.clone());
        } else if let Some(rank) = wrong_rank(results, ranks, config) {
            *value = Err(format!("rank {rank} found a wrong result"));
        }
    }
    values
}

/// The common session of the small sizes. Of a size that occurs more than once the last occurrence serves all.
fn small_values(
    results: &Results,
    number: usize,
    batch: &Batch,
    values: &mut [Result<Measurement, String>],
    warnings: &mut Vec<String>,
) {
    if batch.small.is_empty() {
        return;
    }
    let folder = small_session(&results.directory, number);
    let bytes_of = |config: usize| results.plan.configs[config].message_bytes;
    match read_session(&folder, batch.op, CALLS_PER_SMALL_POINT * batch.small.len()) {
        Ok(entries) => {
            for &config in &batch.small {
                let last = batch.small.iter().rposition(|other| bytes_of(*other) == bytes_of(config)).unwrap_or(0);
                let own = &entries[last * CALLS_PER_SMALL_POINT..(last + 1) * CALLS_PER_SMALL_POINT];
                values[config] = measurement(config, own);
            }
        }
        Err(reason) => {
            let reason = format!("session b{number}-small dropped: {reason}");
            warnings.push(format!("{}: {reason}", perfdb_files::escape::shown(&folder)));
            for &config in &batch.small {
                values[config] = Err(reason.clone());
            }
        }
    }
}

/// The sessions of one large point; those that give no value are left out.
fn large_value(
    directory: &Path,
    batch: usize,
    op: Collective,
    large: usize,
    config: usize,
    warnings: &mut Vec<String>,
) -> Result<Measurement, String> {
    let mut samples = Vec::new();
    let mut last_reason = String::new();
    for session in 0..SESSIONS_PER_LARGE_POINT {
        let folder = large_session(directory, batch, large, session);
        match read_session(&folder, op, 1) {
            Ok(entries) => samples.extend(entries),
            Err(reason) => {
                warnings.push(format!("{}: session dropped: {reason}", perfdb_files::escape::shown(&folder)));
                last_reason = reason;
            }
        }
    }
    measurement(config, &samples)
        .map_err(|_| format!("none of {SESSIONS_PER_LARGE_POINT} sessions gave a value: {last_reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BenchMode, PlanRequest};
    use crate::results::{RUN_SCHEMA, RunRecord};

    fn results(backend: Backend, devices: u64, leader: &[f64]) -> Results {
        let request = PlanRequest {
            ops: vec![Collective::AllGather],
            num_devices: vec![devices],
            bytes_grid: vec![1_048_576],
            bench_mode: BenchMode::Event,
            ..PlanRequest::default()
        };
        let mut ranks = std::collections::BTreeMap::new();
        let mut of_leader = RankResults::default();
        of_leader.points.insert(0, PointResult::Samples { api: None, samples_us: leader.to_vec() });
        ranks.insert(0, of_leader);
        Results {
            directory: "none".into(),
            plan: request.plan().unwrap(),
            run: RunRecord {
                schema: RUN_SCHEMA.into(),
                backend,
                timing: Timing::Event,
                world_size: devices,
                torch: "2.9.0".into(),
                executed_dtype: CollectiveDType::BFLOAT16,
            },
            ranks,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[2.0, 9.0, 1.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
    }

    #[test]
    fn the_correction_is_added_to_the_rounded_median_and_bandwidth_follows_it() {
        let row = |backend, overhead| aggregate(&results(backend, 8, &[30.126]), overhead).rows[0].clone();
        let corrected = row(Backend::Hccl, DispatchOverhead::Auto);
        assert_eq!((corrected.duration_us, corrected.bandwidth_gbps), (31.33, 33.47));
        let plain = row(Backend::Gloo, DispatchOverhead::Auto);
        assert_eq!((plain.duration_us, plain.bandwidth_gbps), (30.13, 34.81));
        assert_eq!(row(Backend::Gloo, DispatchOverhead::On), corrected);
        assert_eq!(row(Backend::Hccl, DispatchOverhead::Off), plain);
    }

    #[test]
    fn other_ranks_feed_the_report_only() {
        let mut results = results(Backend::Gloo, 4, &[10.0, 12.0]);
        let mut slow = RankResults::default();
        slow.points.insert(0, PointResult::Samples { api: None, samples_us: vec![50.0] });
        results.ranks.insert(2, slow);
        let mut failed = RankResults::default();
        failed.points.insert(0, PointResult::Failed("gone".into()));
        results.ranks.insert(3, failed);
        let aggregate = aggregate(&results, DispatchOverhead::Auto);
        let value = &aggregate.measurements[0];
        assert_eq!((value.median_us, value.ranks_reported, value.slowest_rank_us), (11.0, 2, 50.0));
        assert_eq!((value.min_us, value.max_us, value.mean_us, value.samples), (10.0, 12.0, 11.0, 2));
    }

    #[test]
    fn a_wrong_result_on_any_rank_leaves_no_row() {
        let mut results = results(Backend::Gloo, 4, &[10.0]);
        results.ranks.insert(3, RankResults { wrong: vec![0], ..RankResults::default() });
        let aggregate = aggregate(&results, DispatchOverhead::Auto);
        assert!(aggregate.rows.is_empty());
        assert_eq!(aggregate.missing[0].reason, "rank 3 found a wrong result");
    }

    #[test]
    fn without_the_leader_there_is_no_value() {
        let mut results = results(Backend::Gloo, 4, &[10.0]);
        let leader = results.ranks.remove(&0).unwrap();
        results.ranks.insert(1, leader);
        assert_eq!(aggregate(&results, DispatchOverhead::Auto).missing[0].reason, "no results of rank 0");
    }
}
