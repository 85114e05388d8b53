//! Rows that no question reaches, because one of their cells cannot be read.

use crate::error::Error;
use crate::state::State;
use crate::table::columns::{Column, is_empty_cell, is_number};
use crate::table::pool::ShapePool;
use perfdb_store::columns::{
    COMMUNICATION_DURATION, INPUT_SHAPES, MEASURED_DURATION, OUTPUT_SHAPES, PROFILED, PROFILED_DURATION,
};
use perfdb_store::duration::is_valid;
use perfdb_store::table::{Scan, ScannedRow};
use rustc_hash::FxHashSet;
use std::path::Path;
use std::sync::Arc;

/// A row with a duration that questions pass over, where the simulator's reader stops, and the cell that is why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOver {
    /// The table.
    pub path: Arc<Path>,
    /// The line on which the row starts.
    pub line: u64,
    /// The column of the cell.
    pub column: &'static str,
    /// The text of the cell.
    pub cell: String,
    /// Why it cannot be read, as a clause: `is no number`.
    pub reason: &'static str,
}

/// Columns in which a number is looked for beside [`Column::LATENT_SIZES`], by the simulator with an exception where there is none.
const NUMBERS: [Column; 11] = [
    Column::EpSize,
    Column::AvgSeqLen,
    Column::OldAvgSeqLen,
    Column::KvHeads,
    Column::SparseMode,
    Column::TopK,
    Column::BlockSize,
    Column::NumHeads,
    Column::SparseBlockSize,
    Column::SparseValidCount,
    Column::BatchSize,
];
const COLLECTIVE_NUMBERS: [&str; 3] = ["message_bytes", "num_devices", "topology_tier"];
const DURATIONS: [&str; 5] =
    [MEASURED_DURATION, PROFILED_DURATION, PROFILED[1], "Median Duration(us)", COMMUNICATION_DURATION];

/// The rows of a database that questions pass over, by table and line. Tables that cannot be read have none: a question tells why.
///
/// # Errors
/// When the directory or its operator mapping cannot be read.
pub fn passed_over(directory: impl AsRef<Path>) -> Result<Vec<PassedOver>, Error> {
    let state = State::open(directory.as_ref(), None)?;
    let by_result = found_by_result(&state);
    let mut found = Vec::new();
    for (kernel_type, path) in state.files() {
        let columns = Wanted::of(state.registry.is_collective(kernel_type), by_result.contains(&**kernel_type));
        let Ok(mut scan) = Scan::open(path, &columns.names) else { continue };
        let has: Vec<bool> = (0..columns.names.len()).map(|at| scan.has(at)).collect();
        let mut own = Vec::new();
        loop {
            match scan.next_row() {
                Ok(Some(row)) => columns.look_at(path, &has, row, &mut own),
                Ok(None) => break,
                Err(_) => {
                    own.clear();
                    break;
                }
            }
        }
        found.append(&mut own);
    }
    Ok(found)
}

/// The kernel types whose rows are looked up by their results.
fn found_by_result(state: &State) -> FxHashSet<&str> {
    let entries = state.mapping.operator_mappings.iter().flatten().map(|(_, entry)| entry);
    let by_result = entries.filter(|entry| {
        let over_output = entry.query_mode.as_deref() == Some("elementwise");
        over_output || entry.compute_subcategory.as_deref() == Some("compute_scale")
    });
    by_result
        .flat_map(|entry| entry.kernel_type.iter().chain(&entry.alternate_kernel_types))
        .map(String::as_str)
        .collect()
}

/// The columns that are looked at.
struct Wanted {
    names: Vec<&'static str>,
    durations: usize,
    shapes: usize,
}

impl Wanted {
    fn of(is_collective: bool, by_result: bool) -> Wanted {
        let mut names = DURATIONS.to_vec();
        let durations = names.len();
        if is_collective {
            names.extend(COLLECTIVE_NUMBERS)
        } else {
            names.push(INPUT_SHAPES);
            names.extend(by_result.then_some(OUTPUT_SHAPES));
        }
        let shapes = if is_collective { durations } else { names.len() };
        names
            .extend(NUMBERS.iter().chain(&Column::LATENT_SIZES).filter(|_| !is_collective).map(|column| column.name()));
        Wanted { names, durations, shapes }
    }

    fn look_at(&self, path: &Arc<Path>, has: &[bool], row: ScannedRow<'_>, found: &mut Vec<PassedOver>) {
        if !(0..self.durations).any(|at| is_valid(row.number(at))) {
            return;
        }
        for at in (self.durations..self.names.len()).filter(|at| has[*at]) {
            let cell = row.cell(at);
            let reason = if at >= self.shapes {
                (!is_empty_cell(&cell) && !is_number(&cell)).then_some("is no number")
            } else if is_empty_cell(&cell) {
                Some("is empty")
            } else {
                ShapePool::new().push_cell(&cell).is_none().then_some("is not a list of shapes")
            };
            if let Some(reason) = reason {
                let (column, cell) = (self.names[at], cell.into_owned());
                found.push(PassedOver { path: path.clone(), line: row.line, column, cell, reason });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_named_with_the_cell_that_cannot_be_read() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        write(
            "op_mapping.yaml",
            "operator_mappings:\n  add: {kernel_type: Add, query_mode: elementwise}\n  norm: {kernel_type: RmsNorm}\n",
        )?;
        let header = "Input Shapes,Output Shapes,Duration(us),Runtime avg_seq_len\n";
        write("Add.csv", &format!("{header}\"4,4\",,1,\n\"(4,4)\",4,1,\n,,0,x\n"))?;
        write("RmsNorm.csv", &format!("{header}\"4,4\",,1,long\nN/A,4,1,3\n\"4\",x,1,3.5\n"))?;
        write("hcom_allReduce_.csv", "message_bytes,num_devices,Duration(us)\nmany,2,1\n5,2,1\n")?;
        let found: Vec<String> = passed_over(folder.path())?
            .iter()
            .map(|row| {
                let name = row.path.file_name().unwrap_or_default().to_string_lossy();
                format!("{name}:{} {} {:?} {}", row.line, row.column, row.cell, row.reason)
            })
            .collect();
        assert_eq!(
            found,
            [
                r#"Add.csv:2 Output Shapes "" is empty"#,
                r#"Add.csv:3 Input Shapes "(4,4)" is not a list of shapes"#,
                r#"RmsNorm.csv:2 Runtime avg_seq_len "long" is no number"#,
                r#"RmsNorm.csv:3 Input Shapes "N/A" is empty"#,
                r#"hcom_allReduce_.csv:2 message_bytes "many" is no number"#,
            ]
        );
        Ok(())
    }
}
