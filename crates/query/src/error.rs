//! Why a database cannot be used.

use perfdb_store::op_mapping;

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A folder or a table.
    #[error(transparent)]
    Store(#[from] perfdb_store::Error),
    /// The operator mapping.
    #[error(transparent)]
    Mapping(#[from] op_mapping::Error),
}
