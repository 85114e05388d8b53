//! Looking up what a kernel costs, with the answers that the simulator's reader gives.
//!
//! Nothing is read until it is asked for; a table is read and indexed once. Reading needs no lock, because writers replace files whole.
//!
//! ```no_run
//! use perfdb_query::{Call, DType, Database, Tensor};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let database = Database::open("database".as_ref())?;
//! for kernel_type in database.kernel_types()? {
//!     for row in database.rows(&kernel_type)?.iter() {
//!         println!("{kernel_type} {:?} {} us, line {}", row.inputs(), row.duration_us(), row.line());
//!     }
//! }
//! let inputs = vec![Tensor::new([16, 512], DType::Bf16), Tensor::new([512, 2048], DType::Bf16)];
//! match database.lookup_operator(&Call { interpolate: true, ..Call::new("aten.mm.default", inputs) }) {
//!     Ok(hit) => println!("{} us by {} (rows {:?})", hit.duration_us, hit.rule, hit.lines),
//!     Err(miss) => println!("{miss}"),
//! }
//! # Ok(()) }
//! ```
#![forbid(unsafe_code)]

mod answer;
mod arguments;
mod attention;
mod communication;
mod database;
mod elementwise;
mod error;
mod index;
mod inputs;
mod interpolation;
mod operator;
mod packed;
mod question;
mod reader;
mod rows;
mod shapes;

#[cfg(test)]
mod scan_tests;
#[cfg(test)]
mod tests;

pub use answer::{Attention, Call, DType, Hit, Miss, MissReason, Mode, Query, Shape, Source, Tensor};
pub use database::Database;
pub use error::Error;
pub use packed::{Shapes, ShapesIter};
pub use rows::{KernelRow, KernelRows};
