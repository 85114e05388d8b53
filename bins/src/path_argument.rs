//! Paths on the command line.

use clap::builder::{OsStringValueParser, TypedValueParser};
use std::path::PathBuf;

/// Parses a path of any bytes. Unlike clap's own parser it takes an empty one, which is not the same as none to the tools.
pub fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}
