//! What is of the system and knows no database: files replaced whole, locks, interrupts, memory limits, escaping.
//!
//! ```
//! use perfdb_files::lock::{DirectoryLocks, LockOptions};
//! use perfdb_files::replace::{self, Parents, Staged};
//! use std::time::Duration;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path();
//! let options = LockOptions { tool: "example", timeout: Duration::from_secs(60), notice: &|_| {} };
//! let locks = DirectoryLocks::acquire([folder], &options)?;
//!
//! let table = Staged::with(&folder.join("Add.csv"), b"Input Shapes\n", Parents::MustExist)?;
//! let report = Staged::with(&folder.join("reports/run.json"), b"{}\n", Parents::Create)?;
//! replace::commit(vec![table, report])?;
//! drop(locks);
//! # Ok::<(), perfdb_files::Error>(())
//! ```
//!
//! Every writer of perfdb goes through [`mod@replace`], and every writer of a directory that others write to holds its [`lock`].
#![forbid(unsafe_code)]
// A part of the tools, whose interface promises nothing: what its name says needs no comment.
#![allow(missing_docs)]

mod error;
pub mod escape;
#[cfg(feature = "fault-injection")]
mod fault;
pub mod folders;
pub mod input;
pub mod interrupt;
mod leftovers;
pub mod lfs;
#[cfg(test)]
mod listing;
pub mod lock;
pub mod memory;
pub mod network;
pub mod parallel;
pub mod paths;
pub mod process;
pub mod replace;
pub mod severity;
pub mod shards;
mod system;
pub mod tables;
pub mod time;
pub mod walk;

pub use error::{Error, with_causes};
