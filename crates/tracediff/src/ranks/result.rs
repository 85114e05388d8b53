//! What many ranks show. Every type serialises to the keys of the JSON output, in their order.

use serde::Serialize;

/// The ranks of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranks {
    /// `step`, or `whole` where steps are not known.
    pub per: &'static str,
    /// Number of steps; 1 where they are not known.
    pub steps: u64,
    /// Number of ranks of the run, if the traces say. Waiting for ranks without a trace counts as transfer.
    pub world_size: Option<u32>,
    /// Time per step of the slowest rank.
    pub elapsed_ms: f64,
    /// Collectives that two ranks or more have.
    pub matched_collectives: u64,
    /// Calls that no other rank has.
    pub unmatched_calls: u64,
    /// The rank that the others wait for, if one is late by 1 % of the time of a step.
    pub straggler: Option<Straggler>,
    /// Each rank, by number.
    pub ranks: Vec<RankResult>,
    /// Collectives by kind and process group, by the time that is waited for them.
    pub collectives: Vec<Collective>,
    /// Each step, in order.
    pub steps_ms: Vec<Step>,
    /// Every collective; no part of the JSON.
    #[serde(skip)]
    pub occurrences: Vec<Occurrence>,
}

/// The rank that the others wait for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Straggler {
    /// Its number.
    pub rank: u32,
    /// By how much it starts collectives after the median of the others, summed over a step.
    pub late_ms: f64,
    /// What all others wait for it alone per step: up to this much shorter would a step be without it.
    pub held_up_ms: f64,
    /// `late_ms` of the time of a step; nothing where that is 0.
    pub share: Option<f64>,
    /// Part of its collectives that it starts last.
    pub last_share: f64,
    /// Part of `late_ms` at the first collective of all: traces that begin at different times look like that.
    pub first_ms: f64,
    /// What it does longer than the median of the others, in ms per step, longest first: `compute`, `host late`,
    /// `device idle`, `exposed copies`.
    pub longer_ms: Vec<(&'static str, f64)>,
    /// Where it is late, by how much, the worst first.
    pub places: Vec<Place>,
}

/// A collective of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Place {
    /// Kind of the collective.
    pub kind: String,
    /// Name and ranks of its process group; empty where the trace does not say.
    pub group: String,
    /// Number of the collective among those of its kind and group in the step, from 1.
    pub number: u32,
    /// By how much the rank starts it after the median of the others, per step.
    pub late_ms: f64,
    /// The kernel that the rank starts last before it.
    pub before: String,
}

/// One rank; times in ms per step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankResult {
    /// Its number.
    pub rank: u32,
    /// Its trace.
    pub trace: String,
    /// Its collectives that other ranks have too, in all steps.
    pub collectives: u64,
    /// By how much its clock was ahead of that of the first rank, us; nothing where no collective connects them.
    pub clock_ahead_us: Option<f64>,
    /// By how much its clock gained on that of the first rank, in millionths.
    pub clock_drift_ppm: Option<f64>,
    /// All of its time.
    pub elapsed_ms: f64,
    /// Something ran on the GPU.
    pub busy_ms: f64,
    /// A kernel ran that does not communicate.
    pub compute_ms: f64,
    /// Only kernels ran that communicate.
    pub exposed_communication_ms: f64,
    /// Nothing ran, because the host launched too late.
    pub host_late_ms: f64,
    /// Nothing ran for another reason.
    pub device_idle_ms: f64,
    /// In collectives, before the last rank came.
    pub waiting_ms: f64,
    /// In collectives, after the last rank came.
    pub transfer_ms: f64,
    /// By how much it starts collectives after the median of the other ranks; negative: before.
    pub late_ms: f64,
    /// Collectives that it starts last, in all steps.
    pub last: u64,
    /// What sets it apart from most other ranks: `compute`, `host late`, `device idle`, `late`.
    pub outlier: Vec<&'static str>,
}

/// Collectives of one kind in one process group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Collective {
    /// Kind.
    pub kind: String,
    /// Name and ranks of the process group; empty where the trace does not say.
    pub group: String,
    /// How many, in all steps.
    pub count: u64,
    /// Mean time of a rank in one, after the last rank came.
    pub transfer_us: f64,
    /// Mean time of a rank in one, before the last rank came.
    pub waiting_us: f64,
    /// The rank that starts it latest on average.
    pub latest_rank: u32,
    /// By how much this rank starts it after the median of the others, on average.
    pub late_us: f64,
    /// Part of them that this rank starts last.
    pub last_share: f64,
    /// Each rank.
    pub ranks: Vec<CollectiveOfRank>,
}

/// A rank in the collectives of one kind; mean times of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectiveOfRank {
    /// Its number.
    pub rank: u32,
    /// Before the last rank came.
    pub waiting_us: f64,
    /// After the last rank came.
    pub transfer_us: f64,
    /// By how much it starts after the median of the others.
    pub late_us: f64,
    /// How many it starts last.
    pub last: u64,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// Its number; nothing for what lies in no step.
    pub step: Option<u32>,
    /// The rank that is latest in it.
    pub rank: u32,
    /// By how much that is.
    pub late_ms: f64,
    /// Mean time of a rank that it waits in collectives.
    pub waiting_ms: f64,
}

/// A collective on all ranks that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Occurrence {
    /// Kind.
    pub kind: String,
    /// Name and ranks of the process group.
    pub group: String,
    /// Number of the step.
    pub step: Option<u32>,
    /// Number among those of its kind and group in the step, from 1.
    pub number: u32,
    /// Its ranks, by number.
    pub ranks: Vec<OccurrenceOfRank>,
}

/// A collective on one rank; times in us on the clock of the first rank.
#[derive(Debug, Clone, PartialEq)]
pub struct OccurrenceOfRank {
    /// Its number.
    pub rank: u32,
    /// Start, from the first collective of all ranks.
    pub start_us: f64,
    /// Before the last rank came.
    pub waiting_us: f64,
    /// After the last rank came.
    pub transfer_us: f64,
    /// Start less the median of the starts of the other ranks.
    pub late_us: f64,
    /// How much of it all other ranks wait for this one alone: to the start of the next to last rank; 0 unless it is last.
    pub held_up_us: f64,
    /// The kernel that the rank starts last before it.
    pub before: String,
}
