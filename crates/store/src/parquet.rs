//! Tables and operator performance databases as Parquet files, which DuckDB, polars, pandas, Spark and the like read as they are.
//!
//! ```
//! use perfdb_files::replace::{Parents, Staged, commit};
//! use perfdb_store::parquet::{ParquetFile, open};
//! use perfdb_files::tables::{Batch, Kind, Schema, Values};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("kernels.parquet");
//! let schema = Schema::new("kernels", vec![("duration_us".to_owned(), Kind::Real)]);
//! let mut writer = open(Staged::create(&path, Parents::MustExist)?, &schema)?;
//! writer.write(Batch { columns: vec![Values::Real(vec![Some(1.5), None])] })?;
//! commit(vec![writer.finish()?])?;
//!
//! let file = ParquetFile::open(&path)?;
//! assert_eq!(file.read_column("duration_us")?, Some(Values::Real(vec![Some(1.5), None])));
//! # Ok(()) }
//! ```
//!
//! [`open`] is the form of files of the tools' tables; [`export`] and [`import`] take whole databases there and back, byte for byte;
//! [`aiconfigurator`] makes databases of another project's tables, [`plain_csv`] a table of any CSV with sizes and durations.
#![forbid(unsafe_code)]
pub mod aiconfigurator;
mod database;
mod error;
pub mod plain_csv;
mod read;
mod write;

pub use database::{Exported, Imported, export, import};
pub use error::Error;
pub use read::ParquetFile;
pub use write::open;

use crate::columns;

/// The columns of a table of a kernel type that is made of another project's table.
const COMPUTE_COLUMNS: [&str; 7] = columns::joined(&[&columns::TENSORS, &[columns::MEASURED_DURATION]]);
