//! Metrics over traces: M6, per operator, per shape; scenarios in parallel.
#![forbid(unsafe_code)]
