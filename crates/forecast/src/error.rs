//! What can go wrong: the file and the field, or the field of the deployment.

use perfdb_files::escape::shown;
use std::path::PathBuf;

/// Why there is no forecast.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The description cannot be read.
    #[error(transparent)]
    Source(#[from] perfdb_trace::Error),
    /// A table cannot be read.
    #[error(transparent)]
    Table(#[from] perfdb_store::Error),
    /// The description is not a JSON object.
    #[error("{}: {reason}", shown(.path))]
    Malformed {
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A field of the description is missing or cannot be used.
    #[error("{}: {field}: {reason}", shown(.path))]
    Field {
        path: PathBuf,
        /// The field as a key path: `hidden_size`, `quantization_config.quant_method`.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The model cannot be deployed or asked so.
    #[error("{field}: {reason}")]
    Deployment {
        /// The size that does not fit: `tensor parallel size`.
        field: &'static str,
        /// Why.
        reason: String,
    },
}
