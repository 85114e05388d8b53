//! Two GPU traces compared: JSON, CSV and text.
//!
//! ```
//! use perfdb_report::tracediff::{TextOptions, json, text};
//! use perfdb_tracediff::{AnalysisOptions, LoadOptions, Trace, analyse};
//!
//! let trace = r#"{"traceEvents": [{"cat": "kernel", "name": "Cijk_A", "ts": 0, "dur": 30}]}"#;
//! let load = |name| Trace::from_reader(name, std::io::Cursor::new(trace), &LoadOptions::default());
//! let analysis = analyse(&load("a.json")?, &load("b.json")?, &AnalysisOptions::default())?;
//! assert!(json(&analysis.document, None).starts_with("{\n  \"format_version\": 3,"));
//! let report = text(&analysis.document, &TextOptions::default());
//! assert!(report.starts_with("elapsed of the whole, trace 2 / trace 1: 1.000"));
//! assert!(report.contains("trust: trace 1 LOW"));
//! # Ok::<(), perfdb_tracediff::Error>(())
//! ```

mod confidence;
mod csv;
mod elapsed;
mod events;
mod explanation;
mod json;
mod legacy_csv;
mod operation;
mod records;
mod rooflines;
mod screen;
mod strips;
mod text;
mod text_parts;
mod wording;

pub(crate) use confidence::{is_known, of_operation, per_what, words};
pub use csv::{CsvTable, csv};
pub(crate) use elapsed::{found_by, phases_of};
pub use events::{EVENTS_HEADER, push_event};
pub use json::json;
pub(crate) use operation::Operation;
pub(crate) use records::{push_record, text_cell};
pub(crate) use strips::runs;
pub(crate) use text::layers_are_certain;
pub use text::{TextOptions, text};
pub(crate) use wording::{counted, escaped};

/// Forty calls of one operation, and the same that take twice as long, with verdicts.
#[cfg(test)]
fn twice_as_long() -> Result<perfdb_tracediff::Analysis, perfdb_tracediff::Error> {
    use perfdb_tracediff::{AnalysisOptions, LoadOptions, Trace, analyse};
    let load = |duration_us: u32| {
        let kernel = |at: u32| {
            let duration_us = duration_us + at % 3;
            format!(
                r#"{{"ph": "X", "cat": "kernel", "name": "Cijk_A", "ts": {}, "dur": {duration_us}, "args": {{}}}}"#,
                1000 * at
            )
        };
        let kernels: Vec<String> = (0..40).map(kernel).collect();
        let text = format!(r#"{{"traceEvents": [{}]}}"#, kernels.join(","));
        Trace::from_reader("trace.json", std::io::Cursor::new(text), &LoadOptions::default())
    };
    let options = AnalysisOptions { confidence: true, ..AnalysisOptions::default() };
    analyse(&load(100)?, &load(200)?, &options)
}
