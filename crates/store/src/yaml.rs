//! YAML as the tools around the database read it: YAML 1.1 words, equal keys, merge keys.
//!
//! `serde_yaml` follows YAML 1.2 and refuses some documents that are in use. This module loads one document into
//! [`Node`]s with the rules of YAML 1.1 where they matter here:
//!
//! - plain `yes`, `no`, `on`, `off` (and their capitalised forms) are booleans, quoted ones are texts;
//! - `010` and `1_000` are the integers 8 and 1000;
//! - of equal keys in one map the last one wins and keeps the place of the first;
//! - `<<` merges the maps it names, own keys win;
//! - anchors and aliases work, several documents in one file do not.
//!
//! ```
//! use perfdb_store::yaml;
//!
//! let map = yaml::parse("base: &b {zero_cost: yes}\nop: {<<: *b, note: x}").unwrap().into_map().unwrap();
//! assert!(map.get("op").and_then(yaml::Node::as_map).unwrap().get("zero_cost").unwrap().is_truthy());
//! ```

mod plain_words;

use indexmap::IndexMap;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Why a text is not one YAML document.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// The parser's own words, with line and column.
    #[error("{0}")]
    Syntax(#[from] serde_yaml::Error),
    /// A second document follows the first.
    #[error("several YAML documents in one file")]
    SeveralDocuments,
}

/// One YAML value.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// `null`, `~` or nothing.
    Null,
    /// `true`, `no`, `On`, …, unquoted.
    Boolean(bool),
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// Everything else that is a scalar; dates too.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping.
    Map(Map),
}

impl Node {
    /// Neither null, false, zero nor empty.
    pub fn is_truthy(&self) -> bool {
        match self {
            Node::Null => false,
            Node::Boolean(value) => *value,
            Node::Integer(value) => *value != 0,
            Node::Float(value) => *value != 0.0,
            Node::Text(text) => !text.is_empty(),
            Node::List(items) => !items.is_empty(),
            Node::Map(map) => !map.is_empty(),
        }
    }

    /// The text, if this is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The map, if this is one.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Node::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The items, if this is a sequence.
    pub fn as_list(&self) -> Option<&[Node]> {
        match self {
            Node::List(items) => Some(items),
            _ => None,
        }
    }

    /// The map, if this is one.
    pub fn into_map(self) -> Option<Map> {
        match self {
            Node::Map(map) => Some(map),
            _ => None,
        }
    }

    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Node::Null => "nothing",
            Node::Boolean(_) => "a boolean",
            Node::Integer(_) | Node::Float(_) => "a number",
            Node::Text(_) => "a text",
            Node::List(_) => "a list",
            Node::Map(_) => "a map",
        }
    }
}

/// The key of a map.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// A text, the usual case.
    Text(String),
    /// A scalar of another kind, as its kind and its text: such a key never equals a text.
    Other(&'static str, String),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Text(text) | Key::Other(_, text) => f.write_str(text),
        }
    }
}

/// A mapping in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    entries: IndexMap<Key, Node>,
}

impl Map {
    /// The value of a text key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        // IndexMap can't look up an enum by a borrowed part of it; the maps here are small or looked up once per name.
        self.entries.get(&Key::Text(key.to_owned()))
    }

    /// Takes the value of a text key out; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        self.entries.shift_remove(&Key::Text(key.to_owned()))
    }

    /// Puts a value in, behind the others if the key is new.
    pub fn insert(&mut self, key: Key, value: Node) {
        self.entries.insert(key, value);
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Node)> {
        self.entries.iter()
    }
}

impl IntoIterator for Map {
    type Item = (Key, Node);
    type IntoIter = indexmap::map::IntoIter<Key, Node>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

/// Reads one document; a text without any is [`Node::Null`].
///
/// # Errors
/// When the text is not YAML, uses a tag or a key that has no plain value, or holds several documents.
pub fn parse(text: &str) -> Result<Node, Malformed> {
    let mut documents = serde_yaml::Deserializer::from_str(text);
    let Some(document) = documents.next() else {
        return Ok(Node::Null);
    };
    let node = NodeSeed { source: text }.deserialize(document)?;
    match documents.next() {
        None => Ok(node),
        Some(_) => Err(Malformed::SeveralDocuments),
    }
}

#[derive(Clone, Copy)]
struct NodeSeed<'de> {
    source: &'de str,
}

