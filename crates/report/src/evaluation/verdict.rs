//! What all tables come to: the first line, the headline of the page and the summary of the JSON are of the same figures.

use super::{FEWEST_TO_JUDGE, Figures, is_judged, name, percent};
use perfdb_pycompat::format::fixed;
use perfdb_query::{Evaluation, Hidden, ReaderSemantics, Score};
use serde::Serialize;

/// The tables that have enough rows to be judged.
pub(crate) struct Judged<'e> {
    /// How many tables there are.
    tables: usize,
    semantics: ReaderSemantics,
    /// Each with its scores that are of enough rows, the worst table first.
    judged: Vec<(&'e Evaluation, Vec<Score>)>,
    /// Single rows of all of them together.
    pub(crate) single: Option<Score>,
}

impl<'e> Judged<'e> {
    pub(crate) fn of(evaluations: &'e [Evaluation]) -> Judged<'e> {
        let enough = |one: &'e Evaluation| -> (&'e Evaluation, Vec<Score>) {
            (one, one.scores().into_iter().filter(is_judged).collect())
        };
        let has_single = |(_, scores): &(&Evaluation, Vec<Score>)| scores.iter().any(|one| one.hidden == Hidden::Row);
        let mut judged: Vec<_> = evaluations.iter().map(enough).filter(has_single).collect();
        judged.sort_by(|a, b| worst_error(&b.1).total_cmp(&worst_error(&a.1)));
        let single = Score::of(Hidden::Row, judged.iter().flat_map(|(one, _)| &one.trials));
        let semantics = evaluations.first().map_or(ReaderSemantics::Best, |one| one.semantics);
        Judged { tables: evaluations.len(), semantics, judged, single }
    }

    /// The tables, the one with the largest 90th percentile first.
    pub(crate) fn tables(&self) -> &[(&'e Evaluation, Vec<Score>)] {
        &self.judged
    }

    /// The table and what was left out of it with the largest 90th percentile.
    pub(crate) fn worst(&self) -> Option<(&'e Evaluation, Score)> {
        self.judged.first().and_then(|(one, scores)| Some((*one, worst(scores)?)))
    }

    /// All of it as one sentence without a full stop.
    pub(crate) fn verdict(&self) -> String {
        let of = self.tables;
        let tables = if of == 1 { "table" } else { "tables" };
        let (Some(single), Some((table, worst))) = (self.single, self.worst()) else {
            let answered = if self.semantics == ReaderSemantics::Best { "" } else { " that get an answer" };
            let under = under(self.semantics);
            return format!(
                "0 of {of} {tables} can be judged{under}: none has {FEWEST_TO_JUDGE} rows to leave out{answered}"
            );
        };
        let coverage = |score: &Score| format!("coverage {} %", fixed(score.held * 100.0, 0));
        let mut text = format!(
            "{} of {of} {tables} can be judged{}: median error {}, p90 {}, {}, rows left out one by one; worst {}{}: p90 {}, {}",
            self.judged.len(),
            under(table.semantics),
            percent(single.median.exp_m1()),
            percent(single.p90.exp_m1()),
            coverage(&single),
            name(table),
            match worst.hidden {
                Hidden::Row => String::new(),
                Hidden::Axis(axis) => format!(", left out by {axis}"),
                Hidden::Configuration => ", left out by configuration".to_owned(),
            },
            percent(worst.p90.exp_m1()),
            coverage(&worst),
        );
        match of - self.judged.len() {
            0 => {}
            1 => text += &format!("; 1 has fewer than {FEWEST_TO_JUDGE} rows to leave out"),
            few => text += &format!("; {few} have fewer than {FEWEST_TO_JUDGE} rows to leave out"),
        }
        text
    }

    pub(super) fn summary(&self) -> Summary<'e> {
        Summary {
            tables: self.tables,
            judged: self.judged.len(),
            fewest_rows: FEWEST_TO_JUDGE,
            single_rows: self.single.as_ref().map(Figures::of),
            worst: self
                .worst()
                .map(|(table, score)| Worst { kernel_type: &table.kernel_type, figures: Figures::of(&score) }),
        }
    }
}

/// The lookup rules, where they are not those that predict.
fn under(semantics: ReaderSemantics) -> String {
    match semantics {
        ReaderSemantics::Best => String::new(),
        other => format!(" under {}", other.name()),
    }
}

pub(super) fn worst(scores: &[Score]) -> Option<Score> {
    scores.iter().copied().max_by(|a, b| a.p90.total_cmp(&b.p90))
}

fn worst_error(scores: &[Score]) -> f64 {
    worst(scores).map_or(0.0, |score| score.p90)
}

#[derive(Serialize)]
pub(super) struct Summary<'e> {
    tables: usize,
    judged: usize,
    fewest_rows: usize,
    single_rows: Option<Figures>,
    worst: Option<Worst<'e>>,
}

#[derive(Serialize)]
struct Worst<'e> {
    kernel_type: &'e str,
    #[serde(flatten)]
    figures: Figures,
}
