//! The tables of one kernel type.

use super::range::slower_range;
use super::rows::{Groups, RowDiff};
use super::tally::Tally;
use super::verdict::{Outcome, judge};
use super::{Options, TableSummary};
use crate::Case;
use crate::case::{COLUMNS, Naming};
use perfdb_store::Error;
use perfdb_store::columns::{COMMUNICATION, PROFILED, is_measurement};
use perfdb_store::table::Scan;
use std::path::Path;

/// The tables of one kernel type, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDiff {
    /// Its figures.
    pub summary: TableSummary,
    /// The rows, in the order of the first table, then those that only the second has.
    pub rows: Vec<RowDiff>,
    /// The columns that describe rows and that both tables have, for [`RowDiff::metadata`].
    pub metadata_columns: Vec<String>,
}

/// Whether a column describes a row and is neither its case nor a measurement.
fn describes(name: &str) -> bool {
    !COLUMNS.contains(&name) && !is_measurement(name) && !PROFILED.contains(&name) && name != COMMUNICATION[5]
}

/// Compares the tables of a kernel type, of which one may be missing.
pub(super) fn compare(kernel_type: &str, paths: [Option<&Path>; 2], options: &Options) -> Result<TableDiff, Error> {
    let names = paths.map(|path| path.map(Scan::column_names).transpose());
    let [a, b] = names;
    let names = [a?.unwrap_or_default(), b?.unwrap_or_default()];
    let is_both = paths.iter().all(Option::is_some);
    let only = |own: &[String], other: &[String]| -> Vec<String> {
        own.iter().filter(|name| is_both && !other.contains(name)).cloned().collect()
    };
    let own_columns = [only(&names[0], &names[1]), only(&names[1], &names[0])];
    let metadata: Vec<String> =
        names[0].iter().filter(|name| describes(name) && names[1].contains(name)).cloned().collect();
    let mut groups = Groups::new(metadata.len());
    for side in 0..2 {
        if let Some(path) = paths[side] {
            groups.read(side, path, Naming::new(kernel_type, &names[side]), &metadata)?;
        }
    }
    let mut rows: Vec<RowDiff> = Vec::with_capacity(groups.rows[0].len().max(groups.rows[1].len()));
    for (signature, group) in &groups.groups {
        rows.extend(groups.pairs(group).into_iter().map(|pair| row(&groups, signature, pair, options)));
    }
    let place = |row: &RowDiff| (row.a.map_or(u64::MAX, |side| side.line), row.b.map_or(0, |side| side.line));
    rows.sort_by_key(place);
    let mut tally = Tally::default();
    tally.rows = [groups.rows[0].len(), groups.rows[1].len()];
    rows.iter().for_each(|row| tally.count(row, kernel_type));
    let slower_range = slower_range(kernel_type, &rows, options.tolerance);
    let summary = TableSummary { kernel_type: kernel_type.to_owned(), tally, slower_range, own_columns };
    Ok(TableDiff { summary, rows, metadata_columns: metadata })
}

fn row(groups: &Groups, signature: &str, pair: (Option<u32>, Option<u32>), options: &Options) -> RowDiff {
    let of = |side: usize, row: u32| &groups.rows[side][row as usize];
    let case = |runtime: &str| Case { signature: signature.into(), runtime: runtime.into() };
    let alone =
        |case: Case, outcome: Outcome| RowDiff { case, a: None, b: None, ratio: None, outcome, metadata: Vec::new() };
    match pair {
        (Some(a), Some(b)) => {
            let (first, second) = (of(0, a), of(1, b));
            let (side_a, side_b, ratio, outcome) =
                judge((&first.times, first.line), (&second.times, second.line), options.tolerance);
            let runtime = if first.runtime.is_empty() { &second.runtime } else { &first.runtime };
            let metadata = groups.metadata(a, b);
            RowDiff { case: case(runtime), a: Some(side_a), b: Some(side_b), ratio, outcome, metadata }
        }
        (Some(a), None) => {
            let first = of(0, a);
            RowDiff { a: Some(first.times.side(first.line)), ..alone(case(&first.runtime), Outcome::OnlyA) }
        }
        (None, b) => {
            let second = b.map(|b| of(1, b));
            let runtime = second.map_or("", |row| &row.runtime);
            RowDiff { b: second.map(|row| row.times.side(row.line)), ..alone(case(runtime), Outcome::OnlyB) }
        }
    }
}
