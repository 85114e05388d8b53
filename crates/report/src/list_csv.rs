//! A list of a JSON document as CSV, for spreadsheets: one line for each of its objects.

use perfdb_files::escape::spreadsheet_text;
use perfdb_pycompat::csv_text::push_row;
use serde_json::Value;
use std::borrow::Cow;

/// Columns of the findings of check-database.
pub const OF_DATABASE_CHECK: [&str; 6] = ["kind", "severity", "file", "line", "message", "ignored"];
/// Columns of the findings of check-density.
pub const OF_DENSITY: [&str; 12] =
    ["gate", "kind", "fails", "file", "line", "axis", "bucket", "from", "to", "limit", "repair", "text"];
/// Columns of the findings of check-trace.
pub const OF_TRACE_CHECK: [&str; 7] = ["code", "severity", "share", "effect", "evidence", "repair", "ignored"];
/// Columns of the figures of evaluate-database.
pub const OF_EVALUATION: [&str; 9] =
    ["kernel_type", "left_out", "axis", "asked", "median_error", "p90_error", "bias", "held", "half_width"];

/// Header and a line for each object of a list, ending in LF. A column is the key of its name; what is missing or null is empty, lists and
/// objects are JSON. Texts that a spreadsheet would compute have an apostrophe in front.
pub fn list_csv(columns: &[&str], list: &Value) -> String {
    let mut out = String::new();
    push_row(&mut out, columns.iter().copied(), "\n");
    for object in list.as_array().into_iter().flatten() {
        let cells: Vec<Cow<'_, str>> = columns.iter().map(|column| cell(&object[column])).collect();
        push_row(&mut out, cells.iter().map(AsRef::as_ref), "\n");
    }
    out
}

/// The objects of the lists below the objects of `outer`, with the keys of the outer one that are single values.
pub fn inner_objects(outer: &Value, list: &str) -> Value {
    let with_outer = |outer: &Value, inner: &Value| {
        let mut object = inner.clone();
        let singles =
            outer.as_object().into_iter().flatten().filter(|(_, value)| !value.is_array() && !value.is_object());
        if let Some(object) = object.as_object_mut() {
            singles.for_each(|(key, value)| {
                object.entry(key.clone()).or_insert_with(|| value.clone());
            });
        }
        object
    };
    let outers = outer.as_array().into_iter().flatten();
    outers
        .flat_map(|outer| outer[list].as_array().into_iter().flatten().map(move |inner| with_outer(outer, inner)))
        .collect()
}

fn cell(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => "".into(),
        Value::String(text) => spreadsheet_text(text),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_for_each_object() {
        let list = json!([{"a": "=x, y", "b": 2, "c": {"d": [1]}}, {"b": null, "c": -0.5}]);
        let csv = list_csv(&["a", "b", "c"], &list);
        assert_eq!(csv, "a,b,c\n\"'=x, y\",2,\"{\"\"d\"\":[1]}\"\n,,-0.5\n");
    }

    #[test]
    fn inner_objects_have_the_names_of_the_outer_ones() {
        let outer = json!([{"k": "A", "rows": [1], "s": [{"x": 1}, {"x": 2}]}, {"k": "B", "s": []}]);
        assert_eq!(inner_objects(&outer, "s"), json!([{"k": "A", "x": 1}, {"k": "A", "x": 2}]));
    }
}
