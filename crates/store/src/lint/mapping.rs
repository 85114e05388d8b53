//! Looking at the operator mapping beside the tables.

use super::finding::{Finding, Kind};
use super::table::Seen;
use crate::op_mapping::{Entry, OpMapping};
use crate::registry::{KERNEL_TABLES, Registry, is_known};
use indexmap::IndexMap;
use perfdb_files::escape::excerpt;
use perfdb_pycompat::yaml::{Node, NodePath, Step};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The tables by kernel type. Communication tables of the directory that the mapping names come first.
pub(super) type Tables<'t> = IndexMap<String, (&'t Path, &'t Seen)>;

/// Compares a mapping with the tables that are there.
pub(super) fn compare(
    mapping_path: &Path,
    mapping: &OpMapping,
    registry: &Registry,
    tables: &Tables<'_>,
) -> Vec<Finding> {
    let entries = mapping.operator_mappings.clone().unwrap_or_default();
    let mut findings = Vec::new();
    let mut named: FxHashSet<String> = FxHashSet::default();
    let mut unreached: BTreeMap<(PathBuf, String), Vec<String>> = BTreeMap::new();
    // The text once more, for the lines of entries.
    let text = std::fs::read_to_string(mapping_path).unwrap_or_default();
    let line_of = |operator: &str| {
        let steps = ["operator_mappings", operator].map(|key| Step::Key(key.to_owned()));
        let line = NodePath::new(steps).position_in(&text)?.line;
        // The value of an entry begins beside its name or on the line below.
        let has_name =
            |line: &usize| text.lines().nth(line.saturating_sub(1)).is_some_and(|text| text.contains(operator));
        [line, line.saturating_sub(1)].into_iter().find(has_name).map(|line| line as u64)
    };
    for (operator, entry) in &entries {
        name_kernels(entry, &mut named);
        let kernels: Vec<&String> =
            entry.kernel_type.iter().chain(&entry.alternate_kernel_types).filter(|name| !name.is_empty()).collect();
        let is_excepted = is_documentation(operator)
            || entry.zero_cost
            || entry.accepted_miss.is_some()
            || entry.composite
            || kernels.is_empty();
        if !is_excepted && kernels.iter().all(|kernel| !tables.contains_key(*kernel)) {
            let kernels = kernels.iter().map(|kernel| excerpt(kernel)).collect::<Vec<_>>().join(", ");
            findings.push(Finding {
                kind: Kind::MappingWithoutTable,
                file: mapping_path.to_owned(),
                line: line_of(operator),
                message: format!(
                    "{} is looked up in {kernels}, which has no table; measure it or remove the entry",
                    excerpt(operator)
                ),
            });
        }
        for alternate in never_reached(entry, tables) {
            let (path, _) = tables[alternate.as_str()];
            let before = entry.kernel_type.clone().unwrap_or_default();
            unreached.entry((path.to_owned(), before)).or_default().push(operator.clone());
        }
    }
    for ((file, before), operators) in unreached {
        let operators = operators.iter().map(|operator| excerpt(operator)).collect::<Vec<_>>().join(", ");
        let message = format!(
            "adds nothing as an alternate of {} for {operators}: every row's inputs stand in a table that is tried before it; remove the alternate",
            excerpt(&before)
        );
        findings.push(Finding { kind: Kind::AlternateNeverReached, file, line: None, message });
    }
    for (kernel, (path, _)) in tables {
        // What a table of the database itself says it is can be queried by kernel.
        if !named.contains(kernel) && !registry.declares(kernel) {
            findings.push(Finding {
                kind: Kind::TableWithoutMapping,
                file: (*path).to_owned(),
                line: None,
                message: "no entry of op_mapping.yaml names this table, so --kernel finds its rows and no operator does; add an entry or remove the table".to_owned(),
            });
        }
    }
    findings.extend(without_class(registry, tables));
    findings
}

/// Tables of which neither the database nor the registry says what they are.
pub(super) fn without_class(registry: &Registry, tables: &Tables<'_>) -> impl Iterator<Item = Finding> {
    let unknown =
        tables.iter().filter(|(kernel, (_, seen))| seen.rows > 0 && !registry.declares(kernel) && !is_known(kernel));
    unknown.map(|(kernel, (path, _))| Finding {
        kind: Kind::TableWithoutClass,
        file: (*path).to_owned(),
        line: None,
        message: format!(
            "its name is not that of a known kernel, so its rows are compared by sizes alone; say what it does under {KERNEL_TABLES} of op_mapping.yaml: {kernel}: {{class: matmul}}",
            kernel = excerpt(kernel)
        ),
    })
}

/// Entries that describe kernels of a profile; no operator of a model has such a name.
fn is_documentation(operator: &str) -> bool {
    operator.starts_with("profiling.")
}

/// The alternates of an entry whose rows all have the inputs of a row in a table tried before.
fn never_reached<'e>(entry: &'e Entry, tables: &Tables<'_>) -> Vec<&'e String> {
    let mut before: FxHashSet<&str> = FxHashSet::default();
    let mut found = Vec::new();
    let mut is_first = true;
    for kernel in entry.kernel_type.iter().chain(&entry.alternate_kernel_types) {
        let Some((_, Seen { inputs: Some(inputs), .. })) = tables.get(kernel) else { continue };
        if !is_first && inputs.iter().all(|row| before.contains(row.as_str())) {
            found.push(kernel);
        }
        before.extend(inputs.iter().map(String::as_str));
        is_first = false;
    }
    found
}

/// Every kernel type that an entry names, wherever it stands.
fn name_kernels(entry: &Entry, named: &mut FxHashSet<String>) {
    named.extend(entry.kernel_type.iter().chain(&entry.alternate_kernel_types).chain(&entry.sub_kernels).cloned());
    let single = [&entry.degenerate_bmm_kernel_type, &entry.mtp_projection_kernel_type, &entry.primary_kernel_type];
    named.extend(single.into_iter().flatten().cloned());
    let nodes = [
        &entry.embedded_compute,
        &entry.embedded_communication,
        &entry.decomposer_options,
        &entry.runtime_comm_variants,
    ];
    nodes.into_iter().flatten().for_each(|node| texts(node, named));
    for (_, node) in entry.kernel_types_by_input_rank.iter().chain([&entry.other]).flat_map(|map| map.iter()) {
        texts(node, named);
    }
}

fn texts(node: &Node, found: &mut FxHashSet<String>) {
    found.extend(node.as_text().map(str::to_owned));
    node.as_list().into_iter().flatten().for_each(|node| texts(node, found));
    node.as_map().into_iter().flat_map(|map| map.iter()).for_each(|(_, node)| texts(node, found));
}
