//! start-microbench: its command line, and writing back what a profile says.

mod arguments;
mod measure;
mod write_back;

pub use arguments::{Arguments, UpdateMode, original_options};
pub use measure::{Measured, Measuring, notice, preserved};
pub use write_back::{MakeOrigin, WriteBack, write_back};
