//! How well a simulated forward pass matches a measured one.
//!
//! Two files are compared: the *chrome trace* of the simulator, one event per operator, and a *forward-pass CSV*, the rows
//! of a profiler's `kernel_details.csv` that belong to one forward pass.
//!
//! - [`m6`]: one ratio, time taken from measurements over measured time;
//! - [`operators`]: time and count per kernel type on both sides, for any number of [`scenario`]s;
//! - [`shapes`]: the same per kernel type and shape;
//! - [`attribution`]: where the difference comes from, adding up to 100 %;
//! - [`cut`]: the forward passes in a whole profile;
//! - [`event_table`]: the events of a trace as the rows of a table.
//!
//! ```
//! use perfdb_compare::{Semantics, m6};
//! # let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/scenarios");
//!
//! let m6 = m6::compare_files(
//!     &data.join("qwen3_32b_decode/trace.json"),
//!     &data.join("qwen3_32b_decode/forward_pass.csv"),
//!     &m6::Options { semantics: Semantics::Corrected, ..Default::default() },
//! ).unwrap().result;
//! assert!(m6.is_within(0.8, 1.1), "{m6:?}");
//! ```
//!
//! Each level can be called on its own: whole files (`compare_files` and the like), or sums and rows from iterators
//! ([`m6::m6`], [`operators::op_rows`], [`shapes::shape_rows`]). Rendering is `perfdb_report`'s job.
//!
//! # Semantics
//!
//! [`Semantics::Upstream`] gives the same numbers as the original tools. [`Semantics::Corrected`] switches their faults off:
//!
//! 1. a byte-order mark in a CSV never hides the first column (per operator);
//! 2. operators are looked up under `operator_mappings`, where the mapping has them (per operator);
//! 3. a CSV without a needed column is an error instead of zeros;
//! 4. durations are used as written instead of as end minus start, which rounds them to steps of 0.25 µs when start
//!    times count from the epoch (M6);
//! 5. shapes match: by the row that answered, formats folded, attention by its own key, collectives by size or name, and
//!    only the profiling model's process counts (per shape);
//! 6. a kernel type that is predicted and was never measured has an infinite error and a status of its own (per operator).
//!
//! Sums are plain additions of doubles in file order, at any number of threads, so results are the same bit by bit
//! on every run. Memory grows with the number of kernel types and shapes, not with the files.
#![forbid(unsafe_code)]

pub mod attribution;
pub mod cut;
mod error;
mod event;
pub mod event_table;
mod fold;
pub mod m6;
pub mod operators;
mod phase;
mod picoseconds;
mod process;
pub mod profile;
pub mod regression;
pub mod scenario;
pub mod shapes;
mod sub_kernels;

pub use error::{Error, Outcome, Warning};
pub use event::EventFault;
#[doc(no_inline)]
pub use perfdb_store::Semantics;

/// Runs the reader of a trace and the reader of a CSV at the same time. The trace's reader gets the number of threads it may use.
fn side_by_side<A, B: Send>(trace: impl FnOnce(usize) -> A, profile: impl FnOnce() -> B + Send) -> (A, B) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        return (trace(1), profile());
    }
    perfdb_files::parallel::join(|| trace(cores), profile)
}
