//! The calls of a trace as people read them: what each costs, how often it occurs, and the total.

use super::{Answered, Counts, rows_of};
use crate::layout::{Cell, Column, Layout, Table};
use perfdb_pycompat::format::fixed_grouped as grouped;

/// A call of a trace with its answer.
#[derive(Debug)]
pub struct TracedAnswer {
    /// The call and its answer.
    pub answered: Answered,
    /// How often it occurs.
    pub calls: u64,
}

impl TracedAnswer {
    /// The duration of all its calls; `None` without an answer.
    fn total_us(&self) -> Option<f64> {
        self.answered.answer.as_ref().ok().map(|answer| answer.duration_us * self.calls as f64)
    }
}

/// The total first, then the calls that cost something, the most expensive first, at most `limit`, and those without an answer.
pub fn traced(answers: &[TracedAnswer], limit: usize, layout: Layout) -> String {
    let mut counts = Counts::default();
    answers.iter().for_each(|one| counts.add(&one.answered.answer, one.calls));
    let total: f64 = answers.iter().filter_map(TracedAnswer::total_us).sum();
    let mut text = format!("total {} µs; {}\n", grouped(total, 1), counts.text("call"));
    let mut costly: Vec<(f64, &TracedAnswer)> =
        answers.iter().filter_map(|one| Some((one.total_us().filter(|us| *us > 0.0)?, one))).collect();
    costly.sort_by(|a, b| b.0.total_cmp(&a.0));
    text.push_str(&table(&costly, limit, layout));
    text.push_str(&crate::layout::more(costly.len(), limit, "answers (--limit shows them)"));
    let free: u64 = answers.iter().filter(|one| one.total_us() == Some(0.0)).map(|one| one.calls).sum();
    if free > 0 {
        text.push_str(&format!("calls that cost nothing (views and the like), not listed: {free}\n"));
    }
    text
}

fn table(costly: &[(f64, &TracedAnswer)], limit: usize, layout: Layout) -> String {
    if costly.is_empty() || limit == 0 {
        return String::new();
    }
    let mut table = Table::new([
        Column::number("total us"),
        Column::number("calls"),
        Column::number("us"),
        Column::name("source"),
        Column::name("operator"),
        Column::name("inputs"),
        Column::name("rows").optional(1),
    ]);
    for (total, one) in costly.iter().take(limit) {
        let Ok(answer) = &one.answered.answer else { continue };
        table.push([
            Cell::from(grouped(*total, 1)),
            one.calls.to_string().into(),
            one.answered.microseconds(answer).into(),
            answer.source.name().into(),
            one.answered.name.as_str().into(),
            one.answered.inputs.as_str().into(),
            rows_of(answer).into(),
        ]);
    }
    table.text(layout)
}
