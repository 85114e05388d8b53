//! Op replay: database row to explicit case to executor to op_summary.
#![forbid(unsafe_code)]
