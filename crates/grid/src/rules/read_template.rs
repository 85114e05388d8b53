//! From a mapping of a rule file to a template.

use indexmap::IndexMap;
use perfdb_pycompat::yaml::{Map, Node};
use perfdb_store::columns::{INPUT_FORMATS, INPUT_TYPES, OUTPUT_FORMATS, OUTPUT_TYPES};

use super::nodes::{Problem, Result, check_keys, for_each, present, text};
use crate::expression::{Expression, Scope, SyntaxError, check_name};
use crate::grids;
use crate::shape_template::ShapeTemplate;
use crate::template::{Constraint, PAIR_VARIABLES, Template};

type Grids = IndexMap<String, Vec<i128>>;

const KEYS: [&str; 11] = [
    "iterators",
    "constants",
    "constraints",
    "model_nk_pairs",
    "fallback_iterators",
    "inputs",
    "outputs",
    "input_dtypes",
    "input_formats",
    "output_dtypes",
    "output_formats",
];

/// The keys that set a cell of every row, and its column.
const CELLS: [(&str, &str); 4] = [
    ("input_dtypes", INPUT_TYPES),
    ("input_formats", INPUT_FORMATS),
    ("output_dtypes", OUTPUT_TYPES),
    ("output_formats", OUTPUT_FORMATS),
];

pub(super) fn template(map: &Map, mut warn: impl FnMut(&str)) -> Result<Template> {
    check_keys(map, &KEYS)?;
    let iterators = grids_of(map, "iterators")?;
    let fallback = grids_of(map, "fallback_iterators")?;
    let constants = constants(map)?;
    let takes_model_pairs = match present(map, "model_nk_pairs") {
        None => false,
        Some(Node::Boolean(value)) => *value,
        Some(other) => {
            return Err(Problem::new(format!("must be true or false, not {}", other.kind())).at("model_nk_pairs"));
        }
    };
    if !takes_model_pairs && !fallback.is_empty() {
        warn("fallback_iterators: without effect, as model_nk_pairs is not true");
    }
    let names = Names::new(&iterators, &fallback, &constants, takes_model_pairs)?;
    let constraints = list(map, "constraints", |text| {
        let expression = Expression::compile(text, &names.scope).map_err(|error| names.problem(text, &error))?;
        Ok(Constraint { text: text.to_owned(), expression })
    })?;
    let shape = |text: &str| ShapeTemplate::compile(text, &names.scope).map_err(|error| names.problem(text, &error));
    let (inputs, outputs) = (required(map, "inputs", shape)?, required(map, "outputs", shape)?);
    let mut cells = Vec::new();
    for (key, column) in CELLS {
        let parts = list(map, key, |text| Ok(text.to_owned()))?;
        if !parts.is_empty() {
            cells.push((column, parts.join(";")));
        }
    }
    Ok(Template {
        iterators,
        fallback: if takes_model_pairs { fallback } else { Grids::new() },
        takes_model_pairs,
        scope: names.scope,
        variables: names.variables,
        constraints,
        inputs,
        outputs,
        cells,
    })
}

fn grids_of(map: &Map, key: &str) -> Result<Grids> {
    let mut grids = Grids::new();
    for_each(map, key, |variable, node| {
        check_name(variable).map_err(Problem::new)?;
        grids.insert(variable.to_owned(), grid(node)?);
        Ok(())
    })?;
    Ok(grids)
}

fn grid(node: &Node) -> Result<Vec<i128>> {
    let refused = |kind: &str| Problem::new(format!("a grid is a name or a list of integers, not {kind}"));
    match node {
        Node::Text(name) => match grids::named(name) {
            Some(values) => Ok(values.to_vec()),
            None => Err(Problem::new(format!("unknown grid '{name}'"))),
        },
        Node::List(items) => {
            let integer = |(index, item): (usize, &Node)| match item {
                Node::Integer(value) => Ok(*value),
                Node::Text(text) => Err(refused(&format!("'{text}'")).at_item(index)),
                other => Err(refused(other.kind()).at_item(index)),
            };
            items.iter().enumerate().map(integer).collect()
        }
        other => Err(refused(other.kind())),
    }
}

