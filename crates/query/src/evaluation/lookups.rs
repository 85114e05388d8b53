//! What lookups are worth that learn from no table as a whole: rows are taken out of their table, and asked for as a kernel's call.

use super::{Evaluation, Hidden, Sliced, Slices, Trial, Unanswered, described, hidden_of};
use crate::answer::{Answer, LookupError, Source};
use crate::context::Context;
use crate::engine;
use crate::query::{Query, Tensor};
use crate::semantics::{Layer, ReaderSemantics};
use crate::state::State;
use crate::table::pool::{Dimensions, Shapes};
use crate::table::{KernelRow, KernelRows};
use perfdb_files::parallel::on_all_cores;
use perfdb_model::predict::{CrossValidation, LeftOutRows, Point};
use perfdb_store::dtype::DType;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Evaluates a table under some lookup rules. `done` hears of the share of the rounds that are over.
pub(super) fn evaluate(
    state: &State,
    sliced: &Sliced,
    semantics: ReaderSemantics,
    done: &(dyn Fn(f64) + Sync),
) -> Result<Evaluation, LookupError> {
    let mut evaluation = Evaluation { semantics, ..described(sliced) };
    let slot = state.slot(&sliced.kernel_type);
    if let (Some(slot), false) = (slot, state.registry.is_collective(&sliced.kernel_type))
        && let Some(table) = state.rows(Some(slot))?
    {
        let judge = Judge { state, slot, table, semantics };
        judge.run(&sliced.slices, &mut evaluation, done);
    } else {
        evaluation.not_asked = evaluation.rows - evaluation.passed_over;
    }
    Ok(evaluation)
}

struct Judge<'d> {
    state: &'d State,
    slot: u32,
    table: &'d KernelRows,
    semantics: ReaderSemantics,
}

/// The numbers of a place on its axes, as bits.
type Key = Vec<u64>;

fn key(axes: &[f64]) -> Key {
    axes.iter().map(|value| value.to_bits()).collect()
}

impl Judge<'_> {
    fn run(&self, slices: &[Slices], evaluation: &mut Evaluation, done: &(dyn Fn(f64) + Sync)) {
        let tried: Vec<(&Slices, CrossValidation)> =
            slices.iter().map(|slices| (slices, CrossValidation::of(slices.rows(), Some(slices.size)))).collect();
        let total: usize = tried.iter().map(|(_, trials)| trials.rounds()).sum();
        for (slices, trials) in &tried {
            let mut lines: FxHashMap<Key, Vec<u32>> = FxHashMap::default();
            let places = slices.slices.iter().flatten();
            places.for_each(|(Point { axes, .. }, line, _)| lines.entry(key(axes)).or_default().push(*line));
            let questions = self.questions(lines.values().flatten().copied());
            let all: FxHashSet<u32> = lines.values().flatten().copied().collect();
            evaluation.not_asked += all.iter().filter(|line| !questions.contains_key(line)).count();
            let of_round = |round: usize| {
                let found = trials.round(round).map(|round| self.round(slices, &lines, &questions, &round));
                done(1.0 / total as f64);
                found.unwrap_or_default()
            };
            let rounds: Vec<(Vec<Trial>, Vec<Hidden>)> =
                on_all_cores(|| (0..trials.rounds()).into_par_iter().map(of_round).collect());
            for (found, unanswered) in rounds {
                evaluation.trials.extend(found);
                unanswered.into_iter().for_each(|hidden| Unanswered::count(&mut evaluation.unanswered, hidden));
            }
        }
    }

    /// The calls that the rows of some lines answer as they are. Others cannot be asked for as a kernel's call: their runtime values are missing.
    fn questions(&self, lines: impl Iterator<Item = u32>) -> FxHashMap<u32, Query> {
        let answers = |query: &Query, row: KernelRow<'_>| {
            let answer = self.ask(self.state, query, self.semantics).ok()?;
            let is_exact = answer.source == Source::Measured && !answer.is_padded();
            let is_of_place = |line: u32| self.table.at_line(line).is_some_and(|own| own.is_case_of(row));
            (is_exact && answer.rows.iter().all(|own| is_of_place(own.line))).then_some(())
        };
        let question = |line: u32| {
            let row = self.table.at_line(line)?;
            let query = query_of(self.table, row)?;
            answers(&query, row)?;
            Some((line, query))
        };
        lines.filter_map(question).collect()
    }

    /// The answers, and the rows that have none.
    fn round(
        &self,
        slices: &Slices,
        lines: &FxHashMap<Key, Vec<u32>>,
        questions: &FxHashMap<u32, Query>,
        round: &LeftOutRows<'_>,
    ) -> (Vec<Trial>, Vec<Hidden>) {
        let hidden: FxHashSet<u32> =
            round.hidden.iter().filter_map(|axes| lines.get(&key(axes))).flatten().copied().collect();
        let state = self.state.with_rows(self.slot, self.table.without(&hidden));
        let left_out = hidden_of(slices, round.left_out);
        let (mut trials, mut unanswered) = (Vec::new(), Vec::new());
        for (line, measured_us) in &round.asked {
            let Some(query) = questions.get(line) else { continue };
            let answer = self.ask(&state, query, self.semantics).ok().filter(|answer| answer.source != Source::Partial);
            // The interval is that which is shown beside the answer.
            let interval_us =
                |answer: &Answer| answer.interval_or(|| self.ask(&state, query, ReaderSemantics::Best).ok());
            match answer.as_ref().and_then(|answer| Some((answer, interval_us(answer)?))) {
                Some((answer, interval_us)) => trials.push(Trial {
                    line: *line,
                    hidden: left_out,
                    measured_us: *measured_us,
                    predicted_us: answer.duration_us,
                    interval_us,
                    class: answer.class(),
                }),
                None => unanswered.push(left_out),
            }
        }
        (trials, unanswered)
    }

    fn ask(&self, state: &State, query: &Query, semantics: ReaderSemantics) -> Result<Answer, LookupError> {
        engine::answer(&Context::new(state, semantics.rules(), query, None), Layer::Interpolating)
    }
}

/// The call that a row was measured for; `None` where a type is none.
fn query_of(table: &KernelRows, row: KernelRow<'_>) -> Option<Query> {
    let tensors = |shapes: Shapes<'_>, types: &[Box<str>]| -> Option<Vec<Tensor>> {
        let tensor = |(shape, name): (Dimensions, &str)| Some(Tensor::new(shape.to_vec(), DType::from_database(name)?));
        let types_of_shapes = types.iter().map(AsRef::as_ref);
        (types.len() >= shapes.len())
            .then(|| shapes.iter().zip(types_of_shapes).map(tensor).collect::<Option<Vec<_>>>())?
    };
    let mut query = Query::kernel(table.kernel_type()).ep_size(row.ep_size());
    for tensor in tensors(row.matrices(), row.input_types())? {
        query = query.input(tensor);
    }
    Some(match tensors(row.outputs(), row.output_types()) {
        Some(outputs) => query.outputs(outputs),
        None => query,
    })
}
