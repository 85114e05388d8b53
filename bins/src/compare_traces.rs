//! What `compare-traces` does between its command line and the library.

mod pairs;
mod plan;
mod remedy;
mod request;
mod single;

pub use plan::{Common, Compat};
pub use request::Request;
