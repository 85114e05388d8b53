//! What a user should know about a profile that was parsed.

use perfdb_files::escape::{excerpt, shown};
use std::path::{Path, PathBuf};

impl Warning {
    /// Names a table of one folder as that of another.
    pub fn move_table(&mut self, from: &Path, to: &Path) {
        if let Warning::MixedGroups { path, .. } | Warning::SharedFile { path, .. } = self
            && let Ok(below) = path.strip_prefix(from)
        {
            *path = to.join(below);
        }
    }
}

/// Something that a user should know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// Attention kernels and operators cannot all be paired. This one has always stood on stdout.
    #[error("FIA kernel/operator row count mismatch under {}: kernel_rows={kernel_rows}, operator_rows={operator_rows}. Pairing uses row order for the shared prefix only.", shown(.directory))]
    AttentionRowCounts {
        /// The profile's directory.
        directory: PathBuf,
        /// Attention rows of the kernel file.
        kernel_rows: usize,
        /// Attention rows of the operator file.
        operator_rows: usize,
    },
    /// A file that breaks off inside a quoted cell.
    #[error("{}:{line}: the quote that opens here is never closed; taken as it stands", shown(.path))]
    OpenQuote {
        /// The file.
        path: PathBuf,
        /// Where the quote opens.
        line: u64,
    },
    /// Groups whose samples disagree.
    #[error("{}: {count} row(s) average samples of different data types or formats", shown(.path))]
    MixedGroups {
        /// The table.
        path: PathBuf,
        /// How many groups.
        count: usize,
    },
    /// Kernel types whose names coincide as file names.
    #[error("{}: holds the rows of several kernel types: {}", shown(.path), .kernel_types.iter().map(|name| excerpt(name)).collect::<Vec<_>>().join(", "))]
    SharedFile {
        /// The table.
        path: PathBuf,
        /// The types.
        kernel_types: Vec<String>,
    },
    /// An old table had values that the new one has not.
    #[error("{}: had measured or filled values, which the new table lacks; the old file is kept as {}", shown(.path), shown(.kept))]
    Kept {
        /// The table.
        path: PathBuf,
        /// Where its old content is.
        kept: PathBuf,
    },
    /// Rows were dropped on request.
    #[error("{count} bad row(s) skipped")]
    SkippedRows {
        /// How many.
        count: u64,
    },
}
