//! Writing measurements into the tables of a database.
//!
//! `op_summary` files of a replay are aggregated into [`Samples`]; [`prepare`] finds the rows they belong to, in every table concerned and under
//! the lock, and leaves the new tables staged; [`Pending::commit`] replaces them together with any report the caller adds.
//!
//! ```no_run
//! use perfdb_files::lock::{DEFAULT_TIMEOUT, LockOptions};
//! use perfdb_store::update::{AggregateOptions, Mode, UpdateOptions, aggregate, find_summaries, prepare};
//!
//! # fn main() -> Result<(), perfdb_store::Error> {
//! let samples = aggregate(&find_summaries("PROF_000001".as_ref())?, &AggregateOptions::default())?;
//! let lock = LockOptions { tool: "my-program", timeout: DEFAULT_TIMEOUT, notice: &|_| {} };
//! let options = UpdateOptions::new("database".as_ref(), Mode::MissingOnly, lock);
//! let updates = prepare(&samples, &options)?.commit()?;
//! println!("{} rows updated", updates.iter().map(|table| table.updated).sum::<usize>());
//! # Ok(()) }
//! ```

mod aggregate;
mod assignment;
mod changes;
mod header;
mod layout;
mod merge;
mod outcome;
mod row;
mod run;
mod samples;
mod summaries;
mod writer;

pub use aggregate::{AggregateOptions, aggregate};
pub use changes::{ChangeKind, RowChange, TableChanges};
pub use outcome::{Gap, Mode, TableUpdate};
pub use run::{Pending, UpdateOptions, prepare, target_tables};
pub use samples::{Sample, Samples};
pub use summaries::{find_profiles, find_summaries, summaries_of};
