//! The operator performance database: directories, CSV tables, signatures, op mapping, updater, lint.
//!
//! ```
//! use perfdb_store::table::{ReadOptions, Table};
//!
//! let text = b"Input Shapes,Average Duration(us)\n\"8,128;128\",2.5\n".to_vec();
//! let table = Table::parse("RmsNorm.csv".as_ref(), text, &ReadOptions::database())?;
//! let duration = table.column("Average Duration(us)").unwrap();
//! assert_eq!(table.cell(0, duration), "2.5");
//! # Ok::<(), perfdb_store::Error>(())
//! ```
//!
//! Three readers of tables share one record splitter and one set of faults. Which one is for what:
//!
//! | reader | keeps | for |
//! |---|---|---|
//! | [`table::Table`] | the whole file and where each cell lies | what rewrites a table, or looks at most of its cells: updater, lint |
//! | [`table::Scan`] | one row, borrowed from the file | queries, which keep some columns in a form of their own |
//! | [`table::RowStream`] | one row, decoded | copying rows to another file, under the shape grid's looser rules |
//!
//! Profiles (`kernel_details`, `op_summary`) are not tables: they are read in pieces on several threads and never kept whole.
//!
//! [`table`] reads and writes tables, [`update`] writes measurements back, [`lint`] finds what is wrong with a database.
//! Every writer takes the [lock](perfdb_files::lock) of the directory and replaces files whole ([`perfdb_files::replace`]).
#![forbid(unsafe_code)]

pub mod columns;
pub mod directory;
pub mod dtype;
pub mod duration;
mod error;
pub mod kernel;
pub mod kernel_details;
pub mod lint;
pub mod near_name;
pub mod new_database;
pub mod numeric;
pub mod op_mapping;
#[cfg(feature = "parquet")]
pub mod parquet;
mod profile;
pub mod provenance;
pub mod registry;
pub mod row_identity;
pub mod runtime_metadata;
mod semantics;
pub mod signature;
pub mod slots;
pub mod table;
pub mod update;
pub mod version;

pub use error::{CsvFault, Error};
pub use semantics::Semantics;
