//! The tests of this crate are one program: that is linked once.

mod definitions;
mod odd_cases;
#[path = "row_rules/main.rs"]
mod row_rules;
mod vectors;
mod worker;
mod worker_process;
