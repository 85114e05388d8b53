//! Where density is asked for: `ranges.yaml`.

use super::standard::{Malformed, Problem, integer, map};
use indexmap::IndexMap;
use perfdb_pycompat::yaml::{self, Node};
use std::path::Path;

/// A part of an axis that is declared to be covered.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// The kernel type.
    pub kernel: String,
    pub axis: String,
    /// Which buckets: values, or ranges of values, of other axes, and texts of columns.
    pub wanted: IndexMap<String, Wanted>,
    /// First and last value.
    pub range: [i64; 2],
}

/// What a bucket has to have.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// A value in this range.
    Value([i64; 2]),
    Text(String),
}

impl Declaration {
    /// Reads a list of declarations; `path` is for messages.
    ///
    /// # Errors
    /// The first key that is not as it should be.
    pub fn parse(path: &Path, text: &str) -> Result<Vec<Declaration>, Malformed> {
        let malformed = |(key, reason): Problem| Malformed { path: path.to_owned(), key, reason };
        let node = yaml::parse(text).map_err(|error| malformed((String::new(), error.to_string())))?;
        let Some(items) = node.as_list() else {
            return Err(malformed((String::new(), format!("must be a list, not {}", node.kind()))));
        };
        let item = |(at, item): (usize, &Node)| declaration(item, &format!("[{at}]")).map_err(malformed);
        items.iter().enumerate().map(item).collect()
    }

    pub(crate) fn fits(&self, axes: &[(String, i64)], rest: &[(String, String)]) -> bool {
        self.wanted.iter().all(|(name, wanted)| match wanted {
            Wanted::Value([first, last]) => {
                let of_axis = axes.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
                let of_column = || rest.iter().find(|(own, _)| own == name).and_then(|(_, text)| text.parse().ok());
                of_axis.or_else(of_column).is_some_and(|value| (*first..=*last).contains(&value))
            }
            Wanted::Text(text) => rest.iter().any(|(own, cell)| own == name && cell == text),
        })
    }
}

fn declaration(node: &Node, key: &str) -> Result<Declaration, Problem> {
    let fields = map(node, key, &["kernel", "axis", "where", "range"])?;
    let text = |name: &str| match fields.get(name) {
        Some(Node::Text(text)) => Ok(text.clone()),
        Some(other) => Err((format!("{key}.{name}"), format!("must be a text, not {}", other.kind()))),
        None => Err((format!("{key}.{name}"), "missing".to_owned())),
    };
    let mut wanted = IndexMap::new();
    if let Some(node) = fields.get("where") {
        let key = format!("{key}.where");
        for (name, node) in map(node, &key, &[])?.iter() {
            let key = format!("{key}.{name}");
            let value = match node {
                Node::Text(text) => Wanted::Text(text.clone()),
                Node::List(_) => Wanted::Value(pair(node, &key)?),
                other => {
                    let value = integer(other, &key)?;
                    Wanted::Value([value, value])
                }
            };
            wanted.insert(name.to_string(), value);
        }
    }
    let range = match fields.get("range") {
        Some(node) => pair(node, &format!("{key}.range"))?,
        None => return Err((format!("{key}.range"), "missing".to_owned())),
    };
    Ok(Declaration { kernel: text("kernel")?, axis: text("axis")?, wanted, range })
}

fn pair(node: &Node, key: &str) -> Result<[i64; 2], Problem> {
    match node.as_list() {
        Some([first, last]) => {
            let (first, last) = (integer(first, &format!("{key}[0]"))?, integer(last, &format!("{key}[1]"))?);
            if first > last { Err((key.to_owned(), format!("{first} is above {last}"))) } else { Ok([first, last]) }
        }
        _ => Err((key.to_owned(), "must be a list of two integers".to_owned())),
    }
}
