//! The values of a document.

use std::fmt;

use indexmap::IndexMap;

/// One YAML value.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// `null`, `~` or nothing.
    Null,
    /// `true`, `no`, `On`, …, unquoted.
    Boolean(bool),
    /// An integer. One beyond 128 bits is a [`Node::Float`].
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
