//! The tests of this crate are one program: that is linked once.

mod attribution_cases;
mod attribution_details;
mod attribution_sums;
mod cut;
#[path = "planted_causes/main.rs"]
mod planted_causes;
mod scenarios;