fn constants(map: &Map) -> Result<IndexMap<String, i128>> {
    let mut constants = IndexMap::new();
    for_each(map, "constants", |variable, node| {
        check_name(variable).map_err(Problem::new)?;
        let value = match node {
            Node::Integer(value) => Some(*value),
            Node::Text(text) => perfdb_pycompat::integer::parse(text).and_then(|integer| i128::try_from(integer).ok()),
            _ => None,
        };
        let value = value.ok_or_else(|| Problem::new(format!("the constant '{variable}' must be an integer")))?;
        constants.insert(variable.to_owned(), value);
        Ok(())
    })?;
    Ok(constants)
}

fn required<T>(map: &Map, key: &str, read: impl FnMut(&str) -> Result<T>) -> Result<Vec<T>> {
    if present(map, key).is_none() {
        return Err(Problem::new(format!("'{key}' is missing")));
    }
    list(map, key, read)
}

/// Reads each text of the list at `key`; an absent list is empty.
fn list<T>(map: &Map, key: &str, mut read: impl FnMut(&str) -> Result<T>) -> Result<Vec<T>> {
    let Some(node) = present(map, key) else {
        return Ok(Vec::new());
    };
    let refused = || Problem::new(format!("'{key}' must be a list of texts, not {}", node.kind()));
    let items = node.as_list().ok_or_else(|| refused().at(key))?;
    let item = |(index, item): (usize, &Node)| {
        text(item).and_then(&mut read).map_err(|problem| problem.at_item(index).at(key))
    };
    items.iter().enumerate().map(item).collect()
}

/// The names that expressions of a template may use.
struct Names {
    /// Defined in both ways of enumerating, with and without models.
    scope: Scope,
    variables: Vec<String>,
    /// Defined in one way only, and in which.
    partly: Vec<(String, &'static str)>,
}

impl Names {
    fn new(
        iterators: &Grids,
        fallback: &Grids,
        constants: &IndexMap<String, i128>,
        takes_model_pairs: bool,
    ) -> Result<Self> {
        let is_pair = |name: &str| takes_model_pairs && PAIR_VARIABLES.contains(&name);
        let fallback = || fallback.keys().filter(|_| takes_model_pairs);
        for name in constants.keys() {
            if iterators.contains_key(name) || fallback().any(|other| other == name) || is_pair(name) {
                return Err(Problem::new(format!("'{name}' is defined twice")).at(name).at("constants"));
            }
        }
        let without_models = || iterators.keys().chain(fallback().filter(|name| !iterators.contains_key(*name)));
        let with_models = |name: &str| is_pair(name) || iterators.contains_key(name);
        let mut partly = Vec::new();
        let mut variables = Vec::new();
        for name in without_models() {
            if !takes_model_pairs || with_models(name) {
                variables.push(name.clone());
            } else {
                partly.push((name.clone(), "without target models"));
            }
        }
        for name in PAIR_VARIABLES {
            if takes_model_pairs && !variables.iter().any(|known| known == name) {
                partly.push((name.to_owned(), "with target models"));
            }
        }
        let constants = constants.iter().map(|(name, value)| (name.as_str(), *value));
        let scope = Scope::new(variables.iter().map(String::as_str), constants).map_err(Problem::new)?;
        Ok(Self { scope, variables, partly })
    }

    fn problem(&self, text: &str, error: &SyntaxError) -> Problem {
        if let SyntaxError::UnknownName(name) = error
            && let Some((_, when)) = self.partly.iter().find(|(known, _)| known == name)
        {
            return Problem::new(format!("'{text}': '{name}' is defined only {when}"));
        }
        Problem::new(format!("'{text}': {error}"))
    }
}
