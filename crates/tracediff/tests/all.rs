//! The tests of this crate are one program: that is linked once.

mod classes;
mod confidence;
mod demo_pair;
mod elapsed;
mod explanation;
mod found_passes;
mod gold;
mod layers;
mod legacy;
#[path = "one_trace/main.rs"]
mod one_trace;
mod pieces;
mod planted;
mod profiles;
mod properties;
mod ranks;
mod rooflines;
mod servers;
mod trust;
