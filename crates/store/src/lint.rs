//! Finding what is wrong with a database that nobody has looked at for a while.
//!
//! ```no_run
//! # fn main() -> Result<(), perfdb_store::Error> {
//! let findings = perfdb_store::lint::check("database".as_ref())?;
//! for finding in &findings.findings {
//!     println!("{finding}");
//! }
//! # Ok(()) }
//! ```

mod check;
mod disagreement;
mod finding;
mod mapping;
mod table;

pub use check::{Checked, check, check_with};
pub use disagreement::disagreements;
pub use finding::{Finding, Kind};
pub use perfdb_files::severity::Severity;
pub use table::Refusal;
