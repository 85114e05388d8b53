//! Readers of what profilers and simulators write: chrome traces and kernel CSVs.
//!
//! Everything streams: a reader holds the window it looks at and one event or record, for any size of the file. Files
//! may be gzip, pipes work, all of the input is checked, and errors say where.
//!
//! The time that a simulated forward pass takes, by source of the durations:
//!
//! ```
//! use perfdb_trace::{chrome::{Item, ReadOptions, Reader}, source::Source};
//! use std::collections::BTreeMap;
//!
//! # let path = std::env::temp_dir().join(format!("perfdb-trace-doc-{}.json", std::process::id()));
//! # std::fs::write(&path, r#"{"traceEvents": [{"ph": "X", "dur": 12, "args": {"source": "MEASURED"}}]}"#)?;
//! let mut source = Source::open(&path)?;
//! let options = ReadOptions::simulator().args(["source"]);
//! let mut reader = Reader::new(&mut source, &options);
//! let mut time_us = BTreeMap::new();
//! while let Some(item) = reader.next_item()? {
//!     let Item::Event(event) = item else { continue };
//!     if let (Some(name), Some(duration)) = (event.text_arg(0), event.duration()) {
//!         *time_us.entry(name.into_owned()).or_insert(0.0) += duration.to_f64();
//!     }
//! }
//! assert_eq!(time_us["MEASURED"], 12.0);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod blocks;
pub mod chrome;
pub mod coverage;
pub mod cut;
pub mod error;
pub mod id;
pub mod id_index;
pub mod json;
pub mod kernel_table;
pub mod kernels;
pub mod names;
pub mod numbering;
pub mod packed;
pub mod profile;
pub mod records;
pub mod scan;
pub mod selected;
pub mod sequence;
pub mod source;
pub mod time;
pub mod timeline;

mod marks;
mod split;

pub use error::Error;
