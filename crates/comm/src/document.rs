//! JSON documents for people and programs: one line per entry of a list.

use serde::Serialize;
use serde_json::Value;

/// Renders a document: one key per line, and lists of objects with one object per line, so that a plan of a thousand
/// points can be read, searched and compared line by line. Ends in a line end.
pub(crate) fn render(document: &impl Serialize) -> String {
    let value = serde_json::to_value(document).unwrap_or_default();
    let Value::Object(members) = value else {
        return format!("{value}\n");
    };
    let mut text = String::from("{\n");
    for (position, (key, member)) in members.iter().enumerate() {
        let comma = if position + 1 == members.len() { "" } else { "," };
        text.push_str(&format!(" {}: ", Value::from(key.as_str())));
        match member {
            Value::Array(items) if items.iter().any(Value::is_object) => {
                text.push_str("[\n");
                for (index, item) in items.iter().enumerate() {
                    let comma = if index + 1 == items.len() { "" } else { "," };
                    text.push_str(&format!("  {}{comma}\n", spaced(item)));
                }
                text.push_str(&format!(" ]{comma}\n"));
            }
            other => text.push_str(&format!("{}{comma}\n", spaced(other))),
        }
    }
    text.push_str("}\n");
    text
}

/// One line with a space after every comma and colon.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), spaced(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        other => other.to_string(),
    }
}
