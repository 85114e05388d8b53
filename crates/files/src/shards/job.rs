//! What all shards of a set have in common.

use crate::shards::fingerprint::{InputFile, hexadecimal};
use crate::shards::shard::Shard;
use sha2::{Digest, Sha256};

/// A job: what is done, with what, and the cases in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The tool that does it.
    pub tool: String,
    /// The version of that tool.
    pub version: String,
    /// Its command line, less what says which shard this is and how fast it goes.
    pub arguments: Vec<String>,
    /// The files that all cases share.
    pub inputs: Vec<InputFile>,
    /// The keys of all cases, in the order of the results.
    pub cases: Vec<String>,
}

impl Job {
    /// Whether the case of this number, from 0, belongs to a shard.
    pub fn is_of(&self, case: usize, shard: Shard) -> bool {
        self.cases.get(case).is_some_and(|key| shard.owns(key))
    }

    /// A hash of the keys, with the place where each ends.
    pub(crate) fn hash_of_cases(&self) -> String {
        let mut hash = Sha256::new();
        for key in &self.cases {
            hash.update((key.len() as u64).to_le_bytes());
            hash.update(key.as_bytes());
        }
        hexadecimal(hash)
    }
}
