//! Readers of what profilers and simulators write: chrome traces and kernel CSVs.

pub mod records;
