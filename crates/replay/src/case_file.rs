//! Files of replay cases: a JSON array, or one object per line.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::case::Case;
use crate::error::Error;
use crate::operator::Operator;
use crate::plan::{PlannedRow, RowPlan};

/// Reads the cases of a file, which must be of that operator. Rows that are invalid or skipped in a plan are left out.
/// `repeat` replaces the number of timed runs, where it is given.
pub fn read_cases(path: &Path, operator: &'static Operator, repeat: Option<u32>) -> Result<Vec<PlannedRow>, Error> {
    let fault = |place: Option<usize>, reason: String| Error::Cases { path: path.to_owned(), place, reason };
    let text = std::fs::read_to_string(path).map_err(|source| Error::io(path, source))?;
    let values: Vec<Value> = match serde_json::from_str(&text) {
        Ok(Value::Array(values)) => values,
        _ => text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .enumerate()
            .map(|(index, line)| serde_json::from_str(line).map_err(|error| fault(Some(index), error.to_string())))
            .collect::<Result<_, _>>()?,
    };
    let mut rows = Vec::with_capacity(values.len());
    for (index, value) in values.into_iter().enumerate() {
        if value.get("v").is_some_and(|version| *version != 1) {
            return Err(fault(Some(index), format!("case version {}, this program knows 1", value["v"])));
        }
        if matches!(value.get("status").and_then(Value::as_str), Some("invalid" | "skip")) {
            continue;
        }
        let mut case: Case = serde_json::from_value(value).map_err(|error| fault(Some(index), error.to_string()))?;
        if case.op != operator.name {
            return Err(fault(Some(index), format!("a case of {}, asked for {}", case.op, operator.name)));
        }
        case.repeat = repeat.unwrap_or(case.repeat);
        if case.repeat == 0 {
            return Err(fault(Some(index), "repeat must be at least 1".to_owned()));
        }
        let mut names: Vec<&str> = case.call.inputs.iter().map(|spec| &*spec.name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(fault(Some(index), format!("two tensors are named {:?}", pair[0])));
        }
        let (csv, row) = (case.csv.clone(), case.row);
        rows.push(PlannedRow { op: operator.name, csv, row, plan: RowPlan::Case(Arc::new(case)) });
    }
    Ok(rows)
}
