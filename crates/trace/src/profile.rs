//! What profilers other than Kineto recorded, as one model: whoever reads a [`Profile`] need not know who wrote it.
//!
//! Times are picoseconds, exact. Rows stream from the file; what is kept is what the model names.

mod ascend_classes;
mod ascend_table;
mod ascend_timeline;
mod calls;
mod detect;
mod folder;
mod model;
mod nsys;
mod refused;
mod rocpd;
mod rows;
mod rpd;
mod sqlite;

#[cfg(test)]
mod tests;

pub use calls::{CallName, IdleCalls};
pub use detect::{Form, form, names_ascend, open, open_ascend_timeline};
pub use folder::file_in;
pub use model::{Annotation, Copy, DeviceInfo, Kernel, Kind, Launch, Mark, Operator, Profile, RowSteps, StepBasis};
pub use refused::is_nsys_report;
pub use rows::{Kernels, Launches};
