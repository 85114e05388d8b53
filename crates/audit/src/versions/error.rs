//! Why databases are not compared or merged.

use perfdb_files::escape::shown;
use perfdb_store::provenance::Difference;
use std::path::PathBuf;

/// Why databases are not compared or merged. The text fits on one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A table, or the operator mapping.
    #[error(transparent)]
    Store(#[from] perfdb_store::Error),
    /// The operator mapping.
    #[error(transparent)]
    Mapping(#[from] perfdb_store::op_mapping::Error),
    /// A file or a lock.
    #[error(transparent)]
    Files(#[from] perfdb_files::Error),
    /// `database.toml`.
    #[error(transparent)]
    Provenance(#[from] perfdb_store::provenance::Error),
    /// The database, as it is asked for a workload.
    #[error(transparent)]
    Coverage(#[from] crate::coverage::Error),
    /// The database, as it is asked.
    #[error(transparent)]
    Query(#[from] perfdb_query::Error),
    /// A folder without tables.
    #[error("{}: no table (*.csv) is here; is this a database directory?", shown(.path))]
    NoTables { path: PathBuf },
    /// A folder that is named twice.
    #[error("{} and {} are the same database", shown(.first), shown(.second))]
    SameDatabase {
        /// How it is named first.
        first: PathBuf,
        /// How it is named then.
        second: PathBuf,
    },
    /// Databases of different devices or versions.
    #[error("{} is not of the same kind as {}: {}; durations of different devices or versions do not go together", shown(.from), shown(.into), difference_list(.differences))]
    OtherKind {
        /// Where rows were to go.
        into: PathBuf,
        /// Where they were to come from.
        from: PathBuf,
        /// What differs.
        differences: Vec<Difference>,
    },
    /// A conflict that dates decide, and a database that has none.
    #[error(
        "{}: nothing tells when {kernel_type} was measured (database.toml, collection_date of op_mapping.yaml), so that the newest cannot be preferred",
        shown(.path)
    )]
    NoDate {
        /// The database.
        path: PathBuf,
        /// The kernel type.
        kernel_type: String,
    },
    /// A line of a file of decisions that is none.
    #[error("{}:{line}: {reason}", shown(.path))]
    Decision {
        path: PathBuf,
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// A file that would be written through a link.
    #[error("{}: this is a link; a merge does not write through links", shown(.path))]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// A mapping whose reference to collectives cannot be changed.
    #[error("{}: communication_data_ref is not written on a line of its own; write it so, or copy the collectives by hand", shown(.path))]
    Reference {
        /// The mapping.
        path: PathBuf,
    },
    /// What a mapping says of its tables.
    #[error("{}: {error}", shown(.path))]
    Description {
        /// The mapping.
        path: PathBuf,
        /// What is wrong.
        error: perfdb_store::registry::Error,
    },
    /// A database between two states.
    #[error("{}: a run that was killed has left files of it half replaced; run any tool that writes to it, which completes them", shown(.path))]
    HalfReplaced {
        /// The database.
        path: PathBuf,
    },
}

fn difference_list(differences: &[Difference]) -> String {
    let text = |one: &Difference| format!("{} {} and {}", one.what, one.first, one.second);
    differences.iter().map(text).collect::<Vec<_>>().join(", ")
}
