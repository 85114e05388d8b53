//! Whole databases as Parquet, there and back byte for byte.
//!
//! A table's file has what engines ask for in front, `kernel_type`, `device`, `version`, `line` and `duration_us`, then every column of the
//! table in order, as numbers where all its cells are, and last `as_written`: the bytes of the row's record. The header's bytes, byte order
//! mark and line end included, stand in the metadata under [`CSV`], units under [`UNITS`].

mod cells;
mod collectives;
mod export;
mod files;
mod import;
mod origin;
mod records;
mod target;

pub use export::{Exported, export};
pub use import::{Imported, import};
pub(crate) use target::Target;

use serde::{Deserialize, Serialize};

/// The key under which a file says how its table was written.
const CSV: &str = "perfdb.csv";

const MAPPING: &str = "op_mapping.yaml";

/// The key of the units of columns, a JSON object.
const UNITS: &str = "perfdb.units";

/// The key of the version of the columns.
const SCHEMA_VERSION: &str = "perfdb.schema_version";

const KERNEL_TYPE: &str = "kernel_type";
const DEVICE: &str = "device";
const VERSION: &str = "version";
const LINE: &str = "line";
const DURATION: &str = "duration_us";
const AS_WRITTEN: &str = "as_written";

/// The columns that stand before those of a table.
const FIRST: [&str; 5] = [KERNEL_TYPE, DEVICE, VERSION, LINE, DURATION];

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
    /// The name of the table's file, without its ending, where that of this file is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    table: Option<String>,
}

/// The version that is written. In version 1 all columns of the table are texts, and records stand in `as_written` only where the cells do
/// not tell them.
const FORMAT_VERSION: u32 = 2;
