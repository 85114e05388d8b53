//! Rendering of results: console tables, JSON, CSV, Markdown, HTML.
//!
//! ```
//! use perfdb_compare::m6::{M6, SourceFilter};
//! use perfdb_report::m6::Report;
//!
//! let m6 = M6 { ratio: 0.95, empirical_us: 950.0, real_us: 1000.0, compute_us: 800.0, collective_us: 200.0 };
//! let source_filter = SourceFilter::default();
//! let report = Report { m6, tc_trace: "trace.json", prof_trace: "pass.csv", source_filter: &source_filter };
//! assert!(report.text().ends_with("M6 = 0.950  (Empirical / Real)\n"));
//! ```
#![forbid(unsafe_code)]
// A part of the tools, whose interface promises nothing: what its name says needs no comment.
#![allow(missing_docs)]

pub mod answers;
pub mod attribution;
pub mod calibration;
pub mod collection;
pub mod coverage;
pub mod database_check;
pub mod density;
pub mod evaluation;
pub mod event_table;
pub mod forecast;
pub mod layout;
pub mod list_csv;
pub mod m6;
mod markdown;
pub mod measured;
pub mod microbench;
pub mod one_trace;
pub mod operators;
pub mod page;
pub mod pages;
pub mod passes;
pub mod ranks;
pub mod runs;
pub mod screen;
pub mod shapes;
pub mod tables;
pub mod trace_check;
pub mod tracediff;
pub mod versions;
