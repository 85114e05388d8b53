//! The calls of a trace as people read them: what each costs, how often it occurs, and the total.

use super::number::total;
use super::{Answered, Counts, rows_of, source_name};
use crate::layout::{Cell, Column, Layout, Table};
use perfdb_model::predict::{Calls, Class, Estimate, sum};

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

    /// The 90 % interval of all its calls, which share their error; `None` where they are one measured row.
    fn interval_us(&self) -> Option<[f64; 2]> {
        self.answered.interval_us.map(|ends| ends.map(|us| us * self.calls as f64))
    }
}

/// The 90 % interval of the total; `None` where all calls with an answer are measured rows.
fn interval_of_total(answers: &[TracedAnswer]) -> Option<[f64; 2]> {
    let calls: Vec<(String, Estimate)> = answers
        .iter()
        .filter_map(|one| {
            let answer = one.answered.answer.as_ref().ok()?;
            let [low_us, high_us] = one.interval_us()?;
            let kernel = answer.kernel_type().unwrap_or_default().into_owned();
            Some((kernel, Estimate { duration_us: one.total_us()?, low_us, high_us, class: Class::Inside }))
        })
        .collect();
    if calls.is_empty() {
        return None;
    }
    let known: f64 = answers.iter().filter(|one| one.interval_us().is_none()).filter_map(TracedAnswer::total_us).sum();
    let estimated =
        sum(calls.iter().map(|(kernel_type, estimate)| Calls { kernel_type, estimate: *estimate, count: 1.0 }));
    Some([known + estimated.low_us, known + estimated.high_us])
}

/// The total first, then the calls that cost something, the most expensive first, at most `limit`, and those without an answer.
pub fn traced(answers: &[TracedAnswer], limit: usize, layout: Layout) -> String {
    let mut counts = Counts::default();
    answers.iter().for_each(|one| counts.add(&one.answered.answer, one.calls));
    let us: f64 = answers.iter().filter_map(TracedAnswer::total_us).sum();
    let interval = interval_of_total(answers);
    let [number, ends] = total(us, interval);
    let ends = if interval.is_some() { format!(" (90 % interval {ends})") } else { ends };
    let mut text = format!("total {number} µs{ends}; {}\n", counts.text("call"));
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
    for (us, one) in costly.iter().take(limit) {
        let Ok(answer) = &one.answered.answer else { continue };
        let [number, _] = total(*us, one.interval_us());
        table.push([
            Cell::from(number),
            one.calls.to_string().into(),
            one.answered.microseconds(answer).into(),
            source_name(answer).into(),
            one.answered.name.as_str().into(),
            one.answered.inputs.as_str().into(),
            rows_of(answer).into(),
        ]);
    }
    table.text(layout)
}
