//! Continuing an interrupted run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use perfdb_store::signature::{Rules, Signature, SignatureColumns, Variant};
use perfdb_store::table::{ReadOptions, Table};
use perfdb_store::update::{AggregateOptions, aggregate, find_profiles, summaries_of};
use rustc_hash::FxHashSet;

use crate::journal::{hash_of, strike};
use crate::microbench::directory;
use crate::microbench::error::Error;

/// Removes cases from the run's journals that have no measurement in the profiles that are there: an interrupted msprof may
/// not have exported what had been run.
pub(crate) fn remove_unmeasured(output: &Path, options: &AggregateOptions) -> Result<(), Error> {
    let journals = journals(output)?;
    if journals.is_empty() {
        return Ok(());
    }
    let summaries = summaries_of(&find_profiles(output)?)?;
    let mut measured: FxHashSet<(String, Signature)> = FxHashSet::default();
    if !summaries.is_empty() {
        let samples = aggregate(&summaries, options)?;
        measured.extend(samples.iter().map(|(operator, signature, _)| (operator.to_owned(), signature.clone())));
    }
    let mut tables: HashMap<PathBuf, HashMap<String, Signature>> = HashMap::new();
    for journal in journals {
        strike(&journal, |case| {
            let path = PathBuf::from(&case.key.csv);
            let rows = tables.entry(path).or_insert_with_key(|path| signatures_by_hash(path, &case.key.op));
            let signature = rows.get(&case.key.sha256);
            signature.is_some_and(|signature| measured.contains(&(case.key.op.clone(), signature.clone())))
        })?;
    }
    Ok(())
}

/// The journal of a run, and those of the operators that it has profiled one by one.
pub(crate) fn journals(output: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::io(output, source);
    let mut folders = vec![output.to_owned()];
    for entry in std::fs::read_dir(output).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with(directory::OF_OPERATOR) {
            folders.push(entry.path());
        }
    }
    Ok(folders.iter().map(|folder| directory::journal(folder)).filter(|journal| journal.is_file()).collect())
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
pub(crate) fn own_profiles(output: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut profiles = find_profiles(output)?;
    profiles.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("_PERFDB")));
    Ok(profiles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::case::Case;
    use crate::journal::{CaseKey, Journal, read};
    use crate::results::{RowOutcome, RowResult, RowRun};

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    const COLUMNS: &str = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types";

    #[test]
    fn cases_without_a_measurement_leave_every_journal() -> TestResult {
        let folder = tempfile::tempdir()?;
        let csv = folder.path().join("Add.csv");
        let rows = ["4,FLOAT,ND,4,FLOAT", "5,FLOAT,ND,5,FLOAT"];
        std::fs::write(&csv, format!("{COLUMNS}\n{}\n{}\n", rows[0], rows[1]))?;
        let of_operator = folder.path().join(format!("{}Add", directory::OF_OPERATOR));
        let summaries = of_operator.join("PROF_1/mindstudio_profiler_output");
        std::fs::create_dir_all(&summaries)?;
        let summary = format!("OP Type,Task Type,Task Duration(us),{COLUMNS}\nAdd,AI_CORE,2.5,{}\n", rows[0]);
        std::fs::write(summaries.join("op_summary_1.csv"), summary)?;
        let mut case: Case = serde_json::from_str(
            r#"{"op":"Add","csv":"Add.csv","row":2,"api":"torch.add","inputs":[],"check":"warn","repeat":1}"#,
        )?;
        case.csv = csv.to_string_lossy().as_ref().into();
        let run = RowRun { api: "torch.add".into(), repeat: 1, times: None, outputs: Vec::new(), matches: true };
        let result = RowResult { op: "Add".into(), csv: "Add.csv".into(), row: 2, outcome: RowOutcome::Ok(run) };
        let journals = [folder.path(), &of_operator].map(directory::journal);
        for journal in &journals {
            let mut journal = Journal::open(journal)?;
            for row in rows {
                journal.note(&CaseKey::new(&case, row.as_bytes(), Backend::Npu, 0), &result, &[])?;
            }
        }
        remove_unmeasured(folder.path(), &AggregateOptions::default())?;
        for journal in &journals {
            assert_eq!(read(journal)?.len(), 1);
            let measured = CaseKey::new(&case, rows[0].as_bytes(), Backend::Npu, 0);
            assert!(Journal::open(journal)?.take(&measured).is_some());
        }
        Ok(())
    }
}
