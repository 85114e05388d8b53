//! Work on several threads, with results in the order of the tasks.
//!
//! A result never depends on the number of threads. Where the system refuses a thread (a limit on processes, no memory
//! for its stack), the calling thread does the work: slower, never a panic.
//!
//! ```
//! use perfdb_files::parallel::{OrderedMap, states};
//! use std::ops::ControlFlow;
//!
//! let mut lines = "7\n8\nnine\n10".lines();
//! let mut scratch = states(4, String::new);
//! let mut sum = 0;
//! let result = OrderedMap::new(&mut scratch).run(
//!     || Ok(lines.next()),
//!     |_scratch, line| line.parse::<u32>(),
//!     |number| {
//!         sum += number?;
//!         Ok::<_, std::num::ParseIntError>(ControlFlow::Continue(()))
//!     },
//! );
//! assert!(result.is_err());
//! assert_eq!(sum, 15);
//! ```

mod at_once;
mod join;
mod ordered;
mod pool;
mod spawn;

pub use at_once::AtOnce;
pub use join::join;
pub use ordered::{OrderedMap, states};
pub use pool::on_all_cores;
pub use spawn::{Refused, spawn};
