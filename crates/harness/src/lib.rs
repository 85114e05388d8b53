//! What must hold for any bytes the tools are given: [`properties`] of readers for tests and fuzz targets, [`reliability`] of whole programs.
#![forbid(unsafe_code)]

pub mod properties;
pub mod reliability;
