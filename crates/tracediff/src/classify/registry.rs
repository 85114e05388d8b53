//! User patterns, tried before the built-in table.

use std::path::Path;

use perfdb_pycompat::yaml;
use perfdb_trace::source::Source;
use serde::Deserialize;

use super::glob;
use super::operation::Operation;
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

    /// [`Registry::open`] for the default rules, under which every pattern must be of use.
    ///
    /// # Errors
    /// Also when a pattern comes behind one that matches all that it does, for the same traces.
    pub fn open_checked(path: &Path) -> Result<Registry, Error> {
        let text = Source::open(path)?.read_text()?;
        let registry = Registry::from_yaml(&text).map_err(|source| Error::yaml(path, &source))?;
        match registry.useless() {
            Some(useless) => Err(Error::Yaml { path: path.to_path_buf(), reason: registry.reason(useless, &text) }),
            None => Ok(registry),
        }
    }

    /// The first rule that is never used, and the one in front of it that takes its names.
    fn useless(&self) -> Option<[usize; 2]> {
        self.rules.iter().enumerate().find_map(|(at, rule)| {
            let before = self.rules.iter().take(at).position(|before| before.covers(rule))?;
            Some([at, before])
        })
    }

    fn reason(&self, [useless, before]: [usize; 2], text: &str) -> String {
        let lines = lines_of_patterns(text);
        let place = |rule: usize| match lines.get(rule) {
            Some(line) if lines.len() == self.rules.len() => format!("on line {line}"),
            _ => format!("of rule {}", rule + 1),
        };
        let pattern = |rule: usize| self.rules.get(rule).map_or("", |rule| rule.pattern.as_str());
        format!(
            "the pattern \"{}\" {} is never used: \"{}\" {} matches all names that it does",
            pattern(useless),
            place(useless),
            pattern(before),
            place(before)
        )
    }

    /// Reads a registry from YAML text.
    ///
    /// # Errors
    /// When the text is not a registry.
    pub(crate) fn from_yaml(text: &str) -> Result<Registry, yaml::Error> {
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

impl Pattern {
    /// Whether nothing is left for the other one behind this.
    fn covers(&self, other: &Pattern) -> bool {
        (self.vendor == Vendor::Both || self.vendor == other.vendor) && glob::covers(&self.pattern, &other.pattern)
    }
}

/// The lines, from 1, on which keys named `pattern` stand, where that shows without parsing.
fn lines_of_patterns(text: &str) -> Vec<usize> {
    let keys = |line: &str| {
        let data = line.split(" #").next().unwrap_or_default();
        let behind = data.match_indices("pattern").filter_map(|(at, key)| data.get(at + key.len()..));
        behind.filter(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':')).count()
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
    lines.flat_map(|(at, line)| std::iter::repeat_n(at + 1, keys(line))).collect()
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
    fn patterns_that_are_never_used_are_refused_with_their_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("registry.yaml");
        let refused = |text: &str| {
            std::fs::write(&path, text).expect("written");
            Registry::open_checked(&path).err().map(|error| error.to_string())
        };
        let text = "rules:\n# pattern: x\n- pattern: 'foo_*'\n  op: One\n- {op: Two, \"pattern\": FOO_bar*}\n- {pattern: '*', op: Rest}\n";
        let reason = refused(text).expect("a pattern that is never used");
        assert!(
            reason.ends_with(
                "the pattern \"foo_bar*\" on line 5 is never used: \"foo_*\" on line 3 matches all names that it does"
            ),
            "{reason}"
        );
        assert!(Registry::open(&path).is_ok());
        let of_vendors = "rules:\n- {pattern: a*, op: One, vendor: amd}\n- {pattern: a*, op: Two, vendor: nvidia}\n- {pattern: a*, op: Three}\n";
        assert_eq!(refused(of_vendors), None);
        let one_line = "rules: [{pattern: '*', op: A}, {pattern: b, op: 'no pattern: here'}]";
        assert!(refused(one_line).is_some_and(|reason| reason.contains("\"b\" of rule 2 is never used")));
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
