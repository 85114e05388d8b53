//! Two sides of a comparison as one chrome trace, to open in Perfetto.
//!
//! Every side is a process. What both sides did in one stretch of a pass, such as a layer, is a [`Window`]: it begins at one place on all
//! sides, so that layers stand below each other however long those before them took. Calls that do the same work are joined by
//! arrows, and a counter has the running difference of the first two sides.
//!
//! ```
//! use perfdb_trace::timeline::{Agreement, Call, Side, Timeline, Window};
//!
//! let call = |start_ps, duration_ps| Call { name: "MatMulV2", duration_ps, start_ps, agreement: Agreement::Close, ..Call::default() };
//! let mut timeline = Timeline::new(Vec::new(), &["predicted", "measured"], "predicted - measured")?;
//! timeline.add(&Window {
//!     name: "layer 0",
//!     sides: vec![
//!         Side { calls: vec![call(0, 5_000_000)], until_ps: 5_000_000 },
//!         Side { calls: vec![call(70_000, 6_000_000)], until_ps: 6_100_000 },
//!     ],
//! })?;
//! let text = String::from_utf8(timeline.finish()?)?;
//! assert!(text.contains(r#""ph":"X","name":"MatMulV2","pid":2,"tid":2,"ts":0.0,"dur":6.0"#), "{text}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is written is valid JSON, ordered by time, and on each thread calls lie inside each other or apart, because viewers drop events that
//! overlap; calls that run at the same time are on threads of their own. Times are whole nanoseconds for the same reason. Only one window
//! is in memory.

mod event;
mod lanes;
mod target;
mod window;
mod writer;

pub use target::Target;
pub use window::{Agreement, Call, Side, Window};
pub use writer::Timeline;
