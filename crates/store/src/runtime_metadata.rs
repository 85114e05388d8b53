//! Joining runtime records of attention kernels into their table.
//!
//! A profile knows the shapes of an attention kernel, not its sequence lengths. A run that dumps them as JSON lines makes up for it: rows and
//! records meet by the shapes that both know; a row with several records becomes several rows.
//!
//! ```no_run
//! use perfdb_files::lock::{DEFAULT_TIMEOUT, LockOptions};
//! use perfdb_store::runtime_metadata::{Options, fill};
//!
//! # fn main() -> Result<(), perfdb_store::Error> {
//! let table = "db/FusedInferAttentionScore.csv".as_ref();
//! let lock = LockOptions { tool: "my-program", timeout: DEFAULT_TIMEOUT, notice: &|_| {} };
//! let summary =
//!     fill(&Options { table, records: "fia.jsonl".as_ref(), output: table, tag: "runtime_values_dumped", lock })?;
//! println!("{} of {} rows matched", summary.matched, summary.rows);
//! # Ok(()) }
//! ```

mod fill;
mod record;
mod row;

pub use fill::{Options, Prepared, Summary, fill, prepare};
