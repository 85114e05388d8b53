//! From YAML to checked rules.

use std::path::Path;

use indexmap::IndexMap;
use perfdb_files::escape::one_line;
use perfdb_pycompat::yaml::{self, Node};

use super::nodes::{Problem, Result, check_keys, for_each, text};
use super::{Pattern, RuleFile, SKIP, read_template};
use crate::error::Error;
use crate::generators::Generator;

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
