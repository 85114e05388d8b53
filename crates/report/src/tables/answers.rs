//! Answers of a database as a table.

use super::integer;
use crate::answers::rows;
use perfdb_files::tables::Column;
use perfdb_query::{Answer, LookupError};

/// A query with its answer, and its call in a trace.
#[derive(Debug)]
pub struct AnswerRow<'a> {
    /// What the query is called.
    pub name: &'a str,
    /// The answer.
    pub answer: &'a Result<Answer, LookupError>,
    /// The 90 % interval of an answer that is not one measured row, where one is known.
    pub interval_us: Option<[f64; 2]>,
    /// How often the call occurs in a trace, and its shapes.
    pub call: Option<(u64, &'a str)>,
}

impl AnswerRow<'_> {
    fn found(&self) -> Option<&Answer> {
        self.answer.as_ref().ok()
    }
}

/// The columns of the table of answers.
pub fn answer_columns<'a>() -> [Column<AnswerRow<'a>>; 13] {
    [
        Column::text("query", |row| Some(row.name.into())),
        Column::real("duration_us", |row| row.found().map(|answer| answer.duration_us)),
        Column::real("low_us", |row| row.interval_us.map(|[low, _]| low)),
        Column::real("high_us", |row| row.interval_us.map(|[_, high]| high)),
        Column::text("class", |row| {
            row.found().and_then(Answer::prediction).map(|prediction| prediction.class.name().into())
        }),
        Column::text("source", |row| row.found().map(|answer| answer.source.name().into())),
        Column::real("confidence", |row| row.found().map(|answer| answer.confidence)),
        Column::text("kernel_type", |row| row.found().and_then(Answer::kernel_type)),
        Column::text("rule", |row| row.found().and_then(|answer| answer.rule).map(Into::into)),
        Column::text("rows", |row| row.found().map(|answer| rows(answer).join(" ").into())),
        Column::text("reason", |row| row.answer.as_ref().err().map(|miss| miss.to_string().into())),
        Column::integer("calls", |row| row.call.and_then(|(calls, _)| integer(calls))),
        Column::text("input_shapes", |row| row.call.map(|(_, shapes)| shapes.into())),
    ]
}
