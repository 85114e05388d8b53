//! From YAML to checked rules.

use std::fmt;
use std::path::Path;

use indexmap::IndexMap;
use perfdb_files::escape::one_line;
use perfdb_pycompat::yaml::{self, Key, Map, Node, NodePath, Step};

use super::{Pattern, RuleFile, SKIP, read_template};
use crate::error::Error;
use crate::generators::Generator;

/// What is wrong with a rule file, and where.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// From the innermost step outwards, as the problem travels up.
    steps: Vec<Step>,
    reason: String,
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

    fn into_error(mut self, path: &Path, text: &str) -> Error {
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

type Result<T> = std::result::Result<T, Problem>;

pub(super) fn rule_file(path: &Path, text: &str) -> std::result::Result<RuleFile, Error> {
    let document = yaml::parse(text)
        .map_err(|error| Error::Malformed { path: path.to_owned(), reason: format!("not YAML: {error}") })?;
    checked(path, &document).map_err(|problem| problem.into_error(path, text))
}

fn checked(path: &Path, document: &Node) -> Result<RuleFile> {
    let top = document.as_map().ok_or_else(|| Problem::new("the top level must be a mapping"))?;
    check_keys(top, &["patterns", "assignments"])?;
    let mut rules = RuleFile {
        path: path.to_owned(),
        patterns: IndexMap::new(),
        assignments: IndexMap::new(),
        warnings: Vec::new(),
    };
    for_each(top, "patterns", |name, node| {
        let pattern = pattern(node, |warning| {
            rules.warnings.push(one_line(&format!("{}: patterns.{name}.{warning}", path.display())));
        })?;
        rules.patterns.insert(name.to_owned(), pattern);
        Ok(())
    })?;
    for_each(top, "assignments", |kernel, node| {
        let name = text(node)?;
        if name != SKIP && !rules.patterns.contains_key(name) {
            return Err(Problem::new(format!("unknown pattern '{name}'")));
        }
        rules.assignments.insert(kernel.to_owned(), name.to_owned());
        Ok(())
    })?;
    Ok(rules)
}

fn pattern(node: &Node, warn: impl FnMut(&str)) -> Result<Pattern> {
    let map = node.as_map().ok_or_else(|| Problem::new(format!("a pattern must be a mapping, not {}", node.kind())))?;
    match map.get("generator_function") {
        None => read_template::template(map, warn).map(|template| Pattern::Template(Box::new(template))),
        Some(function) => {
            let generator = text(function).and_then(|name| {
                Generator::from_function_name(name)
                    .ok_or_else(|| Problem::new(format!("unknown generator function '{name}'")))
            });
            let generator = generator.map_err(|problem| problem.at("generator_function"))?;
            check_keys(map, &["generator_function"]).map_err(|mut problem| {
                problem.reason.push_str(&format!(" beside generator_function '{}'", generator.function_name()));
                problem
            })?;
            Ok(Pattern::Generator(generator))
        }
    }
}

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
