//! The operator performance database: directories, CSV tables, signatures, op mapping, updater, lint, locks, queries.
#![forbid(unsafe_code)]

pub mod columns;
pub mod directory;
pub mod duration;
mod error;
pub mod kernel;
pub mod kernel_details;
pub mod lint;
pub mod lock;
pub mod op_mapping;
mod profile;
pub mod query;
pub mod replace;
pub mod runtime_metadata;
pub mod signature;
pub mod slots;
pub mod table;
pub mod time;
pub mod update;
pub mod version;
pub mod yaml;

pub use error::{CELL_LIMIT, CsvFault, Error, excerpt, shown};
