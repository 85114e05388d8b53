//! Communication bench: plan, executor on torchrun, aggregation, alignment check.
//!
//! ```
//! use perfdb_comm::collective::Collective;
//! use perfdb_comm::plan::PlanRequest;
//!
//! let request = PlanRequest {
//!     ops: vec![Collective::AllReduce],
//!     num_devices: vec![16, 2],
//!     bytes_grid: vec![1024, 1 << 20],
//!     ..PlanRequest::default()
//! };
//! let plan = request.plan()?;
//! assert_eq!(plan.configs.len(), 4);
//! assert_eq!(plan.min_world_size, 16);
//! assert_eq!(plan.configs[3].resolved_tier, 2);
//! # Ok::<(), perfdb_comm::Error>(())
//! ```
#![forbid(unsafe_code)]
// A part of the tools, whose interface promises nothing: what its name says needs no comment.
#![allow(missing_docs)]

pub mod aggregate;
pub mod alignment;
pub mod backend;
pub mod bandwidth;
pub mod bench;
pub mod collection;
pub mod collective;
mod document;
pub mod dtype;
pub mod engine;
mod error;
mod home;
pub mod plan;
mod profile;
pub mod results;
mod results_folder;
pub mod sessions;
pub mod tables;
pub mod topology;

pub use error::Error;
