//! Traces of the simulator.

mod collect;
mod layers;
mod prepared;
mod rules;

pub(crate) use collect::TcCollector;
