//! Profiler output to tables: one per kernel type, with profiled averages.
//!
//! Rows are grouped by kernel type, input shapes and output shapes, as texts. Sums are accumulated in row order, so that the digits are the
//! same however many threads read. Memory grows with the groups and one number per sample.
//!
//! ```no_run
//! use perfdb_store::kernel_details::{self, Options};
//! use perfdb_files::lock::{DEFAULT_TIMEOUT, LockOptions};
//!
//! # fn main() -> Result<(), perfdb_store::Error> {
//! let lock = LockOptions { tool: "my-program", timeout: DEFAULT_TIMEOUT, notice: &|_| {} };
//! let mut options = Options::new("profile".as_ref(), "database".as_ref(), lock);
//! options.threads = 2;
//! let summary = kernel_details::parse(&options)?;
//! println!("{} tables", summary.files.len());
//! # Ok(()) }
//! ```

mod attention;
mod groups;
mod inputs;
mod old;
mod overview;
mod rows;
mod run;
mod sums;
mod tables;
#[cfg(test)]
mod tests;
mod texts;
mod warning;

pub use inputs::files_of;
pub use overview::Overview;
pub use run::{FileSummary, Options, Prepared, Summary, parse, prepare, prepare_tables, read_tables};
pub use tables::NewTable;
pub use warning::Warning;
