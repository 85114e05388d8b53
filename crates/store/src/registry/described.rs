//! What tables are, added to the text of a mapping.

use super::{KERNEL_TABLES, Registry, TableType};
use crate::op_mapping::OpMapping;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The text of a mapping that describes these tables too, if it does not yet; every line that was there stays. `None` where its
/// `kernel_tables` are not written as a table a line, or the mapping is not one of text.
pub fn with_tables(mapping: &[u8], tables: &BTreeMap<String, TableType>) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(mapping).ok()?;
    let own = Registry::of_mapping(&OpMapping::parse(text).ok()?).ok()?;
    let tables: BTreeMap<_, _> = tables.iter().filter(|(name, _)| !own.declares(name)).collect();
    if tables.is_empty() {
        return Some(mapping.to_vec());
    }
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let is_key = |line: &&str| {
        let rest = line.strip_prefix(KERNEL_TABLES).and_then(|rest| rest.trim_start().strip_prefix(':'));
        rest.is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('#'))
    };
    let lines = |indent: &str| {
        tables.iter().fold(String::new(), |mut lines, (name, kind)| {
            // What is between quotes is a text to YAML, whatever it is.
            let name = serde_json::Value::from(name.as_str());
            let _ = write!(lines, "{indent}{name}: {}{end}", kind.description());
            lines
        })
    };
    let mut before = 0;
    let mut all = text.split_inclusive('\n');
    let found = all.by_ref().find(|line| {
        before += line.len();
        is_key(line)
    });
    let with = match found {
        Some(key) => {
            let is_entry = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
            let first = all.find(is_entry).unwrap_or_default();
            let indent = &first[..first.len() - first.trim_start_matches(' ').len()];
            let between = if key.ends_with('\n') { "" } else { end };
            format!(
                "{}{between}{}{}",
                &text[..before],
                lines(if indent.is_empty() { "  " } else { indent }),
                &text[before..]
            )
        }
        None => {
            let between = if text.is_empty() || text.ends_with('\n') { "" } else { end };
            format!("{text}{between}{KERNEL_TABLES}:{end}{}", lines("  "))
        }
    };
    let mut wanted = own;
    wanted.tables.extend(tables.into_iter().map(|(name, kind)| (name.clone(), kind.clone())));
    let read = Registry::of_mapping(&OpMapping::parse(&with).ok()?).ok()?;
    (read == wanted).then(|| with.into_bytes())
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
}
