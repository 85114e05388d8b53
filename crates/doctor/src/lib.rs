//! What is wrong with a trace, how much of its time that touches, and whether its sums add up.
//!
//! [`check`] reads a chrome trace of a GPU profiler or of the simulator, or a table with a row per kernel, and gives a
//! [`Report`]: findings with their evidence, a certificate of sums that add up, and how far numbers of the file can be
//! trusted. Who reads a GPU trace anyway uses a [`Collector`] beside it. [`repair`] writes a copy without what can be fixed
//! without inventing anything.
//!
//! ```
//! use perfdb_doctor::{Options, Trust, check};
//!
//! # let path = std::env::temp_dir().join(format!("perfdb-doctor-lib-{}.csv", std::process::id()));
//! std::fs::write(&path, "Type,Start Time(us),Duration(us),Stream ID,Wait Time(us),Accelerator Core\nAdd,10.5,-3,2,0,AI_VECTOR_CORE\n")?;
//! let report = check(&path, &Options::default())?;
//! assert_eq!(report.trust, Trust::Low);
//! assert_eq!(report.findings[0].code.name(), "NEGATIVE_DURATION");
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
// A part of the tools, whose interface promises nothing: what its name says needs no comment.
#![allow(missing_docs)]

mod certificate;
mod check;
mod code;
mod error;
mod file;
mod finding;
mod gpu;
mod input;
mod json;
mod lint;
mod order;
mod repair;
mod report;
mod table;
mod tc;

pub use certificate::{Certificate, Entry};
pub use check::{Options, check};
pub use code::{Code, UnknownCode};
pub use error::Error;
pub use finding::{Evidence, Finding};
pub use gpu::{Collector, Taken, Times, findings_of_profile};
pub use input::Input;
pub use perfdb_files::severity::Severity;
pub use repair::{Packing, Repairs, repair, repaired_line};
pub use report::{FORMAT_VERSION, Kind, Marks, Report, Selection, Trust};
