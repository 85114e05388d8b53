//! The tests of this crate are one program: that is linked once.

mod appended;
mod density;
mod diff;
mod merge;
mod workload;
