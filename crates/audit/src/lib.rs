//! Databases as a whole: whether one is good enough for a workload, what changed between two, and several brought into one.
//!
//! [`coverage`] asks a database for each call of a workload; [`versions`] compares and merges.
#![forbid(unsafe_code)]
// A part of the tools, whose interface promises nothing: what its name says needs no comment.
#![allow(missing_docs)]

pub mod calibrate;
pub mod coverage;
pub mod versions;
