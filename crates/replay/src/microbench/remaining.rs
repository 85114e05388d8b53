//! What an interrupted run has left to do.

use std::path::Path;

use crate::journal::{self, Line};
use crate::microbench::error::Error;
use crate::operator::Operator;
use crate::plan::{PlannedRow, plan_rows};
use crate::settings::RunSettings;
use crate::table;
use rustc_hash::FxHashMap;

use crate::microbench::directory::RunDirectory;
use crate::microbench::msprof::read_status;
use crate::microbench::resume::journals;
use crate::microbench::status::script_name;

/// What an interrupted run has left to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remaining {
    /// Operators that were measured, failed or had no table.
    pub ended: usize,
    /// Operators that were not, in running order.
    pub operators: Vec<RemainingOperator>,
}

/// An operator that was not measured to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemainingOperator {
    pub name: &'static str,
    /// Rows that have been measured.
    pub measured: usize,
    /// Rows that are to be measured, those among them.
    pub rows: usize,
}

impl Remaining {
    /// What the run in this folder has left of these operators of a database.
    pub(crate) fn of(
        directory: &RunDirectory,
        database: &Path,
        operators: &[&'static Operator],
        settings: &RunSettings,
    ) -> Result<Remaining, Error> {
        let status = read_status(directory.path()).unwrap_or_default();
        let failed = status.failed.iter().map(|failed| &failed.op);
        let ended: Vec<&String> = status.success.iter().chain(&status.skipped).chain(failed).collect();
        let mut measured: FxHashMap<String, usize> = FxHashMap::default();
        for journal in journals(directory.path())? {
            for line in journal::read(&journal)? {
                if let Line::Case(case) = line {
                    *measured.entry(case.key.op.clone()).or_default() += usize::from(case.is_ok());
                }
            }
        }
        let mut remaining = Remaining::default();
        for operator in operators {
            let files = table::find(database, operator.name)?;
            if files.is_empty() || ended.contains(&&script_name(operator.name)) {
                remaining.ended += usize::from(!files.is_empty());
                continue;
            }
            let plan = settings.plan_settings(operator);
            let mut rows = 0;
            for file in files {
                // A table that cannot be read fails when its turn comes.
                let Ok(table) = table::read(&file, operator) else { continue };
                rows += plan_rows(&table, operator, &plan).filter_map(|row: PlannedRow| row.case().cloned()).count();
            }
            let measured = measured.get(operator.name).copied().unwrap_or_default().min(rows);
            remaining.operators.push(RemainingOperator { name: operator.name, measured, rows });
        }
        Ok(remaining)
    }
}

/// `2 of 5 operators are not measured: MatMulV2 (12 of 30 rows are), RmsNorm (0 of 4 rows are)`.
impl std::fmt::Display for Remaining {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (left, all) = (self.operators.len(), self.ended + self.operators.len());
        write!(formatter, "{left} of {all} operators are not measured")?;
        for (position, operator) in self.operators.iter().enumerate() {
            let RemainingOperator { name, measured, rows } = operator;
            let separator = if position == 0 { ": " } else { ", " };
            write!(formatter, "{separator}{name} ({measured} of {rows} rows are)")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::find;

    use crate::microbench::status::RunStatus;

    #[test]
    fn operators_without_an_end_are_left_with_the_rows_that_are_done() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let directory = RunDirectory::fresh(folder.path())?;
        let header = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types\n";
        for op in ["Add", "Sort"] {
            let rows = "\"4\",FLOAT,ND,\"4\",FLOAT\n\"5\",FLOAT,ND,\"5\",FLOAT\n";
            std::fs::write(folder.path().join(format!("{op}.csv")), format!("{header}{rows}"))?;
        }
        let done = RunStatus { success: vec![script_name("Sort")], ..RunStatus::default() };
        done.write(&directory.status_file())?;
        let case = r#"{"type":"case","op":"Add","csv":"Add.csv","row":2,"sha256":"","backend":"native","repeat":1,
            "warmup":0,"fresh_inputs":false,"seed":0,"result":{"status":"STATUS","api":"torch.add","repeat":1,
            "outputs":[],"match":true},"samples":[]}"#
            .replace('\n', "");
        let journal = [case.replace("STATUS", "ok"), case.replace("STATUS", "failed")].join("\n");
        std::fs::write(directory.journal(), journal)?;
        let operators: Vec<_> = ["Add", "Slice", "Sort"].into_iter().filter_map(find).collect();
        let remaining = Remaining::of(&directory, folder.path(), &operators, &RunSettings::new("", ""))?;
        assert_eq!(remaining.to_string(), "1 of 2 operators are not measured: Add (1 of 2 rows are)");
        Ok(())
    }
}
