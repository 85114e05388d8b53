//! The operator performance database: directories, CSV tables, signatures, op mapping, updater, lint, locks, queries.
#![forbid(unsafe_code)]
