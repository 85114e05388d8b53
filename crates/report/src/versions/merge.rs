//! What merging did.

use super::case_text;
use crate::layout::Layout;
use perfdb_audit::versions::merge::{Conflict, TableMerge, Taken};
use perfdb_files::escape::{excerpt, one_line, shown};
use perfdb_pycompat::csv_text::push_row;
use serde_json::{Value, json};
use std::path::Path;

/// Conflicts that are shown.
const SHOWN: usize = 10;

struct Counts {
    replaced: usize,
    kept: usize,
    undecided: usize,
}

fn counts<'c>(conflicts: impl Iterator<Item = &'c Conflict>) -> Counts {
    let mut counts = Counts { replaced: 0, kept: 0, undecided: 0 };
    for conflict in conflicts {
        match conflict.taken {
            Taken::From => counts.replaced += 1,
            Taken::Into => counts.kept += 1,
            Taken::Undecided => counts.undecided += 1,
        }
    }
    counts
}

fn conflict_text(Counts { replaced, kept, undecided }: Counts) -> String {
    let mut said = vec![format!("{replaced} replaced"), format!("{kept} kept")];
    if undecided > 0 {
        said.push(format!("{undecided} to decide"));
    }
    said.join(", ")
}

/// `1 row`, `2 rows`.
fn number_of(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Sums, a line for each table that changes or has conflicts, and the first conflicts. `is_dry` says that nothing was written, `hint` where the other
/// conflicts are.
pub fn merge_text(tables: &[TableMerge], is_dry: bool, hint: &str, layout: Layout) -> String {
    let conflicts = || tables.iter().flat_map(|table| &table.conflicts);
    let changed = tables.iter().filter(|table| table.is_changed()).count();
    let sum = |of: fn(&TableMerge) -> usize| tables.iter().map(of).sum::<usize>();
    let verb = if is_dry { "would change" } else { "changed" };
    let mut out = format!(
        "{} {verb}: {} added, {} filled, {} the same, {} ({}); {} changed\n",
        number_of(changed, "table"),
        number_of(sum(|table| table.added), "row"),
        sum(|table| table.filled),
        sum(|table| table.same),
        number_of(conflicts().count(), "conflict"),
        conflict_text(counts(conflicts())),
        number_of(sum(|table| table.answers_changed), "answer"),
    );
    for table in tables {
        let mut said = Vec::new();
        if table.is_new {
            said.push("new".to_owned());
        }
        let counted = [(table.added, "added"), (table.filled, "filled")];
        let text = |(count, what): &(usize, &str)| format!("{} {what}", number_of(*count, "row"));
        said.extend(counted.iter().filter(|(count, _)| *count > 0).map(text));
        if !table.conflicts.is_empty() {
            let text = conflict_text(counts(table.conflicts.iter()));
            said.push(format!("{}: {text}", number_of(table.conflicts.len(), "conflict")));
        }
        if !table.is_new && !table.columns_added.is_empty() {
            let names: Vec<String> = table.columns_added.iter().map(|name| excerpt(name)).collect();
            said.push(format!("columns added: {}", names.join(", ")));
        }
        if table.other_metadata > 0 {
            said.push(format!("{} otherwise; the own stay", number_of(table.other_metadata, "describing cell")));
        }
        if !said.is_empty() {
            out += &format!("{}: {}\n", shown(&table.path), said.join("; "));
        }
    }
    for conflict in conflicts().take(SHOWN) {
        let taken = match conflict.taken {
            Taken::From => "taken",
            Taken::Into => "not taken",
            Taken::Undecided => "to decide",
        };
        out += &format!(
            "  {} {} us, in {}:{} {} us, {taken}: {} {}\n",
            conflict.duration.name(),
            conflict.into_us,
            shown(&conflict.from),
            conflict.from_line,
            conflict.from_us,
            one_line(&conflict.kernel_type),
            case_text(&conflict.case.to_string(), layout)
        );
    }
    let count = conflicts().count();
    if count > SHOWN {
        out += &format!("  and {} ({hint})\n", number_of(count - SHOWN, "more conflict"));
    }
    layout.wrapped_lines(&out)
}

/// All conflicts as CSV; its column `keep` can be filled in and given back.
pub fn conflict_csv(tables: &[TableMerge]) -> String {
    let mut out = String::new();
    let columns = ["kernel_type", "case", "duration", "into_line", "into_us", "from", "from_line", "from_us", "keep"];
    push_row(&mut out, columns, "\r\n");
    for conflict in tables.iter().flat_map(|table| &table.conflicts) {
        let [kernel_type, case, from] = conflict.names();
        let into_line = conflict.into_line.map(|line| line.to_string()).unwrap_or_default();
        let [into_us, from_us] = [conflict.into_us, conflict.from_us].map(|us| us.to_string());
        let from_line = conflict.from_line.to_string();
        let cells = [
            kernel_type.as_str(),
            &case,
            conflict.duration.name(),
            &into_line,
            &into_us,
            &from,
            &from_line,
            &from_us,
            conflict.taken.name(),
        ];
        push_row(&mut out, cells, "\r\n");
    }
    out
}

/// All of it as JSON.
///
/// # Errors
/// When a number is beyond what JSON writers take, which no table causes.
pub fn merge_document(
    into: &Path,
    from: &[std::path::PathBuf],
    tables: &[TableMerge],
    notes: &[String],
    dry_run: bool,
) -> Result<String, serde_json::Error> {
    let from: Vec<_> = from.iter().map(|path| path.to_string_lossy()).collect();
    let document = json!({
        "format_version": 1,
        "into": into.to_string_lossy(),
        "from": from,
        "dry_run": dry_run,
        "notes": notes,
        "tables": tables.iter().map(of_table).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn of_table(table: &TableMerge) -> Value {
    let conflicts: Vec<Value> = table
        .conflicts
        .iter()
        .map(|conflict| {
            json!({
                "case": conflict.case.to_string(),
                "duration": conflict.duration.name(),
                "into_line": conflict.into_line,
                "into_us": conflict.into_us,
                "from": conflict.from.to_string_lossy(),
                "from_line": conflict.from_line,
                "from_us": conflict.from_us,
                "taken": match conflict.taken {
                    Taken::Undecided => Value::Null,
                    taken => taken.name().into(),
                },
            })
        })
        .collect();
    json!({
        "kernel_type": table.kernel_type,
        "path": table.path.to_string_lossy(),
        "new": table.is_new,
        "changed": table.is_changed(),
        "added": table.added,
        "filled": table.filled,
        "same": table.same,
        "answers_changed": table.answers_changed,
        "other_metadata": table.other_metadata,
        "columns_added": table.columns_added,
        "conflicts": conflicts,
    })
}
