//! start-microbench: its command line, and writing back what a profile says.

mod arguments;
mod write_back;

pub use arguments::{Arguments, ORIGINAL_OPTIONS, UpdateMode};
pub use write_back::{WriteBack, write_back};
