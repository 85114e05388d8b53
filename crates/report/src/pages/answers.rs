//! What operators cost.

use super::{counted, sentence, share};
use crate::answers::{TracedAnswer, rows};
use crate::page::number::grouped;
use crate::page::{Block, Column, KeyFigure, Page, Part, Provenance, Table, Trust};
use perfdb_query::{Answer, Source};

/// Answers that a page lists.
pub const ANSWERS: usize = 20_000;

/// The page of the answers to queries: the first of them, `all` queries in all. `verdict` is what the text begins with.
pub fn answers_page(verdict: &str, answers: &[TracedAnswer], all: u64, provenance: Provenance) -> Page {
    let found = |one: &&TracedAnswer| one.answered.answer.is_ok();
    let known = answers.iter().filter(found).count();
    let is_measured = |one: &&TracedAnswer| {
        one.answered.answer.as_ref().is_ok_and(|answer| answer.source == Source::Measured && !answer.is_of_other_type())
    };
    let measured = answers.iter().filter(is_measured).count();
    let part = share(measured as f64, answers.len() as f64);
    let reason = format!("{} of {} are measured rows", measured, counted(answers.len(), "answer", "answers"));
    let part = Part {
        verdict: sentence(verdict.trim_end_matches('.')),
        trust: Some(Trust::of_share(part / 100.0, [0.9, 0.5], reason)),
        figures: vec![
            KeyFigure::new("Queries", grouped(all as f64, 0)),
            KeyFigure::new("With an answer", grouped(known as f64, 0)),
            KeyFigure::new("Exact", grouped(measured as f64, 0)).note("a measured row has this call"),
        ],
        blocks: vec![Block::Table(table(answers, all))],
        ..Part::default()
    };
    Page { title: "What operators cost".to_owned(), parts: vec![part], provenance }
}

fn table(answers: &[TracedAnswer], all: u64) -> Table {
    let found =
        |one: &TracedAnswer, of: fn(&Answer) -> String| one.answered.answer.as_ref().map(of).unwrap_or_default();
    let text = |of: fn(&Answer) -> String| answers.iter().map(move |one| found(one, of));
    let end = |at: usize| answers.iter().map(move |one| one.answered.interval_us.map_or(f64::NAN, |ends| ends[at]));
    let us = |one: &TracedAnswer| one.answered.answer.as_ref().map_or(f64::NAN, |answer| answer.duration_us);
    let reason = |one: &TracedAnswer| one.answered.answer.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let mut columns = vec![
        Column::text("Query", answers.iter().map(|one| one.answered.name.as_str())),
        Column::text("Inputs", answers.iter().map(|one| one.answered.inputs.as_str())),
        Column::whole("Calls", answers.iter().map(|one| one.calls as f64)),
        Column::decimal("A call", answers.iter().map(us), 2).unit("µs"),
        Column::decimal("From", end(0), 2).unit("µs"),
        Column::decimal("To", end(1), 2).unit("µs"),
        Column::text("Source", text(|answer| answer.source.name().to_owned())),
        Column::text("Kernel type", text(|answer| answer.kernel_type().unwrap_or_default().into_owned())),
        Column::text("Rule", text(|answer| answer.rule.unwrap_or_default().to_owned())),
        Column::text("Rows", text(|answer| rows(answer).join(" "))),
    ];
    // A column in which nothing stands takes the room of others.
    if answers.iter().any(|one| one.answered.answer.is_err()) {
        columns.push(Column::text("Reason", answers.iter().map(reason)).whole_text());
    }
    let table = Table::new("answers", "Answers", columns);
    match all - (answers.len() as u64).min(all) {
        0 => table,
        others => table
            .note(format!("The first {}; {others} more are in the CSV.", counted(answers.len(), "answer", "answers"))),
    }
}
