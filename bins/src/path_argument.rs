//! Paths on the command line.

use clap::builder::{OsStringValueParser, TypedValueParser};
use std::path::PathBuf;

/// Parses a path, of whatever bytes. Unlike clap's own parser it takes an empty one, which the tools tell from a missing one.
pub fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}
