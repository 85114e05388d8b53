//! Traces of the simulator.

mod collect;
mod layers;
mod operations;
mod prepared;
mod report;
mod rules;

pub(crate) use collect::TcCollector;
