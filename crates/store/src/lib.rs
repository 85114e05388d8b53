//! The operator performance database: directories, CSV tables, signatures, op mapping, updater, lint, locks, queries.
#![forbid(unsafe_code)]

mod error;
pub mod lock;
pub mod replace;
pub mod table;
pub mod time;

pub use error::{CELL_LIMIT, CsvFault, Error, excerpt, shown};
