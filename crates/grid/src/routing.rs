//! Which rule a kernel gets: the op mapping beside the tables, then the rule file.

use std::path::Path;

use indexmap::IndexMap;
use perfdb_store::yaml::{self, Map, Node};
use perfdb_trace::source::Source;

use crate::error::Error;
use crate::rules::{Pattern, RuleFile};

/// The name of the mapping, directly in the folder of tables.
pub const FILE_NAME: &str = "op_mapping.yaml";

/// The pattern of elementwise kernels that no rule names.
const ELEMENTWISE: &str = "elementwise_binary";

/// Why a kernel has no rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRule {
    /// The op mapping says that it costs nothing, consists of others or communicates.
    HasNoShapes,
    /// The rule file assigns `skip`.
    Skipped,
    /// Nothing is said about it.
    NotAssigned,
    /// It lies in a folder that holds no tables.
    NoTable,
}

/// What the op mapping says about kernels.
#[derive(Clone, Debug, Default)]
pub struct OpMapping {
    kernels: IndexMap<String, Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    /// Kernels that cost nothing, consist of others or communicate have no shapes of their own.
    has_no_shapes: bool,
    is_elementwise: bool,
    /// The kernel whose alternate this one is.
    parent: Option<String>,
}

impl OpMapping {
    /// Reads `op_mapping.yaml` in a folder; a file that is absent or empty says nothing.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, is not YAML, or has something else where a mapping belongs.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE_NAME);
        let malformed = |reason: String| Error::Malformed { path: path.clone(), reason };
        let text = match Source::open(&path).and_then(|mut source| source.read_text()) {
            Ok(text) => text,
            Err(error) if error.is_missing() => return Ok(Self::default()),
            Err(error) => return Err(error.into()),
        };
        let document = yaml::parse(&text).map_err(|error| malformed(error.to_string()))?;
        Self::from_document(&document).map_err(malformed)
    }

    fn from_document(document: &Node) -> Result<Self, String> {
        let mut mapping = Self::default();
        let top = match document {
            Node::Null => return Ok(mapping),
            Node::Map(map) => map,
            other => return Err(format!("the top level must be a mapping, not {}", other.kind())),
        };
        let operators = match top.get("operator_mappings") {
            None | Some(Node::Null) => return Ok(mapping),
            Some(Node::Map(map)) => map,
            Some(other) => return Err(format!("operator_mappings must be a mapping, not {}", other.kind())),
        };
        for (_, operator) in operators.iter() {
            if let Node::Map(operator) = operator {
                mapping.add(operator);
            }
        }
        Ok(mapping)
    }

    /// The first mention of a kernel decides.
    fn add(&mut self, operator: &Map) {
        let Some(kernel) = operator.get("kernel_type").and_then(name) else {
            return;
        };
        let is_true = |key: &str| operator.get(key).is_some_and(Node::is_truthy);
        let is = |key: &str, word: &str| operator.get(key).and_then(Node::as_text) == Some(word);
        let entry = Entry {
            has_no_shapes: is_true("zero_cost") || is_true("composite") || is("category", "communication"),
            is_elementwise: is("query_mode", "elementwise"),
            parent: None,
        };
        let alternates = operator.get("alternate_kernel_types").and_then(Node::as_list).unwrap_or_default();
        self.kernels.entry(kernel.clone()).or_insert_with(|| entry.clone());
        for alternate in alternates.iter().filter_map(name) {
            let entry = || Entry { parent: Some(kernel.clone()), ..entry.clone() };
            self.kernels.entry(alternate).or_insert_with(entry);
        }
    }

    /// Whether no kernel is mentioned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// The name and the pattern of the rule for a kernel.
    ///
    /// # Errors
    ///
    /// Says why there is none.
    pub fn rule<'a>(&self, kernel: &str, rules: &'a RuleFile) -> Result<(&'a str, &'a Pattern), NoRule> {
        let entry = self.kernels.get(kernel);
        if entry.is_some_and(|entry| entry.has_no_shapes) {
            return Err(NoRule::HasNoShapes);
        }
        let parent = || entry.and_then(|entry| entry.parent.as_deref());
        if let Some(assignment) = rules.assignment(kernel).or_else(|| rules.assignment(parent()?)) {
            return rules.rule(assignment).ok_or(NoRule::Skipped);
        }
        let elementwise = entry.filter(|entry| entry.is_elementwise).and_then(|_| rules.rule(ELEMENTWISE));
        elementwise.ok_or(NoRule::NotAssigned)
    }
}

/// A kernel name; a number is taken as its digits.
fn name(node: &Node) -> Option<String> {
    match node {
        Node::Text(text) if !text.is_empty() => Some(text.clone()),
        Node::Integer(integer) if *integer != 0 => Some(integer.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(text: &str) -> OpMapping {
        OpMapping::from_document(&yaml::parse(text).unwrap()).unwrap()
    }

    fn rule(mapping: &OpMapping, kernel: &str) -> Option<String> {
        mapping.rule(kernel, &RuleFile::built_in()).ok().map(|(name, _)| name.to_owned())
    }

    #[test]
    fn the_first_mention_decides_also_as_an_alternate() {
        let mapping = mapping(
            "operator_mappings:\n\
             \x20 a: {kernel_type: RmsNorm, alternate_kernel_types: [NewNorm, Cast]}\n\
             \x20 b: {kernel_type: NewNorm, zero_cost: true}\n\
             \x20 c: {kernel_type: Add, zero_cost: no}\n\
             \x20 d: {kernel_type: Add, composite: yes}\n\
             \x20 e: {kernel_type: Sub, category: communication, alternate_kernel_types: [OtherSub]}\n\
             \x20 f: {kernel_type: Fresh, query_mode: elementwise}\n\
             \x20 g: {kernel_type: null}\n\
             \x20 h: 5\n",
        );
        assert_eq!(rule(&mapping, "NewNorm").as_deref(), Some("rmsnorm"));
        assert_eq!(rule(&mapping, "Cast").as_deref(), Some("elementwise_unary"));
        assert_eq!(rule(&mapping, "Add").as_deref(), Some("elementwise_binary"));
        assert_eq!(rule(&mapping, "Fresh").as_deref(), Some("elementwise_binary"));
        assert_eq!([rule(&mapping, "Sub"), rule(&mapping, "OtherSub"), rule(&mapping, "Unknown")], [None, None, None]);
    }

    #[test]
    fn skip_does_not_fall_through() {
        let mapping = mapping("operator_mappings: {a: {kernel_type: MatMulCommon, query_mode: elementwise}}");
        let refused = |kernel| mapping.rule(kernel, &RuleFile::built_in()).err();
        assert_eq!(refused("MatMulCommon"), Some(NoRule::Skipped));
        assert_eq!(refused("Unknown"), Some(NoRule::NotAssigned));
    }

    #[test]
    fn what_is_no_mapping_is_refused() {
        let refused = |text: &str| OpMapping::from_document(&yaml::parse(text).unwrap()).unwrap_err();
        assert_eq!(refused("[1]"), "the top level must be a mapping, not a list");
        assert_eq!(refused("operator_mappings: x"), "operator_mappings must be a mapping, not a text");
        assert!(mapping("").is_empty() && mapping("operator_mappings:").is_empty());
    }
}
