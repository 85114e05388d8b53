//! Measuring a whole database: what may run, the run's folder, msprof, and where the numbers come from.
//!
//! ```
//! use perfdb_replay::microbench::run_all::choose;
//!
//! let operators = choose(&["MatMulV2", "Add"])?;
//! assert_eq!(operators.iter().map(|operator| operator.name).collect::<Vec<_>>(), ["Add", "MatMulV2"]);
//! # Ok::<(), perfdb_replay::microbench::error::Error>(())
//! ```

mod directory;
mod eligibility;
pub mod error;
mod measure;
pub mod msprof;
pub mod origin;
mod process_group;
pub mod remaining;
pub mod reporter;
mod resume;
pub mod run;
pub mod run_all;
mod selection;
pub mod status;
mod write_back;
