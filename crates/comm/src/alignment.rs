//! Checks measured communication tables against a small analytic model.
//!
//! ```
//! use perfdb_comm::alignment::{AlignmentOptions, check};
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(
//!     folder.path().join("hcom_allReduce_.csv"),
//!     "message_bytes,num_devices,topology_tier,Duration(us)\n1048576,16,1,20.0\n",
//! )?;
//! let alignment = check(folder.path(), &AlignmentOptions::default())?;
//! assert!(alignment.is_ok());
//! assert_eq!(alignment.reports[0].pass(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod model;
mod rows;
mod text;

pub use check::{Alignment, AlignmentOptions, AlignmentPoint, OperatorReport, Status, check};
pub use model::{ModelKind, predict_us};
pub use text::{to_json, to_text, verdict};
