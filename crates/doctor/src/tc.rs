//! Traces of the simulator.

mod collect;
mod layers;
mod prepared;
mod report;
mod rules;

pub(crate) use collect::TcCollector;
