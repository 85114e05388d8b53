//! Which rule a kernel gets: the op mapping beside the tables, then the rule file.

use std::path::Path;

use indexmap::IndexMap;
use perfdb_pycompat::yaml::Node;
use perfdb_store::op_mapping::{self, Entry, OpMapping};

use crate::error::Error;
use crate::rules::{Pattern, RuleFile};

/// The name of the mapping, directly in the folder of tables.
pub(crate) const FILE_NAME: &str = "op_mapping.yaml";

/// The pattern of elementwise kernels that no rule names.
const ELEMENTWISE: &str = "elementwise_binary";

/// Why a kernel has no rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRule {
    /// By the op mapping it costs nothing, consists of others or communicates.
    HasNoShapes,
    /// The rule file assigns `skip`.
    Skipped,
    /// The op mapping does not have it.
    NotAssigned,
    /// It lies in a folder that holds no tables.
    NoTable,
}

/// The kernels of the op mapping.
#[derive(Clone, Debug, Default)]
pub struct Routing {
    kernels: IndexMap<String, Route>,
}

#[derive(Clone, Debug)]
struct Route {
    /// Kernels that cost nothing, consist of others or communicate have no shapes of their own.
    has_no_shapes: bool,
    is_elementwise: bool,
    /// The kernel whose alternate this one is.
    parent: Option<String>,
}

impl Routing {
    /// Reads `op_mapping.yaml` in a folder; a file that is absent or empty has no kernels.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, is not YAML, or has something else where a mapping belongs.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE_NAME);
        let mapping = match OpMapping::load(&path) {
            Ok(mapping) => mapping.unwrap_or_default(),
            Err(op_mapping::Error::Read(error)) => return Err(error.into()),
            Err(op_mapping::Error::Yaml { source, .. }) => {
                return Err(Error::Malformed { path, reason: source.to_string() });
            }
            Err(op_mapping::Error::NotAMap { kind, .. }) => {
                return Err(Error::Malformed { path, reason: format!("the top level must be a mapping, not {kind}") });
            }
        };
        Self::new(&mapping).map_err(|reason| Error::Malformed { path, reason })
    }

    fn new(mapping: &OpMapping) -> Result<Self, String> {
        let mut routing = Self::default();
        match (&mapping.operator_mappings, mapping.other.get("operator_mappings")) {
            (Some(operators), _) => operators.values().for_each(|operator| routing.add(operator)),
            (None, None | Some(Node::Null)) => {}
            (None, Some(other)) => return Err(format!("operator_mappings must be a mapping, not {}", other.kind())),
        }
        Ok(routing)
    }

    /// The first mention of a kernel decides.
    fn add(&mut self, operator: &Entry) {
        let Some(kernel) = kernel_name(operator) else {
            return;
        };
        let route = Route {
            has_no_shapes: operator.zero_cost
                || operator.composite
                || operator.category.as_deref() == Some("communication"),
            is_elementwise: operator.query_mode.as_deref() == Some("elementwise"),
            parent: None,
        };
        self.kernels.entry(kernel.clone()).or_insert_with(|| route.clone());
        for alternate in alternates(operator) {
            let route = || Route { parent: Some(kernel.clone()), ..route.clone() };
            self.kernels.entry(alternate).or_insert_with(route);
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
    /// Why there is none.
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

fn kernel_name(operator: &Entry) -> Option<String> {
    match &operator.kernel_type {
        Some(kernel) if kernel.is_empty() => None,
        Some(kernel) => Some(kernel.clone()),
        None => operator.other.get("kernel_type").and_then(name),
    }
}

fn alternates(operator: &Entry) -> Vec<String> {
    let texts = operator.alternate_kernel_types.iter().filter(|kernel| !kernel.is_empty()).cloned();
    // A list with an item that is no text.
    let mixed = operator.other.get("alternate_kernel_types").and_then(Node::as_list).unwrap_or_default();
    texts.chain(mixed.iter().filter_map(name)).collect()
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

    fn mapping(text: &str) -> Routing {
        Routing::new(&OpMapping::parse(text).unwrap()).unwrap()
    }

    fn rule(mapping: &Routing, kernel: &str) -> Option<String> {
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
    fn numbers_as_names_are_their_digits() {
        let mapping = mapping("operator_mappings: {a: {kernel_type: 5, alternate_kernel_types: [6, '', Cast]}}");
        assert!(["5", "6", "Cast"].iter().all(|kernel| mapping.kernels.contains_key(*kernel)));
        assert_eq!(mapping.kernels.len(), 3);
    }

    #[test]
    fn what_is_no_mapping_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |text: &str| {
            std::fs::write(folder.path().join(FILE_NAME), text).unwrap();
            let error = Routing::read(folder.path()).unwrap_err().to_string();
            error.split_once("op_mapping.yaml: ").unwrap().1.to_owned()
        };
        assert_eq!(refused("[1]"), "the top level must be a mapping, not a list");
        assert_eq!(refused("operator_mappings: x"), "operator_mappings must be a mapping, not a text");
        assert!(refused("a: [").contains(" at line "));
        assert!(mapping("").is_empty() && mapping("operator_mappings:").is_empty());
    }
}
