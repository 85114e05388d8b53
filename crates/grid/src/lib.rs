//! Theory shape grids: which shapes the kernels of a database could see, as new rows that wait for measurement.
//!
//! A [rule file](rules) describes the candidates of each kernel; [models] prune them; a run draws some, drops
//! those that are too large or there already, and appends the rest to the tables.
//!
//! ```
//! use perfdb_grid::{Choice, Mode, Options, Semantics, prepare};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! let table = folder.path().join("RmsNorm.csv");
//! std::fs::write(&table, "Input Shapes,Input Data Types,Average Duration(us)\n\"8,128;128\",DT_BF16;DT_BF16,2.5\n").unwrap();
//! let options = Options {
//!     directory: folder.path().to_owned(),
//!     models: None,
//!     rows: 3.into(),
//!     choice: Choice::Random,
//!     seed: 20260409.into(),
//!     max_hbm_gib: 32.0,
//!     config: None,
//!     semantics: Semantics::Upstream,
//!     threads: None,
//! };
//! let prepared = prepare(&options, Mode::DryRun, None, &|_, _| {})?;
//! let file = &prepared.summary().files[0];
//! assert_eq!((file.rule.as_deref(), file.candidates, file.appended), (Some("rmsnorm"), 481, 3));
//! # Ok::<(), perfdb_grid::Error>(())
//! ```
#![forbid(unsafe_code)]
// A part of the tools, whose interface promises nothing: what its name says needs no comment.
#![allow(missing_docs)]

pub mod candidate;
mod discovery;
pub mod enumeration;
mod error;
pub mod expression;
pub mod generators;
pub mod grids;
pub mod memory;
pub mod models;
pub mod routing;
pub mod rules;
mod run;
mod semantics;
pub mod shape_template;
pub mod slots;
pub mod summary;
mod table;
pub mod template;

pub use error::Error;
pub use run::{Choice, Mode, Options, Prepared, Progress, prepare};
pub use semantics::Semantics;
pub use table::growth::RowFilter;
