//! Taking typed values out of a map and leaving the rest.

use indexmap::IndexMap;
use perfdb_pycompat::yaml::{Key, Map, Node};

/// A map whose known keys are taken out one by one. A value of an unexpected type stays.
pub(super) struct Fields {
    map: Map,
}

impl Fields {
    pub(super) fn new(map: Map) -> Fields {
        Fields { map }
    }

    /// What nobody took.
    pub(super) fn rest(self) -> Map {
        self.map
    }

    pub(super) fn take<T>(&mut self, key: &str, convert: impl Fn(&Node) -> Option<T>) -> Option<T> {
        let value = self.map.get(key).and_then(convert)?;
        self.map.remove(key);
        Some(value)
    }

    pub(super) fn node(&mut self, key: &str) -> Option<Node> {
        self.map.remove(key)
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        self.take(key, |node| node.as_text().map(str::to_owned))
    }

    /// Whether a value is there that counts as true. Any value: the readers of these files ask for truth, not for booleans.
    pub(super) fn flag(&mut self, key: &str) -> bool {
        self.map.remove(key).is_some_and(|node| node.is_truthy())
    }

    pub(super) fn boolean(&mut self, key: &str) -> Option<bool> {
        self.take(key, |node| match node {
            Node::Boolean(value) => Some(*value),
            _ => None,
        })
    }

    pub(super) fn integer(&mut self, key: &str) -> Option<i64> {
        self.take(key, |node| match node {
            Node::Integer(value) => i64::try_from(*value).ok(),
            _ => None,
        })
    }

    pub(super) fn number(&mut self, key: &str) -> Option<f64> {
        self.take(key, |node| match node {
            Node::Integer(value) => Some(*value as f64),
            Node::Float(value) => Some(*value),
            _ => None,
        })
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, key: &str) -> Vec<String> {
        self.take(key, |node| node.as_list()?.iter().map(|item| item.as_text().map(str::to_owned)).collect())
            .unwrap_or_default()
    }

    pub(super) fn map(&mut self, key: &str) -> Option<Map> {
        self.take(key, |node| node.as_map().cloned())
    }

    pub(super) fn has_map(&self, key: &str) -> bool {
        self.map.get(key).and_then(Node::as_map).is_some()
    }

    /// A map of maps under text keys; entries of another form stay behind in a map of this key.
    pub(super) fn maps<T>(&mut self, key: &str, convert: impl Fn(Map) -> T) -> IndexMap<String, T> {
        let mut taken = IndexMap::new();
        let mut left = Map::default();
        for (name, value) in self.map(key).unwrap_or_default() {
            match (name, value) {
                (Key::Text(name), Node::Map(map)) => {
                    taken.insert(name, convert(map));
                }
                (name, value) => left.insert(name, value),
            }
        }
        if !left.is_empty() {
            self.map.insert(Key::Text(key.to_owned()), Node::Map(left));
        }
        taken
    }
}
