//! How long kernels take: operations and bytes, limits of devices, predictions between measured rows, statistics of measurements.
//!
//! ```
//! use perfdb_model::roofline::{Device, MatMul, Operands, Precision};
//!
//! // A product of matrices on an H200 cannot take less than its operations take at the peak.
//! let work = MatMul { rows: 4096.0, columns: 8192.0, inner: 8192.0 }.work(Operands::of(Precision::Bf16));
//! let h200 = Device::find("NVIDIA H200").ok_or("no such device")?;
//! assert!(h200.shortest_us(work, Precision::Bf16).is_some_and(|shortest_us| (555.0..557.0).contains(&shortest_us)));
//! # Ok::<(), &str>(())
//! ```
//!
//! [`roofline`] knows kernels and devices, [`workload`] the operators of a PyTorch profile, [`predict`] answers between measured rows, and
//! [`statistics`] says whether two series of measured times differ.
#![forbid(unsafe_code)]
// A part of the tools, whose interface promises nothing: what its name says needs no comment.
#![allow(missing_docs)]

pub mod predict;
pub mod roofline;
pub mod statistics;
pub mod workload;
