//! Measuring a whole database: what may run, the run's folder, msprof, and where the numbers come from.
//!
//! ```
//! use perfdb_microbench::run_all::choose;
//!
//! let operators = choose(&["MatMulV2", "Add"])?;
//! assert_eq!(operators.iter().map(|operator| operator.name).collect::<Vec<_>>(), ["Add", "MatMulV2"]);
//! # Ok::<(), perfdb_replay::error::Error>(())
//! ```

mod child;
pub mod directory;
pub mod eligibility;
pub mod msprof;
pub mod origin;
pub mod resume;
pub mod run_all;
pub mod status;
