//! The tests of this crate are one program: that is linked once.

#[cfg(feature = "parquet")]
mod aiconfigurator;
mod aiconfigurator_export;
#[cfg(feature = "parquet")]
mod parquet;
mod runtime_metadata;
mod safety;
mod updater;
