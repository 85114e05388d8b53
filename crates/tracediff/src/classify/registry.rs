//! User patterns, tried before the built-in table.

use std::path::Path;

use perfdb_pycompat::yaml;
use perfdb_trace::source::Source;
use serde::Deserialize;

use super::{Operation, glob};
use crate::device::Platform;
use crate::error::Error;

/// User patterns for kernel names, in the order in which they are tried.
///
/// ```yaml
/// rules:
///   - pattern: "my_kernel_*"   # `*` stands for any text; the whole name, any case
///     op: Dense GEMM
///     vendor: amd              # amd, nvidia or both (default)
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map with the key rules")]
pub struct Registry {
    rules: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map with the keys pattern and op")]
struct Pattern {
    pattern: String,
    op: String,
    #[serde(default)]
    vendor: Vendor,
}

/// Traces to which a user pattern applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vendor {
    /// AMD traces only.
    Amd,
    /// NVIDIA traces only.
    Nvidia,
    /// Every trace.
    #[default]
    Both,
}

impl Registry {
    /// Reads a registry file (YAML).
    ///
    /// # Errors
    /// When the file cannot be read or is not a registry.
    pub fn open(path: &Path) -> Result<Registry, Error> {
        let text = Source::open(path)?.read_text()?;
        Registry::from_yaml(&text).map_err(|source| Error::yaml(path, &source))
    }

    /// Reads a registry from YAML text.
    ///
    /// # Errors
    /// When the text is not a registry.
    pub fn from_yaml(text: &str) -> Result<Registry, yaml::Error> {
        let mut registry: Registry = yaml::from_str(text)?;
        for rule in &mut registry.rules {
            rule.pattern = rule.pattern.to_lowercase();
        }
        Ok(registry)
    }

    /// The first pattern that fits.
    pub(crate) fn classify(&self, name: &str, platform: Platform) -> Option<Operation> {
        if self.rules.is_empty() {
            return None;
        }
        let lower = name.to_lowercase();
        let rule = self.rules.iter().find(|rule| {
            let vendor = match rule.vendor {
                Vendor::Both => true,
                Vendor::Amd => platform == Platform::Amd,
                Vendor::Nvidia => platform == Platform::Nvidia,
            };
            vendor && glob::matches(&rule.pattern, &lower)
        })?;
        Some(Operation { name: rule.op.clone().into(), label: "".into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_fitting_pattern_of_the_vendor_wins() {
        let registry = Registry::from_yaml(
            "rules:\n- {pattern: 'FOO_*', op: One, vendor: amd}\n- {pattern: 'foo_*', op: Two}\n- {pattern: '*', op: Rest, vendor: nvidia}\n",
        )
        .expect("a registry");
        let class = |name, platform| registry.classify(name, platform).map(|operation| operation.name.into_owned());
        assert_eq!(class("foo_x", Platform::Amd).as_deref(), Some("One"));
        assert_eq!(class("Foo_x", Platform::Nvidia).as_deref(), Some("Two"));
        assert_eq!(class("bar", Platform::Nvidia).as_deref(), Some("Rest"));
        assert_eq!(class("bar", Platform::Amd), None);
    }

    #[test]
    fn unknown_keys_and_vendors_are_refused() {
        assert!(Registry::from_yaml("rules: [{pattern: a, op: b, vendors: amd}]").is_err());
        assert!(Registry::from_yaml("rules: [{pattern: a, op: b, vendor: intel}]").is_err());
        assert!(Registry::from_yaml("rule: []").is_err());
        let list = Registry::from_yaml("[]").expect_err("a list is no registry").to_string();
        assert!(list.contains("expected a map with the key rules"), "{list}");
    }
}
