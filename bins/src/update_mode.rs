//! The option `--update-mode` of the tools that measure.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use perfdb_store::update::Mode;

/// `--update-mode` when it is not given.
pub const DEFAULT_UPDATE_MODE: &str = "all";

/// Reads `--update-mode`.
pub fn update_mode() -> impl TypedValueParser<Value = Mode> {
    let names = [
        PossibleValue::new(Mode::All.name()).help("Every row"),
        PossibleValue::new(Mode::MissingOnly.name()).help("Rows without a valid duration"),
    ];
    PossibleValuesParser::new(names)
        .map(|name| if name == Mode::MissingOnly.name() { Mode::MissingOnly } else { Mode::All })
}
