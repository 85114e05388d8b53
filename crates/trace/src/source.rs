//! Where bytes come from: files, gzip streams, pipes, memory.
//!
//! A file that starts with the two bytes of gzip is inflated on another thread while it is read, whatever its name. A pipe
//! (`/dev/stdin`, `<(…)`) is read once and never twice, so pipes work everywhere. What is looked at has been copied out of
//! the file first: a file that another process writes to meanwhile gives an error or other bytes, never a signal.

mod gzip;
mod open;
mod positioned;
mod window;

pub use open::Source;

pub(crate) use open::Content;
pub(crate) use positioned::{Buffer, Positioned};
pub(crate) use window::{Refill, Window};
