//! What can go wrong with shards.

use crate::escape::{excerpt, shown};
use crate::shards::gaps::Gaps;
use crate::shards::shard::Shard;
use std::io;
use std::path::PathBuf;

/// Every error of this crate. The text begins with the file or folder concerned and fits on one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to read or write.
    #[error(transparent)]
    Files(#[from] crate::Error),
    /// A folder without shards.
    #[error("{}: no shards here (folders shard-I-of-N)", shown(.folder))]
    NoShards { folder: PathBuf },
    /// A shard that is not done.
    #[error("{}: there is no manifest.json, so this shard is not complete; run it again", shown(.folder))]
    NoManifest { folder: PathBuf },
    /// A file of a shard that is not what was written.
    #[error("{}: damaged or cut short: {}; run that shard again", shown(.path), excerpt(.reason))]
    Damaged {
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Shards that no set is made of.
    #[error("{}: no set with {}: {}", shown(.folder), shown(.other), excerpt(.reason))]
    Mixed {
        /// A shard.
        folder: PathBuf,
        /// Another one.
        other: PathBuf,
        /// What they do not have in common.
        reason: String,
    },
    /// A shard that is there twice.
    #[error("{}: shard {shard} is also in {}", shown(.folder), shown(.other))]
    Repeated {
        shard: Shard,
        /// A folder of it.
        folder: PathBuf,
        /// Another one.
        other: PathBuf,
    },
    /// Shards that are not there.
    #[error("{}: {} of {of} shards missing: {}", shown(.folder), .gaps.count(), excerpt(&.gaps.to_string()))]
    Missing {
        /// Where some of the others are.
        folder: PathBuf,
        /// How many there should be.
        of: u32,
        /// Those that are not there.
        gaps: Gaps,
    },
    /// The job has changed since the shards were made.
    #[error("{}: made of another job: {}; run the shards again", shown(.folder), excerpt(.reason))]
    OtherJob {
        /// A shard.
        folder: PathBuf,
        /// What has changed.
        reason: String,
    },
    /// A case's input has changed since a shard has read it.
    #[error("{}: has changed since shard {shard} has read it; run that shard again", shown(.path))]
    Changed {
        /// The input.
        path: PathBuf,
        shard: Shard,
    },
    /// A result that does not belong to a case.
    #[error("{}: the result of case {case} of {all} is not there", shown(.folder))]
    NoResult {
        /// The shard's folder.
        folder: PathBuf,
        /// The case, from 1.
        case: usize,
        /// How many cases there are.
        all: usize,
    },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Error {
        Error::Files(crate::Error::io(path, source))
    }
}
