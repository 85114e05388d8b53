//! What to measure next: rows that would answer the questions of workloads, the most telling first.

mod append;
pub(crate) mod leaves;
mod order;
mod proof;
mod row;

use crate::coverage::audit::Audit;
use crate::coverage::{AnswerSource, Error};
use indexmap::IndexMap;
use leaves::{Leaf, leaves};
use perfdb_query::{Database, Layer, Query, Reader, ReaderSemantics};
use perfdb_store::op_mapping::OpMapping;
use perfdb_store::table::{ReadOptions, Table};
use proof::Proof;
use row::{Known, NewRow};
use std::path::{Path, PathBuf};

pub use append::{Settled, append, settle};

/// A row to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// The kernel type.
    pub kernel_type: String,
    /// The table that it belongs to.
    pub path: PathBuf,
    /// The shapes of its inputs.
    pub inputs: String,
    /// Its cells by the columns of the table; those of durations and other measurements are empty.
    pub cells: Vec<(String, String)>,
    /// What the answers that it would replace are based on, the worst of them.
    pub source: AnswerSource,
    /// The standard deviation of the logarithm of the predicted duration; `None` where there is no prediction.
    pub sigma: Option<f64>,
    /// By how much two ways of predicting it differ, in logarithms.
    pub disagreement: Option<f64>,
    /// How many calls it would answer.
    pub calls: u64,
    /// How long these take together, where known.
    pub time_us: f64,
}

/// A question that no row can be suggested for.
#[derive(Debug, Clone, PartialEq)]
pub struct Unsuggested {
    /// The kernel type, or the operator.
    pub name: String,
    /// How many calls it has.
    pub calls: u64,
    /// Why.
    pub reason: &'static str,
}

/// What to measure, and what can only be got in another way.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Suggestions {
    /// The rows, the most telling first.
    pub rows: Vec<Suggestion>,
    /// Rows that would be suggested, but are in their tables already and wait for their durations.
    pub waiting: usize,
    /// How many more rows could be suggested.
    pub further: usize,
    /// Questions without a row, by name.
    pub without: Vec<Unsuggested>,
}

/// The `count` rows to measure next for the queries of an audit without an exact match.
///
/// A row is made after the nearest one of the table. Each is proven: put into the table with a duration it would answer its question.
///
/// # Errors
/// When a table cannot be read, or no temporary folder can be made.
pub fn suggest(
    database: &Database,
    directory: &Path,
    mapping: &OpMapping,
    audit: &Audit,
    count: usize,
) -> Result<Suggestions, Error> {
    let reader = database.reader(ReaderSemantics::Corrected, Layer::Interpolating);
    let proof = Proof::new(directory)?;
    let mut tables: IndexMap<PathBuf, Known> = IndexMap::new();
    let mut found: IndexMap<(PathBuf, Vec<String>), (Suggestion, Query)> = IndexMap::new();
    let mut without: IndexMap<(String, &'static str), u64> = IndexMap::new();
    let mut waiting = 0;
    let asked = audit.workloads.iter().flat_map(|workload| &workload.asked);
    for one in asked.filter(|one| one.finding.source > AnswerSource::Exact) {
        for leaf in leaves(one, mapping) {
            let calls = one.question.calls;
            let (name, made) = match leaf {
                Leaf::Asked { query } => {
                    let name = query.name().to_owned();
                    // A part of a composite may be measured already.
                    if is_exact(&reader, &query) {
                        continue;
                    } else {
                        (name, row_for(&reader, &proof, &mut tables, &query)?.map(|row| (row, query)))
                    }
                }
                Leaf::Unasked { name, reason } => (name, Err(reason)),
            };
            let (row, query) = match made {
                Ok(made) => made,
                Err(reason) => {
                    *without.entry((name, reason)).or_default() += calls;
                    continue;
                }
            };
            if row.is_waiting {
                waiting += 1;
                continue;
            }
            let time_us = one.duration_us().unwrap_or(0.0) * calls as f64;
            let key = (row.path.clone(), row.cells.iter().map(|(_, cell)| cell.clone()).collect());
            match found.get_mut(&key) {
                Some((known, _)) => {
                    known.calls += calls;
                    known.time_us += time_us;
                    known.source = known.source.max(one.finding.source);
                }
                None => {
                    let suggestion = Suggestion {
                        kernel_type: row.kernel_type,
                        path: row.path,
                        inputs: row.inputs,
                        cells: row.cells,
                        source: one.finding.source,
                        sigma: None,
                        disagreement: None,
                        calls,
                        time_us,
                    };
                    found.insert(key, (suggestion, *query));
                }
            }
        }
    }
    let all = found.into_values().collect::<Vec<_>>();
    let total = all.len();
    let rows = order::most_telling(database, all, count);
    let without = without.into_iter().map(|((name, reason), calls)| Unsuggested { name, calls, reason });
    Ok(Suggestions { further: total - rows.len(), rows, waiting, without: without.collect() })
}

fn is_exact(reader: &Reader, query: &Query) -> bool {
    let exact = |answer: perfdb_query::Answer| {
        answer.source == perfdb_query::Source::Measured
            && !answer.is_padded()
            && !answer.rule.is_some_and(|rule| rule.contains("padding"))
    };
    reader.lookup(query).is_ok_and(exact)
}

/// The row that would answer a question, made after the nearest one, or why there is none.
fn row_for(
    reader: &Reader,
    proof: &Proof,
    tables: &mut IndexMap<PathBuf, Known>,
    query: &Query,
) -> Result<Result<NewRow, &'static str>, Error> {
    let Some(nearest) = reader.nearest(query, 1).into_iter().next() else {
        let is_unreadable = reader.lookup(query).is_err_and(|miss| miss.is_unreadable());
        let without_rows = "its table has no row to take types and formats from";
        return Ok(Err(if is_unreadable { "its table cannot be used" } else { without_rows }));
    };
    let path = nearest.row.path.to_path_buf();
    if !tables.contains_key(&path) {
        tables.insert(path.clone(), Known::of(Table::read(&path, &ReadOptions::database())?));
    }
    let known = &tables[&path];
    let table = &known.table;
    let Some(pattern) = table.rows().find(|row| row.line() == Some(u64::from(nearest.row.line))) else {
        return Ok(Err("the row nearest to it cannot be read"));
    };
    for cells in row::variants(table, pattern.index(), query) {
        if proof.answers(&nearest.kernel_type, table, &cells, query)? {
            let is_waiting = known.has(&cells);
            return Ok(Ok(NewRow::new(&nearest.kernel_type, table, cells, is_waiting)));
        }
    }
    Ok(Err("no row made after the nearest one would answer it"))
}
