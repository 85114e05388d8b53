//! Databases of tests.

use perfdb_query::Database;

pub(crate) type AnyResult<T> = Result<T, Box<dyn std::error::Error>>;

pub(crate) const COLUMNS: &str =
    "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)";

/// A database of some files; the mapping is one of them.
pub(crate) fn database(files: &[(&str, &str)]) -> AnyResult<(tempfile::TempDir, Database)> {
    let folder = tempfile::tempdir()?;
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text)?;
    }
    let database = Database::open(folder.path())?;
    Ok((folder, database))
}
