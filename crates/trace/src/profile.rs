//! What profilers other than Kineto recorded, as one model: whoever reads a [`Profile`] need not know who wrote it.
//!
//! Times are picoseconds, exact. Rows stream from the file; what is kept is what the model names.

mod detect;
mod model;
mod nsys;
mod rpd;
mod sqlite;

#[cfg(test)]
mod tests;

pub use detect::{open, refusal};
pub use model::{Annotation, Copy, DeviceInfo, Kernel, Kind, Launch, Profile};
