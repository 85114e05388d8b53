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
use rules::{check_rows, check_work};
