//! Continuing an interrupted run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use perfdb_store::signature::{Rules, Signature, SignatureColumns, Variant};
use perfdb_store::table::{ReadOptions, Table};
use perfdb_store::update::{AggregateOptions, aggregate, find_profiles, summaries_of};
use rustc_hash::FxHashSet;

use crate::error::Error;
use crate::journal::{hash_of, strike};
use crate::microbench::directory;

/// Strikes cases from the journal that have no measurement in the profiles that are there: an interrupted msprof may not
/// have exported what had been run.
pub fn strike_unmeasured(output: &Path, options: &AggregateOptions) -> Result<(), Error> {
    let journal = directory::journal(output);
    if !journal.is_file() {
        return Ok(());
    }
    let summaries = summaries_of(&find_profiles(output)?)?;
    let mut measured: FxHashSet<(String, Signature)> = FxHashSet::default();
    if !summaries.is_empty() {
        let samples = aggregate(&summaries, options)?;
        measured.extend(samples.iter().map(|(operator, signature, _)| (operator.to_owned(), signature.clone())));
    }
    let mut tables: HashMap<PathBuf, HashMap<String, Signature>> = HashMap::new();
    strike(&journal, |case| {
        let path = PathBuf::from(&case.key.csv);
        let rows = tables.entry(path).or_insert_with_key(|path| signatures_by_hash(path, &case.key.op));
        rows.get(&case.key.sha256).is_some_and(|signature| measured.contains(&(case.key.op.clone(), signature.clone())))
    })
}

/// The signature of each record of a table by the hash that a journal keeps. A table that cannot be read has none.
fn signatures_by_hash(path: &Path, op: &str) -> HashMap<String, Signature> {
    let Ok(table) = Table::read(path, &ReadOptions::database()) else { return HashMap::new() };
    let columns = SignatureColumns::of(&table);
    let rules = Rules::new(op, Variant::Database);
    let entry = |row: perfdb_store::table::Row<'_>| {
        (hash_of(table.source_record(row.index())), rules.signature(&columns.cells(row)))
    };
    table.rows().map(entry).collect()
}

/// Profile directories of executors with their own clock that an earlier run has left.
pub fn own_profiles(output: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut profiles = find_profiles(output)?;
    profiles.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("_PERFDB")));
    Ok(profiles)
}
