//! Many pairs of traces from a list.

mod list;
mod run;

pub use list::{Format, PairList, PairSettings, PairSpec};
pub use run::{LoadedPair, run_pairs};
