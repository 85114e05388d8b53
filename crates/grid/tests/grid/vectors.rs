//! The vectors in `testdata/golden/generate-shape-grid`.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The file with this name.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/generate-shape-grid").join(name)
}

/// The JSON in the file with this name.
pub(crate) fn json(name: &str) -> Value {
    let text = std::fs::read_to_string(file(name)).expect("the vectors are part of the repository");
    serde_json::from_str(&text).expect("JSON")
}

/// The items of a list.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} is a list"))
}

/// A text.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} is a text"))
}
