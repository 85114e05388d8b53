//! Traces of GPU profilers: Kineto, and what writes like it.

mod category;
mod certificate;
mod collect;
mod columns;
mod device;
mod graph;
mod prepared;
mod profile;
mod rules;
mod secrets;

pub use collect::{Collector, Taken, Times};
pub use profile::findings_of_profile;
pub(crate) use profile::report_of_profile;

use graph::Replays;
use prepared::Prepared;
use rules::{check_replays, check_rows, check_work};

/// Rows below which a thread costs more than it saves.
const WORTH_A_THREAD: usize = 10_000;

/// Does two pieces of work about this many rows, at the same time where that is worth it.
fn both<A, B: Send>(rows: usize, first: impl FnOnce() -> A, second: impl FnOnce() -> B + Send) -> (A, B) {
    if rows < WORTH_A_THREAD { (first(), second()) } else { perfdb_files::parallel::join(first, second) }
}
