//! What `compare-traces` does between its command line and the library.

mod pairs;
mod plan;
mod single;

pub use pairs::compare_pairs;
pub use plan::{Common, Compat, Plan};
pub use single::{Outputs, compare_one};
