//! What is known of a profile besides its tables.

use super::warning::Warning;
use bitcode::{Decode, Encode};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What every process that reads a profile finds, whichever tables it makes of it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Overview {
    /// Names of all tables, without `.csv`, in order of first appearance.
    pub tables: Vec<String>,
    /// Rows that were dropped because they would have stopped the run.
    pub skipped_rows: u64,
    warnings: Vec<OfRows>,
}

/// A warning about rows.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
enum OfRows {
    AttentionRowCounts { directory: Vec<u8>, kernel_rows: usize, operator_rows: usize },
    OpenQuote { path: Vec<u8>, line: u64 },
}

impl Overview {
    pub(super) fn new(tables: Vec<String>, skipped_rows: u64, warnings: Vec<Warning>) -> Overview {
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let of_rows = |warning| match warning {
            Warning::AttentionRowCounts { directory, kernel_rows, operator_rows } => {
                Some(OfRows::AttentionRowCounts { directory: bytes(&directory), kernel_rows, operator_rows })
            }
            Warning::OpenQuote { path, line } => Some(OfRows::OpenQuote { path: bytes(&path), line }),
            // These are about tables, and made of them.
            Warning::MixedGroups { .. }
            | Warning::SharedFile { .. }
            | Warning::Kept { .. }
            | Warning::SkippedRows { .. } => None,
        };
        Overview { tables, skipped_rows, warnings: warnings.into_iter().filter_map(of_rows).collect() }
    }

    pub(super) fn into_warnings(self) -> Vec<Warning> {
        let path = |bytes| PathBuf::from(OsString::from_vec(bytes));
        let warning = |warning| match warning {
            OfRows::AttentionRowCounts { directory, kernel_rows, operator_rows } => {
                Warning::AttentionRowCounts { directory: path(directory), kernel_rows, operator_rows }
            }
            OfRows::OpenQuote { path: file, line } => Warning::OpenQuote { path: path(file), line },
        };
        self.warnings.into_iter().map(warning).collect()
    }
}
