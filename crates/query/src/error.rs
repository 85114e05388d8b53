//! Why a database cannot be used.

use crate::trace::MalformedCall;
use perfdb_store::{op_mapping, registry};
use std::path::PathBuf;

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
    /// What the mapping says about tables.
    #[error("{}: {fault}", path.display())]
    Registry {
        /// The mapping.
        path: PathBuf,
        /// What is wrong.
        fault: Box<registry::Error>,
    },
    /// A trace.
    #[error(transparent)]
    Trace(#[from] perfdb_trace::Error),
    /// A call in a trace that is not as the simulator writes it.
    #[error("{}: event {event} ({operator}): {fault}", path.display())]
    Call {
        /// The trace.
        path: PathBuf,
        /// The event, counted from 0.
        event: u64,
        /// The operator.
        operator: String,
        /// What is wrong.
        fault: MalformedCall,
    },
}
