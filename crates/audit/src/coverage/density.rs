//! How densely a database is measured, against a standard: rules per axis, and nine conditions.
//!
//! ```
//! use perfdb_audit::coverage::density::{Inputs, Standard, Verdict, check};
//!
//! # let folder = tempfile::tempdir()?;
//! let header = "Input Shapes,Input Data Types,Output Shapes,Average Duration(us)\n";
//! let row = |tokens: u32| format!("\"{tokens},512;{tokens},512\",DT_BF16;DT_BF16,\"{tokens},512\",5\n");
//! std::fs::write(folder.path().join("Add.csv"), [header, &row(128), &row(256), &row(1024)].concat())?;
//!
//! let report = check(&Inputs::new(folder.path()))?;
//! let tokens = report.findings.iter().find(|finding| finding.axis == "tokens").unwrap();
//! assert_eq!(tokens.hole.map(|hole| hole.repair()), Some(512));
//! assert_eq!(report.gates[1], Verdict::Failed(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod axes;
mod buckets;
mod check;
mod finding;
mod gates;
mod hold_out;
mod inputs;
mod judgeable;
mod messages;
mod questions;
mod ranges;
mod repair;
mod report;
mod rows;
mod spacing;
mod standard;

pub use check::check;
pub use finding::{Finding, Kind, Verdict};
pub use inputs::Inputs;
pub use messages::MessageSizes;
pub use questions::{Class, Judged};
pub use ranges::{Declaration, Wanted};
pub use repair::{Repair, repair_tables};
pub use report::{Counts, Report};
pub use spacing::{Hole, Limit, Rule, Segment};
pub use standard::{Malformed, Standard};
