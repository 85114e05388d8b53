//! The tests of this crate are one program: that is linked once.

mod best;
mod best_experts;
mod by_hand;
mod classes;
mod corrected;
mod database;
mod evaluation;
mod repeats;
mod roofline;
mod traces;
mod vectors;
