//! The comparison per kernel type and shape with shapes that meet: by the row that answered, formats folded, attention by its
//! own key, collectives by size or name.

use super::ShapeComparison;
use super::rows::{ShapeRow, ShapeRowKey, ShapeTotal, shape_rows};
use crate::attribution::{Group, attribution_of_files};
use crate::error::{Error, Outcome};
use crate::profile::Total;
use indexmap::IndexMap;
use perfdb_store::registry::is_collective;
use rustc_hash::FxBuildHasher;
use std::path::Path;

/// Compares two files on the groups of their [attribution](crate::attribution).
pub(super) fn compare_met(trace: &Path, profile: &Path) -> Result<Outcome<ShapeComparison>, Error> {
    let outcome = attribution_of_files(trace, profile)?;
    let attribution = outcome.result;
    let joined_share =
        (attribution.measured_ps > 0).then(|| attribution.joined_with_names_ps as f64 / attribution.measured_ps as f64);
    let rows = rows(by_name(attribution.groups));
    Ok(Outcome { result: ShapeComparison { rows, joined_share }, warnings: outcome.warnings })
}

/// Brings what is left of a collective on either side together by its name.
fn by_name(groups: Vec<Group>) -> Vec<Group> {
    let mut whole: Vec<Group> = Vec::with_capacity(groups.len());
    let mut left: IndexMap<String, (Vec<Group>, Vec<Group>), FxBuildHasher> = IndexMap::default();
    for group in groups {
        let on_both = group.predicted_calls > 0.0 && group.measured_calls > 0.0;
        if on_both || !is_collective(&group.kernel_type) {
            whole.push(group);
            continue;
        }
        let (predicted, measured) = left.entry(group.kernel_type.clone()).or_default();
        if group.predicted_calls > 0.0 { predicted.push(group) } else { measured.push(group) }
    }
    for (predicted, measured) in left.into_values() {
        let mut parts = measured.into_iter().chain(predicted);
        let one_sided = |group: &Group| group.predicted_calls == 0.0;
        let Some(mut first) = parts.next() else { continue };
        if !one_sided(&first) {
            // Never measured: every size stays a row.
            whole.push(first);
            whole.extend(parts);
            continue;
        }
        let mut shapes: Vec<String> = Some(first.shape.clone()).into_iter().filter(|shape| !shape.is_empty()).collect();
        for part in parts {
            first.predicted_ps += part.predicted_ps;
            first.measured_ps += part.measured_ps;
            first.predicted_calls += part.predicted_calls;
            first.measured_calls += part.measured_calls;
            first.sources = first.sources.union(part.sources);
            shapes.extend(Some(part.shape).filter(|shape| !shape.is_empty()));
        }
        first.shape = shapes.join(" + ");
        whole.push(first);
    }
    whole
}

fn rows(groups: Vec<Group>) -> Vec<ShapeRow> {
    let mut predicted: IndexMap<ShapeRowKey, ShapeTotal, FxBuildHasher> = IndexMap::default();
    let mut measured: IndexMap<ShapeRowKey, Total, FxBuildHasher> = IndexMap::default();
    let us = |ps: i128| ps as f64 / 1e6;
    for group in groups {
        let key: ShapeRowKey = (group.kernel_type.into(), group.shape.into());
        if group.predicted_calls > 0.0 {
            let total = ShapeTotal {
                total_us: us(group.predicted_ps),
                count: group.predicted_calls as u64,
                source: group.sources.text().to_uppercase(),
            };
            predicted.insert(key.clone(), total);
        }
        if group.measured_calls > 0.0 {
            measured.insert(key, Total { total_us: us(group.measured_ps), count: group.measured_calls as u64 });
        }
    }
    shape_rows(predicted, measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{Join, Sources};

    fn group(kernel_type: &str, shape: &str, predicted: (i128, f64), measured: (i128, f64)) -> Group {
        Group {
            kernel_type: kernel_type.to_owned(),
            shape: shape.to_owned(),
            family: String::new(),
            predicted_ps: predicted.0 * 1_000_000,
            measured_ps: measured.0 * 1_000_000,
            predicted_calls: predicted.1,
            measured_calls: measured.1,
            join: Join::None,
            pool: None,
            row: None,
            sources: Sources::default(),
        }
    }

    #[test]
    fn collectives_meet_by_name() {
        let groups = vec![
            group("hcom_allReduce_", "8 B", (5, 1.0), (0, 0.0)),
            group("hcom_allReduce_", "16 B", (7, 1.0), (0, 0.0)),
            group("hcom_allReduce_", "", (0, 0.0), (20, 9.0)),
            group("hcom_allGather_", "8 B", (1, 1.0), (0, 0.0)),
            group("hcom_allGather_", "4 B", (2, 1.0), (0, 0.0)),
            group("Add", "1", (0, 0.0), (3, 1.0)),
        ];
        let rows = rows(by_name(groups));
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.kernel_type.as_str(), row.shape_key.as_str(), row.tc_count, row.prof_count))
            .collect();
        assert_eq!(
            found,
            [
                ("hcom_allReduce_", "8 B + 16 B", 2, 9),
                ("Add", "1", 0, 1),
                ("hcom_allGather_", "4 B", 1, 0),
                ("hcom_allGather_", "8 B", 1, 0)
            ]
        );
    }
}
