//! Documents with the values that PyYAML's safe loader gives them (dates left as texts), or the fact that it refuses them.

use perfdb_pycompat::float;
use perfdb_pycompat::yaml::{self, Key, Node};
use serde_json::{Value, json};

/// The value as the vectors write it: texts, booleans and null as in JSON, numbers by their kind, maps as pairs.
fn plain(node: &Node) -> Value {
    match node {
        Node::Null => Value::Null,
        Node::Boolean(value) => json!(value),
        Node::Integer(value) => json!({ "int": value.to_string() }),
        Node::Float(value) => json!({ "float": float::repr(*value) }),
        Node::Text(text) => json!(text),
        Node::List(items) => items.iter().map(plain).collect(),
        Node::Map(map) => {
            let pairs: Vec<Value> = map.iter().map(|(key, value)| json!([plain_key(key), plain(value)])).collect();
            json!({ "map": pairs })
        }
    }
}

fn plain_key(key: &Key) -> Value {
    match key {
        Key::Text(text) => json!(text),
        Key::Other("nothing", _) => Value::Null,
        Key::Other("boolean", text) => json!(text == "true"),
        Key::Other(_, text) if text.parse::<i128>().is_ok() => json!({ "int": text }),
        Key::Other(_, text) => json!({ "float": text }),
    }
}

#[test]
fn values_are_those_of_pyyaml() {
    let (mut accepted, mut refused) = (0, 0);
    for line in include_str!("yaml_vectors.jsonl").lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let text = vector["text"].as_str().unwrap();
        let read = yaml::parse(text);
        match vector.get("ok") {
            Some(expected) => {
                let node = read.unwrap_or_else(|error| panic!("{text:?}: {error}"));
                assert_eq!(&plain(&node), expected, "{text:?}");
                accepted += 1;
            }
            None => {
                assert!(read.is_err(), "{text:?} is refused by PyYAML");
                refused += 1;
            }
        }
    }
    assert!(accepted > 150 && refused > 100, "{accepted} accepted, {refused} refused");
}
