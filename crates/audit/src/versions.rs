//! What changed between two databases, and bringing several into one.
//!
//! Databases are versioned by device and software, grown by several people, and measured again. [`diff`] compares two row by row: which cases
//! only one has, and which became slower beyond what their spreads explain. [`workload`] says what that does to a forward pass. [`merge`]
//! brings the rows of several databases into one and loses none.
//!
//! ```
//! use perfdb_audit::versions::{Place, diff};
//! # let folder = tempfile::tempdir()?;
//! let header = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Average Duration(us)\n";
//! for (version, us) in [("old", "5.0"), ("new", "6.0")] {
//!     std::fs::create_dir(folder.path().join(version))?;
//!     std::fs::write(folder.path().join(version).join("Add.csv"), format!("{header}\"8,4;8,4\",FLOAT;FLOAT,ND;ND,\"8,4\",FLOAT,{us}\n"))?;
//! }
//! let [old, new] = ["old", "new"].map(|version| Place::open(&folder.path().join(version)));
//! let found = diff::compare(&old?, &new?, &diff::Options::default(), |_table| Ok::<(), perfdb_audit::versions::Error>(()))?;
//! assert_eq!(found.total.slower, 1);
//! assert!((found.total.mean_ratio().unwrap() - 1.2).abs() < 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod case;
pub mod diff;
mod error;
mod kernel_types;
pub mod merge;
mod place;
mod source;
pub mod workload;

pub use case::Case;
pub use error::Error;
pub use place::Place;
pub use source::Source;
