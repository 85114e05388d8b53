//! Traces of GPU profilers: Kineto, and what writes like it.

mod certificate;
mod collect;
mod columns;
mod coverage;
mod device;
mod graph;
mod prepared;
mod rules;

pub use collect::{Collector, Taken, Times};

use graph::Replays;
use prepared::Prepared;
use rules::check_all;
