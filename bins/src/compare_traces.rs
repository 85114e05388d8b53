//! What `compare-traces` does between its command line and the library.

mod outputs;
mod pairs;
mod parquet;
mod plan;
mod ranks;
mod remedy;
mod request;
mod runs;
mod single;
mod workers;

pub use parquet::ParquetTable;
pub use plan::{Common, Compat};
pub use ranks::RankTraces;
pub use request::Request;
pub use runs::RunTraces;
