//! Work that goes past one machine: every case belongs to one shard, by a hash of what it is called.
//!
//! A [`Shard`] does its cases and leaves a folder `shard-I-of-N` with their results and a manifest. A [`ShardSet`] is all
//! shards of one job; it refuses to be a set where one is missing, there twice, cut short, or of another job, and hands the
//! results out in the order of the cases.
//!
//! ```
//! use perfdb_files::shards::{Case, Job, Shard, ShardSet, ShardWriter};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path();
//! let job = || Job {
//!     tool: "square".to_owned(),
//!     version: "1".to_owned(),
//!     arguments: Vec::new(),
//!     inputs: Vec::new(),
//!     cases: ["two", "three", "four"].map(str::to_owned).to_vec(),
//! };
//! for shard in ["1/2", "2/2"] {
//!     let shard: Shard = shard.parse().unwrap();
//!     let mut writer = ShardWriter::create(folder, shard, job())?;
//!     for (case, root) in [2_u64, 3, 4].into_iter().enumerate().filter(|(case, _)| job().is_of(*case, shard)) {
//!         writer.record(Case::done(case), &(root * root))?;
//!     }
//!     writer.finish()?;
//! }
//! let set = ShardSet::open(&[folder.to_owned()])?;
//! let mut results = set.results(&job())?;
//! let squares = (0..3).map(|case| results.take::<u64>(case)).collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(squares, [4, 9, 16]);
//! # Ok::<(), perfdb_files::shards::Error>(())
//! ```

mod error;
mod fingerprint;
mod gaps;
mod job;
mod manifest;
mod results;
mod set;
mod shard;
mod writer;

pub use error::Error;
pub use fingerprint::{Fingerprint, InputFile};
pub use gaps::Gaps;
pub use job::Job;
pub use manifest::Manifest;
pub use results::Results;
pub use set::ShardSet;
pub use shard::{NoShard, Shard};
pub use writer::{Case, ShardWriter};
