//! Kernel CSVs: what profilers export about each kernel run, and the tables made of that.
//!
//! [`Reader`] gives record after record of a CSV in Python's dialect, for any size; the way in which tools differ
//! about the dialect is in [`Options`]. Cells are borrowed and decoded when asked for; [`number`] reads a
//! cell as a number.

mod options;
mod reader;
mod text_window;

pub use options::{ByteOrderMark, Options};
pub use perfdb_pycompat::number::parse_float as number;
pub use reader::{Reader, Record};
