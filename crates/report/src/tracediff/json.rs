//! The JSON document.

use perfdb_pycompat::json::{Style, to_value, write};
use perfdb_pycompat::value::Value;
use perfdb_tracediff::Document;

/// The document as JSON text with a final newline. With `sections`, other top-level keys are left out.
pub fn json(document: &Document, sections: Option<&[String]>) -> String {
    // Every key of a document is a text, so it is always representable.
    let mut value = to_value(document).unwrap_or(Value::None);
    if let (Value::Dict(members), Some(sections)) = (&mut value, sections) {
        members.retain(|key, _| sections.iter().any(|section| section == key));
    }
    let mut text = write(&value, Style::INDENTED);
    text.push('\n');
    text
}
