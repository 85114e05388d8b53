//! Which rows a run measures.

use std::path::{Path, PathBuf};

use perfdb_files::shards::Shard;

use crate::journal::hash_of;

/// Which rows a run measures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RowSelection {
    /// All that the other settings leave.
    #[default]
    All,
    /// Those of a shard. Tables stay as they are.
    Shard(Shard),
    /// None: the shards of a job have measured all rows, and this is what they have noted.
    Journals(Vec<PathBuf>),
}

impl RowSelection {
    /// Whether a row is this run's. A row goes by its operator, the name of its table and its bytes, so that rows can come and
    /// go around it; equal rows of a table stay together.
    pub(crate) fn is_own(&self, op: &str, csv: &str, record: &[u8]) -> bool {
        let RowSelection::Shard(shard) = self else { return true };
        let table = Path::new(csv).file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        shard.owns(&format!("{op}\0{table}\0{}", hash_of(record)))
    }
}
