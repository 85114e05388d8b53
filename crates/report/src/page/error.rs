//! What can go wrong.

use std::path::PathBuf;

/// Why a page could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A template has a fault, which no input can cause.
    #[error("a page cannot be made: {0}")]
    Template(#[from] minijinja::Error),
    /// A table has numbers or texts that JSON cannot hold, which no input can cause.
    #[error("the rows of a table cannot be written: {0}")]
    Json(#[from] serde_json::Error),
    /// A file to be bundled is not a report page.
    #[error("{}: not a report page of perfdb", .path.display())]
    NoReport { path: PathBuf },
    /// A file to be bundled has an element that no report page has.
    #[error("{}: has an element <{element}>, which no report of perfdb has", .path.display())]
    ForeignElement {
        path: PathBuf,
        /// The element's name.
        element: &'static str,
    },
    /// A file to be bundled was made by a version with another form of pages.
    #[error("{}: a report page of form {found}, this version bundles form {expected}: write it again", .path.display())]
    OtherForm {
        path: PathBuf,
        /// What the file says.
        found: String,
        /// What is understood.
        expected: u32,
    },
}
