//! Where bytes come from: mapped files, gzip streams, pipes, memory.
//!
//! A file that starts with the two bytes of gzip is inflated on another thread while it is read, whatever its name. Nothing
//! is read twice, so pipes (`/dev/stdin`, `<(…)`) work everywhere.

mod gzip;
mod mapping;
mod open;
mod window;

pub use open::Source;

pub(crate) use open::Bytes;
pub(crate) use window::{Refill, Window};
