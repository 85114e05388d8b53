//! Row rules beyond the golden rows: which rows are replayed, which are refused, and by which kind.

mod attention;
mod calls;
mod table;

use perfdb_replay::operator::{PlanOptions, Planned};
use perfdb_replay::operators;
use perfdb_replay::row::Row;
use perfdb_store::Semantics;
use serde_json::{Value, json};

pub(crate) const COLUMNS: [&str; 6] =
    ["Input Shapes", "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types", "Output Formats"];

/// Plans a row of these cells, further cells given as `column=value`.
pub(crate) fn plan(op: &str, cells: [&str; 5], more: &[(&str, &str)]) -> Result<Planned, String> {
    plan_with(op, cells, more, Semantics::Upstream)
}

pub(crate) fn plan_with(
    op: &str,
    cells: [&str; 5],
    more: &[(&str, &str)],
    semantics: Semantics,
) -> Result<Planned, String> {
    let header: Vec<String> =
        COLUMNS.iter().chain(more.iter().map(|(column, _)| column)).map(|name| (*name).to_owned()).collect();
    let formats = cells[4].split(';').map(|_| "ND").collect::<Vec<_>>().join(";");
    let mut row: Vec<&str> = cells.to_vec();
    row.push(&formats);
    row.extend(more.iter().map(|(_, value)| value));
    let options = PlanOptions { ep_size: 1, semantics, ..PlanOptions::default() };
    let operator = operators::find(op).expect("a known operator");
    (operator.plan)(&Row::new(&header, &row), &options).map_err(|refusal| refusal.kind.name().to_owned())
}

/// The outcome as one word: `ok`, a reason to skip, or the kind of refusal.
pub(crate) fn word(op: &str, cells: [&str; 5]) -> String {
    match plan(op, cells, &[]) {
        Ok(Planned::Replay(_)) => "ok".to_owned(),
        Ok(Planned::Skip(reason)) => reason.name().to_owned(),
        Err(kind) => kind,
    }
}

pub(crate) fn call(op: &str, cells: [&str; 5], more: &[(&str, &str)]) -> Value {
    match plan(op, cells, more) {
        Ok(Planned::Replay(call)) => json!({
            "api": call.api,
            "inputs": call.inputs.iter().map(|input| json!([input.name, input.shape, input.dtype, input.init])).collect::<Vec<_>>(),
            "args": call.args,
            "kwargs": call.kwargs,
        }),
        other => panic!("{op} {cells:?}: {other:?}"),
    }
}
