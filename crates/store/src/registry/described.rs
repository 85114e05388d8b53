//! What tables are, added to the text of a mapping.

use super::{KERNEL_TABLES, OPERATOR_MAPPINGS, Registry, TableType};
use crate::op_mapping::OpMapping;
use std::collections::BTreeMap;

/// The text of a mapping that describes these tables too, if it does not yet; every line that was there stays. `None` where its
/// `kernel_tables` are not written as a table a line, or the mapping is not one of text.
pub fn with_tables(mapping: &[u8], tables: &BTreeMap<String, TableType>) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(mapping).ok()?;
    let own = Registry::of_mapping(&OpMapping::parse(text).ok()?).ok()?;
    let tables: BTreeMap<_, _> = tables.iter().filter(|(name, _)| !own.declares(name)).collect();
    let lines: Vec<String> =
        tables.iter().map(|(name, kind)| format!("{}: {}", quoted(name), kind.description())).collect();
    let with = with_lines(text, KERNEL_TABLES, &lines);
    let mut wanted = own;
    wanted.tables.extend(tables.into_iter().map(|(name, kind)| (name.clone(), kind.clone())));
    let read = Registry::of_mapping(&OpMapping::parse(&with).ok()?).ok()?;
    (read == wanted).then(|| with.into_bytes())
}

/// The text of a mapping by which an operator is looked up in a table, where it has no entry for it yet. `None` where it has one, or its
/// `operator_mappings` are not written as an operator a line.
pub fn with_operator(mapping: &[u8], operator: &str, table: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(mapping).ok()?;
    let own = OpMapping::parse(text).ok()?;
    let has_entry = own.operator_mappings.as_ref().is_some_and(|entries| entries.contains_key(operator));
    if has_entry {
        return None;
    }
    let line = format!("{operator}: {{kernel_type: {}}}", quoted(table));
    let with = with_lines(text, OPERATOR_MAPPINGS, &[line]);
    let mut read = OpMapping::parse(&with).ok()?;
    let entry = read.operator_mappings.as_mut()?.shift_remove(operator)?;
    let others = |mapping: &OpMapping| mapping.operator_mappings.clone().unwrap_or_default();
    (entry.kernel_type.as_deref() == Some(table) && others(&read) == others(&own)).then(|| with.into_bytes())
}

/// A name as a text of YAML, as which it reads all that is between quotes.
fn quoted(name: &str) -> serde_json::Value {
    serde_json::Value::from(name)
}

/// The text of a mapping with more lines below a key of it, in front of those that are there.
fn with_lines(text: &str, key: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return text.to_owned();
    }
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let is_key = |line: &&str| {
        let rest = line.strip_prefix(key).and_then(|rest| rest.trim_start().strip_prefix(':'));
        rest.is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('#'))
    };
    let indented = |indent: &str| lines.iter().map(|line| format!("{indent}{line}{end}")).collect::<String>();
    let mut before = 0;
    let mut all = text.split_inclusive('\n');
    let found = all.by_ref().find(|line| {
        before += line.len();
        is_key(line)
    });
    match found {
        Some(key) => {
            let is_entry = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
            let first = all.find(is_entry).unwrap_or_default();
            let indent = &first[..first.len() - first.trim_start_matches(' ').len()];
            let between = if key.ends_with('\n') { "" } else { end };
            let lines = indented(if indent.is_empty() { "  " } else { indent });
            format!("{}{between}{lines}{}", &text[..before], &text[before..])
        }
        None => {
            let between = if text.is_empty() || text.ends_with('\n') { "" } else { end };
            format!("{text}{between}{key}:{end}{}", indented("  "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_added_to_their_key_or_behind_the_rest() {
        let kind = |text: &str| Registry::of_mapping(&OpMapping::parse(text).unwrap()).unwrap().table("a: b");
        let described =
            kind("kernel_tables: {\"a: b\": {class: matmul, layout: k_n, source: \"yes\", window: 4, sizes: [m, k]}}");
        let tables = BTreeMap::from([("a: b".to_owned(), described.clone())]);
        let with = |text: &str| with_tables(text.as_bytes(), &tables).map(|text| String::from_utf8(text).unwrap());
        for text in [
            "",
            "version: 1",
            "kernel_tables:  # ours\n\n    # one\n    x: {class: copy}\nversion: 1\n",
            "version: 1\r\nkernel_tables:\r\n x:\r\n  class: copy\r\noperator_mappings: {}\r\n",
        ] {
            let found = with(text).unwrap();
            assert_eq!(kind(&found), described, "{found}");
            let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
            assert!(lines(text).iter().all(|line| lines(&found).contains(line)), "{found}");
            assert_eq!(found.contains("\r\n"), text.contains("\r\n"));
        }
        let already = "kernel_tables: {\"a: b\": {class: copy}}";
        assert_eq!(with(already).as_deref(), Some(already), "the description that is there stays");
        assert_eq!(with("kernel_tables:"), None, "not even its readers take that");
        assert_eq!(with("kernel_tables: {x: {class: copy}}"), None);
        assert_eq!(with("{version: 1}"), None);
        assert_eq!(with("a: ["), None);
    }

    #[test]
    fn an_operator_is_added_where_it_has_no_entry() {
        let with = |text: &str| {
            with_operator(text.as_bytes(), "aten.mm.default", "a: b").map(|text| String::from_utf8(text).unwrap())
        };
        let own = "operator_mappings:\n    aten.bmm.default:\n        kernel_type: c\nversion: 1\n";
        for text in ["", "kernel_tables:\n  x: {class: copy}\n", own] {
            let found = with(text).unwrap();
            let entries = OpMapping::parse(&found).unwrap().operator_mappings.unwrap();
            assert_eq!(entries["aten.mm.default"].kernel_type.as_deref(), Some("a: b"), "{found}");
            assert_eq!(entries.len(), if text == own { 2 } else { 1 });
            assert!(text.lines().all(|line| found.lines().any(|other| other == line)), "{found}");
        }
        assert_eq!(with("operator_mappings:\n  aten.mm.default: {kernel_type: c}\n"), None, "it has its entry");
        assert_eq!(with("operator_mappings: {aten.bmm.default: {kernel_type: c}}\n"), None);
    }
}
