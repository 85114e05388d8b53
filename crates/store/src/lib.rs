//! The operator performance database: directories, CSV tables, signatures, op mapping, updater, lint, locks, queries.
//!
//! ```
//! use perfdb_store::query::Database;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! let table = "Input Shapes,Input Data Types,Average Duration(us)\n\"8,128;128\",DT_BF16;DT_BF16,2.5\n";
//! std::fs::write(folder.path().join("RmsNorm.csv"), table).unwrap();
//!
//! let database = Database::open(folder.path())?;
//! for row in database.rows("RmsNorm")?.iter() {
//!     assert!(row.inputs().iter().eq([&[8, 128][..], &[128]]));
//!     assert_eq!(row.duration_us(), 2.5);
//! }
//! # Ok::<(), perfdb_store::Error>(())
//! ```
//!
//! [`query`] answers what a kernel costs; [`update`] writes measurements back, [`lint`] finds what is wrong with a database.
//! Every writer takes the [`lock`] of the directory and replaces files whole ([`mod@replace`]).
#![forbid(unsafe_code)]

pub mod columns;
pub mod directory;
pub mod duration;
mod error;
pub mod kernel;
pub mod kernel_details;
pub mod lint;
pub mod lock;
pub mod near_name;
pub mod op_mapping;
pub mod process;
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
