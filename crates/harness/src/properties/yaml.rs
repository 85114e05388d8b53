//! Operator mappings and rule files: read or refused with a place that is in the text, and what a mapping names is found.

use perfdb_grid::rules::RuleFile;
use perfdb_pycompat::yaml::{self, Node};
use perfdb_store::op_mapping::{Lookup, OpMapping};
use std::path::Path;

pub(crate) const WORDS: &[&str] = &[
    "operator_mappings:\n",
    "  aten.mm.default:\n    kernel_type: MatMulV2\n",
    "kernel_type: ",
    "sub_kernels: [A, B]",
    "version: ",
    "patterns:\n",
    "kernels:\n",
    "iterators: {tokens: tokens}",
    "inputs: [\"(tokens, D)\"]",
    "&a [*a]",
    "*a",
    "<<: ",
    "!!str ",
    "\"\\u",
    "- ",
    "? ",
    "|\n  x\n",
    "---\n",
    "0x1F",
    "1:30",
    ".nan",
    "{",
    "[",
    "torch.ops.",
];

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let node = yaml::parse(text);
    let mapping = OpMapping::parse(text);
    match &node {
        Err(_) => assert!(mapping.is_err()),
        Ok(node) => {
            let is_mapping = matches!(node, Node::Map(_)) || !node.is_truthy();
            assert_eq!(mapping.is_ok(), is_mapping);
        }
    }
    if let Ok(mapping) = &mapping {
        for (name, entry) in mapping.operator_mappings.iter().flatten() {
            let found = mapping.find(name, Lookup::Nested);
            assert!(entry.is_empty() || name.contains("torch.ops.") || found.as_deref() == Some(entry), "{name}");
            let _ = mapping.find(name, Lookup::TopLevel);
        }
    }
    match RuleFile::parse(Path::new("rules.yaml"), text) {
        Ok(rules) => {
            assert!(node.is_ok());
            for (name, _) in rules.patterns() {
                assert!(rules.pattern(name).is_some());
                let _ = rules.assignment(name);
            }
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "an error is one line: {error}"),
    }
}
