//! Where bytes come from: files, gzip streams, pipes, memory.
//!
//! A file that starts with the two bytes of gzip is inflated on another thread while it is read, under any name. A pipe
//! (`/dev/stdin`, `<(…)`) is read once and never twice, so pipes work everywhere. What is looked at has been copied out of
//! the file first: a file that another process writes to meanwhile gives an error or other bytes, never a signal.
//!
//! A few kilobytes of gzip can inflate to any size, so what has to be in memory as a whole is bounded: one value of a JSON
//! file or one record of a table by [`LARGEST_VALUE_BYTES`], a small file that is read whole by [`LARGEST_DOCUMENT_BYTES`]. What grows with the number
//! of events, such as a row for each kernel, is bounded by what a stream may inflate to ([`InflatesTooFar`]).

mod bound;
mod buffer;
mod gzip;
mod open;
mod positioned;
mod progress;
mod stream;
mod window;

pub use bound::{InflatesTooFar, LARGEST_DOCUMENT_BYTES, LARGEST_TEXT_BYTES, LARGEST_VALUE_BYTES, too_long};
pub use open::Source;
pub use progress::{Counted, Progress, progress};

pub(crate) use buffer::Buffer;
pub(crate) use open::Content;
pub(crate) use positioned::Positioned;
pub(crate) use stream::Stream;
pub(crate) use window::{Gone, Refill, Window};
