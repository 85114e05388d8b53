//! Whole databases as Parquet, there and back byte for byte.
//!
//! A table's file has what engines ask for in front, `kernel_type`, `line` and `duration_us`, then every column of the table as text, in
//! order, and last `as_written`: the bytes of a row's record, where the cells alone do not tell them (quotes that no writer needs, another
//! line end, cells that a record lacks, blank lines). The header's bytes, byte order mark and line end included, stand in the metadata
//! under [`CSV`].

mod collectives;
mod export;
mod files;
mod import;
mod target;

pub use export::{Exported, export};
pub use import::{Imported, import};
pub(crate) use target::Target;

use serde::{Deserialize, Serialize};

/// The key under which a file says how its table was written.
const CSV: &str = "perfdb.csv";

const MAPPING: &str = "op_mapping.yaml";

const KERNEL_TYPE: &str = "kernel_type";
const LINE: &str = "line";
const DURATION: &str = "duration_us";
const AS_WRITTEN: &str = "as_written";

/// What the metadata says of a table.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    /// The version of this form.
    format_version: u32,
    /// What stands before the first row, byte order mark and line end included.
    header: String,
    /// What ends a record.
    line_end: String,
    /// The table's columns, and the names under which they stand in the file: where another column has the name already, with `_2` or so.
    columns: Vec<(String, String)>,
}

/// The version that is written.
const FORMAT_VERSION: u32 = 1;
