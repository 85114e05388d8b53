//! How long kernels take: operations and bytes, limits of devices, predictions between measured rows, statistics of measurements.
//!
//! ```
//! use perfdb_model::statistics::quantile;
//! ```
#![forbid(unsafe_code)]

pub mod predict;
pub mod roofline;
pub mod statistics;
pub mod workload;
