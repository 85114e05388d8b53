//! What changed, for programs. The rows of a table are written when it was compared, so that a document may be longer than memory.

use super::{Comparison, headline};
use perfdb_audit::versions::diff::{RowDiff, Side, TableDiff, Tally};
use perfdb_audit::versions::workload::{Change, WorkloadDiff};
use perfdb_audit::versions::{Case, Place};
use perfdb_store::provenance::Identity;
use serde_json::{Map, Value, json};

/// How a document begins.
pub fn opening(a: &Place, b: &Place) -> String {
    format!("{{\n\"format_version\": 2,\n\"a\": {},\n\"b\": {},\n\"tables\": [", place(a), place(b))
}

/// A table with the rows that are not the same, behind a comma unless it is the first.
pub fn table(table: &TableDiff, is_first: bool) -> String {
    let mut value = tally(&table.summary.tally);
    value.insert("kernel_type".to_owned(), table.summary.kernel_type.clone().into());
    let range = table.summary.slower_range.map(|range| {
        json!({
            "axis": range.axis,
            "bound": range.bound.sign(),
            "size": range.size,
            "rows": range.rows,
            "geometric_mean_ratio": range.mean_ratio,
        })
    });
    value.insert("slower_range".to_owned(), range.into());
    let moved = table.summary.tally.moved_together().map(|slower| if slower { "slower" } else { "faster" });
    value.insert("moved_together".to_owned(), moved.into());
    let [only_a, only_b] = &table.summary.own_columns;
    value.insert("columns_only_a".to_owned(), json!(only_a));
    value.insert("columns_only_b".to_owned(), json!(only_b));
    let is_told =
        |row: &&RowDiff| row.outcome != perfdb_audit::versions::diff::Outcome::Same || !row.metadata.is_empty();
    let rows = table.rows.iter().filter(is_told).map(|row| of_row(row, &table.metadata_columns));
    value.insert("listed_rows".to_owned(), rows.collect());
    format!("{}\n{}", if is_first { "" } else { "," }, Value::Object(value))
}

/// How a document ends.
pub fn closing(found: &Comparison<'_>) -> String {
    let diff = found.diff;
    let differences = json!(diff.differences);
    let unreadable: Vec<Value> = diff
        .unreadable
        .iter()
        .map(|one| json!({"file": one.path.to_string_lossy(), "kind": one.kind.name(), "message": one.message}))
        .collect();
    let workloads: Vec<Value> = found.workloads.iter().map(workload).collect();
    format!(
        "\n],\n\"unreadable\": {},\n\"differences\": {differences},\n\"tolerance\": {},\n\"total\": {},\n\"workloads\": {},\n\"headline\": {}\n}}\n",
        Value::from(unreadable),
        found.tolerance,
        Value::Object(tally(&diff.total)),
        Value::from(workloads),
        Value::from(headline(found)),
    )
}

fn place(place: &Place) -> Value {
    let Identity { device, versions } = place.statement.identity();
    json!({
        "database": place.directory.to_string_lossy(),
        "device": device,
        "versions": {"vllm": versions.vllm, "torch": versions.torch, "cann": versions.cann},
    })
}

fn tally(tally: &Tally) -> Map<String, Value> {
    let slowest = tally.slowest.as_ref().map(
        |slowest| json!({"kernel_type": slowest.kernel_type, "case": slowest.case.to_string(), "ratio": slowest.ratio}),
    );
    let [rows_a, rows_b] = tally.rows;
    let value = json!({
        "rows_a": rows_a,
        "rows_b": rows_b,
        "compared": tally.compared(),
        "same": tally.same,
        "slower": tally.slower,
        "faster": tally.faster,
        "inconclusive": tally.cannot_tell,
        "lost_durations": tally.lost_durations,
        "only_a": tally.only_a,
        "only_b": tally.only_b,
        "other_metadata": tally.other_metadata,
        "geometric_mean_ratio": tally.mean_ratio(),
        "slowest": slowest,
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn of_row(row: &RowDiff, columns: &[String]) -> Value {
    let side = |side: Option<Side>| {
        side.map(|side| {
            json!({
                "line": side.line,
                "source": side.source.map(|source| source.name()),
                "duration_us": side.duration_us,
                "spread_us": side.spread_us,
            })
        })
    };
    let metadata: Map<String, Value> =
        row.metadata.iter().map(|(column, a, b)| (columns[*column].clone(), json!([a, b]))).collect();
    json!({
        "case": case(&row.case),
        "a": side(row.a),
        "b": side(row.b),
        "ratio": row.ratio,
        "outcome": row.outcome.name(),
        "doubt": row.outcome.doubt(),
        "metadata": metadata,
    })
}

fn case(case: &Case) -> Value {
    let parts: Vec<&str> = case.parts().collect();
    let names: &[&str] = match parts.len() {
        4 => &["message_bytes", "num_devices", "dtype", "topology_tier"],
        _ => &["input_shapes", "input_types", "input_formats", "output_shapes", "output_types", "ep_size"],
    };
    let mut value: Map<String, Value> =
        names.iter().zip(parts).map(|(name, part)| ((*name).to_owned(), part.into())).collect();
    if !case.runtime().is_empty() {
        value.insert("runtime".to_owned(), case.runtime().into());
    }
    Value::Object(value)
}

fn change(change: &Change) -> Value {
    json!({"calls": change.calls, "a_us": change.a_us, "b_us": change.b_us})
}

fn workload(workload: &WorkloadDiff) -> Value {
    let [only_a, only_b, neither] = workload.unanswered_calls;
    let [interval_a, interval_b] = workload.intervals_us;
    let kernels: Vec<Value> = workload
        .kernels
        .iter()
        .map(|(kernel, one)| json!({"kernel_type": kernel, "calls": one.calls, "a_us": one.a_us, "b_us": one.b_us}))
        .collect();
    json!({
        "name": workload.name,
        "answered": change(&workload.answered),
        "interval_a_us": interval_a,
        "interval_b_us": interval_b,
        "unanswered_calls": {"only_a": only_a, "only_b": only_b, "neither": neither},
        "kernels": kernels,
    })
}
