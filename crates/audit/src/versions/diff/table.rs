//! The tables of one kernel type.

use super::range::slower_range;
use super::rows::{Groups, Row, RowDiff};
use super::tally::Tally;
use super::verdict::{Outcome, judge};
use super::{Options, TableSummary};
use crate::versions::Case;
use crate::versions::case::Naming;
use perfdb_store::Error;
use perfdb_store::registry::class_of;
use perfdb_store::row_identity::describes;
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
            let other = if is_both { &names[1 - side] } else { &names[side] };
            let naming = Naming::new(kernel_type, &names[side], other);
            groups.read(side, path, (&naming, &names[side]), &metadata)?;
        }
    }
    let mut rows: Vec<RowDiff> = Vec::with_capacity(groups.rows[0].len().max(groups.rows[1].len()));
    for group in groups.groups.values() {
        rows.extend(groups.pairs(group).into_iter().map(|pair| row(&groups, pair, options)));
    }
    let place = |row: &RowDiff| (row.a.map_or(u64::MAX, |side| side.line), row.b.map_or(0, |side| side.line));
    rows.sort_by_key(place);
    let mut tally = Tally::default();
    tally.rows = [groups.rows[0].len(), groups.rows[1].len()];
    rows.iter().for_each(|row| tally.count(row, kernel_type));
    let slower_range = slower_range(class_of(kernel_type), &rows, options.tolerance);
    let summary = TableSummary { kernel_type: kernel_type.to_owned(), tally, slower_range, own_columns };
    Ok(TableDiff { summary, rows, metadata_columns: metadata })
}

fn row(groups: &Groups, pair: (Option<u32>, Option<u32>), options: &Options) -> RowDiff {
    let of = |side: usize, row: Option<u32>| row.map(|row| &groups.rows[side][row as usize]);
    let (first, second) = (of(0, pair.0), of(1, pair.1));
    let alone = |row: &Row, outcome: Outcome| RowDiff {
        case: row.case_with(None),
        a: None,
        b: None,
        ratio: None,
        outcome,
        metadata: Vec::new(),
    };
    match (first, second) {
        (Some(first), Some(second)) => {
            let (side_a, side_b, ratio, outcome) =
                judge((&first.times, first.line), (&second.times, second.line), options.tolerance);
            let metadata = pair.0.zip(pair.1).map(|(a, b)| groups.metadata(a, b)).unwrap_or_default();
            let case = first.case_with(Some(second));
            RowDiff { case, a: Some(side_a), b: Some(side_b), ratio, outcome, metadata }
        }
        (Some(first), None) => RowDiff { a: Some(first.times.side(first.line)), ..alone(first, Outcome::OnlyA) },
        (None, Some(second)) => RowDiff { b: Some(second.times.side(second.line)), ..alone(second, Outcome::OnlyB) },
        // Every pair has a row.
        (None, None) => RowDiff {
            case: Case { parts: Box::default(), runtime: Box::default() },
            a: None,
            b: None,
            ratio: None,
            outcome: Outcome::OnlyB,
            metadata: Vec::new(),
        },
    }
}
