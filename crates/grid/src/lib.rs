//! Theory shape grids: rules, expressions, generators, model presets, memory estimate, sampling.
#![forbid(unsafe_code)]
