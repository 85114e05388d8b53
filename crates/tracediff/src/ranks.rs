//! Traces of many ranks of one run: which rank is late, where, and what that costs per step.
//!
//! A collective ends for all of its ranks at the same time, so its ends align the clocks, and the rank that starts it last
//! is the one that all others wait for. [`Rank::open`] reduces a trace to its collectives and the parts of its time, and
//! [`report`] matches the collectives of all ranks.
//!
//! ```
//! use perfdb_tracediff::ranks::{Call, PartsPerStep, Rank, report};
//!
//! // Two ranks, three steps with one all-reduce each; rank 1 comes 400 us late, and its clock is 7 s ahead.
//! const US: i128 = 1_000_000;
//! let rank = |number: u32, late: i128, clock: i128| Rank {
//!     rank: number,
//!     path: format!("rank{number}.json").into(),
//!     world_size: Some(2),
//!     calls: (0..3)
//!         .map(|step| Call {
//!             kind: "All-Reduce".into(),
//!             group: String::new(),
//!             before: "gemm".into(),
//!             step: Some(step),
//!             start: (i128::from(step) * 9000 + late + clock) * US,
//!             end: (i128::from(step) * 9000 + 500 + clock) * US,
//!         })
//!         .collect(),
//!     parts: PartsPerStep { steps: 3, elapsed_ms: 9.0, ..PartsPerStep::default() },
//! };
//! let found = report(vec![rank(0, 0, 0), rank(1, 400, 7_000_000)])?;
//! let straggler = found.straggler.expect("one is late");
//! let is = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
//! assert!(straggler.rank == 1 && is(straggler.late_ms, 0.4));
//! assert!(is(found.ranks[0].waiting_ms, 0.4) && is(found.ranks[1].transfer_ms, 0.1));
//! # Ok::<(), perfdb_tracediff::ranks::Error>(())
//! ```

mod clock;
mod error;
mod groups;
mod matching;
mod rank;
mod report;
mod result;
mod statistics;
mod straggler;

pub use error::Error;
pub(crate) use rank::traces_in;
pub use rank::{Call, PartsPerStep, Rank, find_traces};
pub use report::report;
pub use result::{
    Collective, CollectiveOfRank, Occurrence, OccurrenceOfRank, Place, RankResult, Ranks, Step, Straggler,
};
