//! The rows of a table, and how those of two tables are paired.

use super::side::Side;
use super::verdict::{Outcome, Times};
use crate::versions::case::{Known, Naming};
use crate::versions::{Case, Source};
use indexmap::{IndexMap, IndexSet};
use perfdb_store::Error;
use perfdb_store::columns::{PROFILED, PROFILED_DURATION};
use perfdb_store::duration::is_valid;
use perfdb_store::row_identity::RowIdentity;
use perfdb_store::table::Scan;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::path::Path;

/// A case and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RowDiff {
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
    identity: RowIdentity,
    lookup: RowIdentity,
    runtime: Box<str>,
    parts: Box<str>,
}

impl Row {
    /// Its case; where it has no runtime values, with those of another row.
    pub(super) fn case_with(&self, other: Option<&Row>) -> Case {
        let runtime = if self.runtime.is_empty() { other.map_or("", |row| &row.runtime) } else { &self.runtime };
        Case { parts: self.parts.clone(), runtime: runtime.into() }
    }
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
    /// Nothing yet; rows will have this many columns that describe them.
    pub(super) fn new(metadata: usize) -> Groups {
        Groups { metadata, ..Groups::default() }
    }

    /// Reads the rows of a table: the first (0) or the second (1). `columns` are all of the table.
    pub(super) fn read(
        &mut self,
        side: usize,
        path: &Path,
        (naming, columns): (&Naming, &[String]),
        metadata: &[String],
    ) -> Result<(), Error> {
        let mut wanted: Vec<&str> = DURATION_COLUMNS.into_iter().chain(metadata.iter().map(String::as_str)).collect();
        let mut places = vec![0; columns.len()];
        for column in naming.columns() {
            places[column] = wanted.len();
            wanted.push(&columns[column]);
        }
        let mut scan = Scan::open(path, &wanted)?;
        let [measured, old, collective, profiled, spread] = std::array::from_fn(|at| at);
        let is_measured = [measured, old, collective].map(|column| scan.has(column));
        while let Some(row) = scan.next_row()? {
            let Known { identity, lookup, case, signature } = naming.row(|column| row.slot_cell(places[column]));
            // The first valid one counts, row by row.
            let measured = (0..3).filter(|at| is_measured[*at]).map(|at| row.number(at)).find(|us| is_valid(*us));
            let times = Times {
                measured_us: measured.unwrap_or(0.0),
                profiled_us: row.number(profiled),
                spread_us: row.number(spread),
            };
            for column in 0..metadata.len() {
                let text = row.cell(DURATION_COLUMNS.len() + column);
                let known = self.texts.get_index_of(text.as_ref());
                let number = known.unwrap_or_else(|| self.texts.insert_full(text.as_ref().into()).0);
                self.numbers[side].push(u32::try_from(number).unwrap_or(u32::MAX));
            }
            let index = u32::try_from(self.rows[side].len()).unwrap_or(u32::MAX);
            let Case { parts, runtime } = case;
            self.rows[side].push(Row { line: row.line, times, identity, lookup, runtime, parts });
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

    /// The rows of a group in pairs, those that stay alone last. Equal rows come together, the n-th with the n-th; then rows that
    /// lookups take for the same; then rows with equal runtime values, whose weights lie the other way round; then a row without runtime values takes one that has some.
    pub(super) fn pairs(&self, [a, b]: &[SmallVec<[u32; 1]>; 2]) -> SmallVec<[(Option<u32>, Option<u32>); 1]> {
        let row = |side: usize, at: u32| &self.rows[side][at as usize];
        let mut pairs = SmallVec::new();
        let (a, b) = meet(a, b, |side, at| row(side, at).identity, &mut pairs);
        let (a, b) = meet(&a, &b, |side, at| row(side, at).lookup, &mut pairs);
        let (a, b) = meet(&a, &b, |side, at| row(side, at).runtime.clone(), &mut pairs);
        let is_plain = |side: usize, at: u32| row(side, at).runtime.is_empty();
        let (mut plain, mut filled): (VecDeque<u32>, VecDeque<u32>) = b.iter().partition(|at| is_plain(1, **at));
        for at in a {
            let partner = if is_plain(0, at) { filled.pop_front() } else { plain.pop_front() };
            pairs.push((Some(at), partner));
        }
        let mut alone: Vec<u32> = plain.into_iter().chain(filled).collect();
        alone.sort_unstable();
        pairs.extend(alone.into_iter().map(|at| (None, Some(at))));
        pairs
    }
}

/// Pairs rows with equal keys, the n-th with the n-th. Returns those that are left of both sides, in order.
fn meet<K: Eq + std::hash::Hash>(
    a: &[u32],
    b: &[u32],
    key: impl Fn(usize, u32) -> K,
    pairs: &mut SmallVec<[(Option<u32>, Option<u32>); 1]>,
) -> (Vec<u32>, Vec<u32>) {
    if let (&[first], &[second]) = (a, b)
        && key(0, first) == key(1, second)
    {
        pairs.push((Some(first), Some(second)));
        return (Vec::new(), Vec::new());
    }
    let mut waiting: FxHashMap<K, VecDeque<u32>> = FxHashMap::default();
    for &at in b {
        waiting.entry(key(1, at)).or_default().push_back(at);
    }
    let mut left = Vec::new();
    for &at in a {
        match waiting.get_mut(&key(0, at)).and_then(VecDeque::pop_front) {
            Some(partner) => pairs.push((Some(at), Some(partner))),
            None => left.push(at),
        }
    }
    let mut others: Vec<u32> = waiting.into_values().flatten().collect();
    others.sort_unstable();
    (left, others)
}
