//! Reading the nodes of a rule file, and saying where one is wrong.

use std::fmt;
use std::path::Path;

use perfdb_pycompat::yaml::{Key, Map, Node, NodePath, Step};

use crate::error::Error;

/// What is wrong with a rule file, and where.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// From the innermost step outwards, as the problem travels up.
    steps: Vec<Step>,
    pub(super) reason: String,
}

impl Problem {
    pub(super) fn new(reason: impl fmt::Display) -> Self {
        Self { steps: Vec::new(), reason: reason.to_string() }
    }

    /// The same problem, seen from the mapping around it.
    pub(super) fn at(mut self, key: &str) -> Self {
        self.steps.push(Step::Key(key.to_owned()));
        self
    }

    /// The same problem, seen from the list around it.
    pub(super) fn at_item(mut self, index: usize) -> Self {
        self.steps.push(Step::Item(index));
        self
    }

    pub(super) fn into_error(mut self, path: &Path, text: &str) -> Error {
        self.steps.reverse();
        let node = NodePath::new(self.steps);
        let reason = if node.steps().is_empty() {
            self.reason
        } else {
            let line = node.position_in(text).map(|position| format!(" (line {})", position.line)).unwrap_or_default();
            format!("{node}: {}{line}", self.reason)
        };
        Error::Malformed { path: path.to_owned(), reason }
    }
}

pub(super) type Result<T> = std::result::Result<T, Problem>;

/// The value of a key, `null` counting as absent.
pub(super) fn present<'a>(map: &'a Map, key: &str) -> Option<&'a Node> {
    map.get(key).filter(|node| **node != Node::Null)
}

/// Refuses every key but the known ones.
pub(super) fn check_keys(map: &Map, known: &[&str]) -> Result<()> {
    match map.iter().map(|(key, _)| key).find(|key| !matches!(key, Key::Text(text) if known.contains(&text.as_str()))) {
        None => Ok(()),
        Some(key) => Err(Problem::new(format!("unknown key '{key}'")).at(&key.to_string())),
    }
}

/// Calls `visit` with each entry of the mapping at `key`, if there is one.
pub(super) fn for_each(map: &Map, key: &str, mut visit: impl FnMut(&str, &Node) -> Result<()>) -> Result<()> {
    let Some(node) = present(map, key) else {
        return Ok(());
    };
    let Some(entries) = node.as_map() else {
        return Err(Problem::new(format!("must be a mapping, not {}", node.kind())).at(key));
    };
    for (name, value) in entries.iter() {
        let visited = match name {
            Key::Text(name) => visit(name, value),
            Key::Other(..) => Err(Problem::new(format!("the key '{name}' must be a text"))),
        };
        visited.map_err(|problem| problem.at(&name.to_string()).at(key))?;
    }
    Ok(())
}

/// The text that a node must be.
pub(super) fn text(node: &Node) -> Result<&str> {
    node.as_text().ok_or_else(|| Problem::new(format!("must be a text, not {}", node.kind())))
}
