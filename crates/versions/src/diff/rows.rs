//! The rows of a table, and how those of two tables are paired.

use super::side::Side;
use super::verdict::{Outcome, Times};
use crate::case::{COLUMNS, Naming};
use crate::{Case, Source};
use indexmap::{IndexMap, IndexSet};
use perfdb_store::Error;
use perfdb_store::columns::{PROFILED, PROFILED_DURATION};
use perfdb_store::table::Scan;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::path::Path;

/// A case and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RowDiff {
    /// The case.
    pub case: Case,
    /// Its row in the first database.
    pub a: Option<Side>,
    /// Its row in the second database.
    pub b: Option<Side>,
    /// The second duration by the first, where they can be compared.
    pub ratio: Option<f64>,
    /// What came of it.
    pub outcome: Outcome,
    /// Cells that describe the row and are not the same: the column, and both texts.
    pub metadata: Vec<(usize, Box<str>, Box<str>)>,
}

/// The columns of a duration, behind those of a case.
const DURATION_COLUMNS: [&str; 5] = {
    let [measured, old, collective] = Source::MEASURED_COLUMNS;
    [measured, old, collective, PROFILED_DURATION, PROFILED[2]]
};

/// A row as it is kept while its table is compared.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) times: Times,
    pub(super) runtime: Box<str>,
}

/// Rows of both tables by signature.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) groups: IndexMap<Box<str>, [SmallVec<[u32; 1]>; 2], FxBuildHasher>,
    /// Rows of each table, in order.
    pub(super) rows: [Vec<Row>; 2],
    /// The texts that describe rows, each once.
    texts: IndexSet<Box<str>, FxBuildHasher>,
    /// Numbers of the texts of each table's rows, `metadata` for each row.
    numbers: [Vec<u32>; 2],
    metadata: usize,
}

impl Groups {
    /// Nothing yet; rows will have so many columns that describe them.
    pub(super) fn new(metadata: usize) -> Groups {
        Groups { metadata, ..Groups::default() }
    }

    /// Reads the rows of a table: the first (0) or the second (1).
    pub(super) fn read(&mut self, side: usize, path: &Path, naming: Naming, metadata: &[String]) -> Result<(), Error> {
        let wanted: Vec<&str> =
            COLUMNS.into_iter().chain(DURATION_COLUMNS).chain(metadata.iter().map(String::as_str)).collect();
        let mut scan = Scan::open(path, &wanted)?;
        let [measured, old, collective, profiled, spread] = std::array::from_fn(|at| COLUMNS.len() + at);
        let measured = [measured, old, collective].into_iter().find(|column| scan.has(*column)).unwrap_or(measured);
        while let Some(row) = scan.next_row()? {
            let Case { signature, runtime } = naming.case(|column| row.slot_cell(column));
            let times = Times {
                measured_us: row.number(measured),
                profiled_us: row.number(profiled),
                spread_us: row.number(spread),
            };
            for column in 0..metadata.len() {
                let text = row.cell(COLUMNS.len() + DURATION_COLUMNS.len() + column);
                let known = self.texts.get_index_of(text.as_ref());
                let number = known.unwrap_or_else(|| self.texts.insert_full(text.as_ref().into()).0);
                self.numbers[side].push(u32::try_from(number).unwrap_or(u32::MAX));
            }
            let index = u32::try_from(self.rows[side].len()).unwrap_or(u32::MAX);
            self.rows[side].push(Row { line: row.line, times, runtime });
            self.groups.entry(signature).or_default()[side].push(index);
        }
        Ok(())
    }

    /// The columns whose texts differ between two rows, with both texts.
    pub(super) fn metadata(&self, a: u32, b: u32) -> Vec<(usize, Box<str>, Box<str>)> {
        let numbers = |side: usize, row: u32| &self.numbers[side][row as usize * self.metadata..][..self.metadata];
        let pairs = numbers(0, a).iter().zip(numbers(1, b)).enumerate();
        let text = |number: u32| self.texts[number as usize].clone();
        pairs.filter(|(_, (a, b))| a != b).map(|(column, (a, b))| (column, text(*a), text(*b))).collect()
    }

    /// The rows of a group in pairs, those that stay alone last. Rows with equal runtime values come together, in order; a row without any
    /// takes one that has some; rows of different values are different cases.
    pub(super) fn pairs(&self, [a, b]: &[SmallVec<[u32; 1]>; 2]) -> SmallVec<[(Option<u32>, Option<u32>); 1]> {
        let runtime = |side: usize, row: u32| -> &str { &self.rows[side][row as usize].runtime };
        let mut pairs = SmallVec::new();
        if let (&[first], &[second]) = (a.as_slice(), b.as_slice()) {
            let (own, other) = (runtime(0, first), runtime(1, second));
            if own == other || own.is_empty() || other.is_empty() {
                pairs.push((Some(first), Some(second)));
                return pairs;
            }
        }
        let mut waiting: FxHashMap<&str, VecDeque<u32>> = FxHashMap::default();
        for &row in b {
            waiting.entry(runtime(1, row)).or_default().push_back(row);
        }
        let mut left = Vec::new();
        for &row in a {
            match waiting.get_mut(runtime(0, row)).and_then(VecDeque::pop_front) {
                Some(partner) => pairs.push((Some(row), Some(partner))),
                None => left.push(row),
            }
        }
        let mut plain = waiting.remove("").unwrap_or_default();
        let mut with_values: Vec<u32> = waiting.into_values().flatten().collect();
        with_values.sort_unstable();
        let mut with_values = VecDeque::from(with_values);
        for row in left {
            let partner = if runtime(0, row).is_empty() { with_values.pop_front() } else { plain.pop_front() };
            pairs.push((Some(row), partner));
        }
        let mut rest: Vec<u32> = plain.into_iter().chain(with_values).collect();
        rest.sort_unstable();
        pairs.extend(rest.into_iter().map(|row| (None, Some(row))));
        pairs
    }
}
