//! The tests of this crate are one program: that is linked once.

mod descriptions;
mod families;
#[path = "serving/main.rs"]
mod serving;
mod traces;