impl NodeSeed<'_> {
    /// Whether a text borrowed from the source stands there without quotes.
    fn is_plain(self, borrowed: &str) -> bool {
        let offset = (borrowed.as_ptr() as usize).checked_sub(self.source.as_ptr() as usize);
        match offset.filter(|&at| at <= self.source.len()) {
            Some(0) => true,
            Some(at) => !matches!(self.source.as_bytes().get(at - 1), Some(b'"' | b'\'')),
            None => false,
        }
    }
}

impl<'de> DeserializeSeed<'de> for NodeSeed<'de> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeSeed<'de> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain YAML value without a tag of its own")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Integer(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Node, E> {
        Ok(Node::Integer(value))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Node, E> {
        Ok(i128::try_from(value).map_or(Node::Float(value as f64), Node::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Node, E> {
        let plain = Some(text).filter(|text| self.is_plain(text));
        let boolean = || plain.and_then(plain_words::boolean).map(Node::Boolean);
        let integer = || plain.and_then(plain_words::integer).map(Node::Integer);
        Ok(boolean().or_else(integer).unwrap_or_else(|| Node::Text(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut own = Map::default();
        let mut merged = Map::default();
        while let Some(key) = entries.next_key_seed(KeySeed(self))? {
            let value = entries.next_value_seed(self)?;
            match key {
                KeyOrMerge::Key(key) => own.insert(key, value),
                KeyOrMerge::Merge => merge(&mut merged, value).map_err(A::Error::custom)?,
            }
        }
        if merged.is_empty() {
            return Ok(Node::Map(own));
        }
        for (key, value) in own {
            merged.insert(key, value);
        }
        Ok(Node::Map(merged))
    }
}

/// Adds what a `<<` names. Of several maps in one `<<` the first wins, of several `<<` the last.
fn merge(merged: &mut Map, value: Node) -> Result<(), String> {
    let maps = match value {
        Node::Map(map) => vec![map],
        Node::List(items) => items
            .into_iter()
            .map(|item| {
                let kind = item.kind();
                item.into_map().ok_or_else(|| format!("`<<` wants a map or a list of maps, a list item is {kind}"))
            })
            .collect::<Result<Vec<_>, _>>()?,
        other => return Err(format!("`<<` wants a map or a list of maps, not {}", other.kind())),
    };
    for map in maps.into_iter().rev() {
        for (key, value) in map {
            merged.insert(key, value);
        }
    }
    Ok(())
}

enum KeyOrMerge {
    Key(Key),
    Merge,
}

struct KeySeed<'de>(NodeSeed<'de>);

impl<'de> DeserializeSeed<'de> for KeySeed<'de> {
    type Value = KeyOrMerge;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<KeyOrMerge, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> KeySeed<'de> {
    fn other<E>(kind: &'static str, text: impl ToString) -> Result<KeyOrMerge, E> {
        Ok(KeyOrMerge::Key(Key::Other(kind, text.to_string())))
    }
}

impl<'de> Visitor<'de> for KeySeed<'de> {
    type Value = KeyOrMerge;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or another scalar as key")
    }

    fn visit_unit<E>(self) -> Result<KeyOrMerge, E> {
        Self::other("nothing", "null")
    }

    fn visit_bool<E>(self, value: bool) -> Result<KeyOrMerge, E> {
        Self::other("boolean", value)
    }

    fn visit_i64<E>(self, value: i64) -> Result<KeyOrMerge, E> {
        Self::other("number", value)
    }

    fn visit_u64<E>(self, value: u64) -> Result<KeyOrMerge, E> {
        Self::other("number", value)
    }

    fn visit_i128<E>(self, value: i128) -> Result<KeyOrMerge, E> {
        Self::other("number", value)
    }

    fn visit_u128<E>(self, value: u128) -> Result<KeyOrMerge, E> {
        Self::other("number", value)
    }

    fn visit_f64<E>(self, value: f64) -> Result<KeyOrMerge, E> {
        Self::other("number", value)
    }

    fn visit_str<E>(self, text: &str) -> Result<KeyOrMerge, E> {
        Ok(KeyOrMerge::Key(Key::Text(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<KeyOrMerge, E> {
        if self.0.is_plain(text) {
            if text == "<<" {
                return Ok(KeyOrMerge::Merge);
            }
            if let Some(value) = plain_words::boolean(text) {
                return Self::other("boolean", value);
            }
        }
        Ok(KeyOrMerge::Key(Key::Text(text.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Map {
        parse(text).unwrap().into_map().unwrap()
    }

    #[test]
    fn words_are_booleans_when_plain() {
        let map = map("a: yes\nb: \"off\"\nc: 'no'\nd: Off\ne: [on, x]\nf: {g: NO}\ng: >-\n  no\nyes: 1\n");
        assert_eq!(map.get("a"), Some(&Node::Boolean(true)));
        assert_eq!(map.get("b"), Some(&Node::Text("off".into())));
        assert_eq!(map.get("c"), Some(&Node::Text("no".into())));
        assert_eq!(map.get("d"), Some(&Node::Boolean(false)));
        assert_eq!(map.get("e"), Some(&Node::List(vec![Node::Boolean(true), Node::Text("x".into())])));
        assert_eq!(map.get("f").and_then(Node::as_map).unwrap().get("g"), Some(&Node::Boolean(false)));
        assert_eq!(map.get("g"), Some(&Node::Text("no".into())));
        assert_eq!(map.get("yes"), None);
    }

    #[test]
    fn integers_are_those_of_yaml_1_1_when_plain() {
        let map = map("a: 010\nb: \"010\"\nc: [1_000, '1_000']\n");
        assert_eq!(map.get("a"), Some(&Node::Integer(8)));
        assert_eq!(map.get("b"), Some(&Node::Text("010".into())));
        assert_eq!(map.get("c"), Some(&Node::List(vec![Node::Integer(1000), Node::Text("1_000".into())])));
    }

    #[test]
    fn quoted_false_is_truthy() {
        let map = map("a: \"false\"\nb: false\nc: FALSE");
        assert!(map.get("a").unwrap().is_truthy());
        assert!(!map.get("b").unwrap().is_truthy());
        assert!(!map.get("c").unwrap().is_truthy());
    }

    #[test]
    fn last_of_equal_keys_wins_in_the_first_place() {
        let map = map("a: 1\nb: 2\na: 3");
        let keys: Vec<String> = map.iter().map(|(key, _)| key.to_string()).collect();
        assert_eq!(keys, ["a", "b"]);
        assert_eq!(map.get("a"), Some(&Node::Integer(3)));
    }

    #[test]
    fn merges_like_yaml_1_1() {
        let map = map("x: &x {p: 1, q: 2}\ny: &y {q: 3, r: 4}\nz: {<<: [*x, *y], r: 5}\nw: {<<: *x, <<: *y}\n'<<': 7");
        let z = map.get("z").and_then(Node::as_map).unwrap();
        assert_eq!(
            (z.get("p"), z.get("q"), z.get("r")),
            (Some(&Node::Integer(1)), Some(&Node::Integer(2)), Some(&Node::Integer(5)))
        );
        let w = map.get("w").and_then(Node::as_map).unwrap();
        assert_eq!(w.get("q"), Some(&Node::Integer(3)));
        assert_eq!(map.get("<<"), Some(&Node::Integer(7)));
    }

    #[test]
    fn what_has_no_plain_value_is_refused() {
        for text in
            ["a: 1\n---\nb: 2", "a: [", "a: !own b", "? [a]\n: b", "a: *nothing", "<<: 3", "<<: [1]", "a:\n\t- b"]
        {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn empty_documents_are_null() {
        for text in ["", "# only a comment\n", "---\n", "~"] {
            assert_eq!(parse(text).unwrap(), Node::Null, "{text:?}");
        }
    }
}
