//! The option `--semantics` of the tools that do as the original tools do, or better.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use perfdb_store::Semantics;

/// `--semantics` when it is not given.
pub const DEFAULT_SEMANTICS: &str = "upstream";

/// Reads `--semantics`.
pub fn semantics() -> impl TypedValueParser<Value = Semantics> {
    let names = [
        PossibleValue::new(DEFAULT_SEMANTICS).help("As the original tools, known faults included"),
        PossibleValue::new("corrected").help("Known faults switched off"),
    ];
    PossibleValuesParser::new(names).map(|name| match name.as_str() {
        DEFAULT_SEMANTICS => Semantics::Upstream,
        _ => Semantics::Corrected,
    })
}
