//! What the predictions of a database are worth: its rows, predicted from each other.

mod lookups;
mod outliers;
mod repeats;
mod score;

pub use outliers::{Outlier, outliers};
pub use repeats::{Drift, Repeats};
pub use score::Score;

use crate::answer::LookupError;
use crate::interpolate::{Learnt, RowPoint, learnt};
use crate::semantics::ReaderSemantics;
use crate::state::State;
use perfdb_files::parallel::on_all_cores;
use perfdb_model::predict::{Class, CrossValidation, Estimate, LeftOut, Point, Rows, Table};
use rayon::prelude::*;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The table of a kernel type, its rows left out and asked for of the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The kernel type.
    pub kernel_type: Arc<str>,
    /// The file.
    pub path: Arc<Path>,
    /// The lookup rules that were judged.
    pub semantics: ReaderSemantics,
    /// How many rows have a duration.
    pub rows: usize,
    /// How many of them questions between rows pass over: a cell that is needed is missing or cannot be read.
    pub passed_over: usize,
    /// Sets of rows that agree in everything but sizes: only rows of one set tell something about each other.
    pub slices: usize,
    /// How many rows are the only place of their slice, so that nothing shows what is near them.
    pub alone: usize,
    /// One for each row and what was left out.
    pub trials: Vec<Trial>,
    /// Rows of one place, where there are several, in the order of their first lines.
    pub repeats: Vec<Repeats>,
    /// Rows that were left out and have no answer, by what was left out; none where predictions always answer.
    pub unanswered: Vec<Unanswered>,
    /// Rows that cannot be asked for as a call of their kernel, such as those of attention with runtime values.
    pub not_asked: usize,
}

/// How many rows had no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unanswered {
    /// What was not known.
    pub hidden: Hidden,
    /// How many rows.
    pub rows: usize,
}

impl Unanswered {
    fn count(all: &mut Vec<Unanswered>, hidden: Hidden) {
        match all.iter_mut().find(|known| known.hidden == hidden) {
            Some(known) => known.rows += 1,
            None => all.push(Unanswered { hidden, rows: 1 }),
        }
    }
}

/// A row that was predicted from others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// The line of the row; of repeats the first.
    pub line: u32,
    /// What was not known.
    pub hidden: Hidden,
    /// How long it took; of repeats the median.
    pub measured_us: f64,
    /// What was predicted.
    pub predicted_us: f64,
    /// The interval.
    pub interval_us: [f64; 2],
    /// How the row lay to those that were known.
    pub class: Class,
}

/// What was not known when a row was predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hidden {
    /// The row alone, or with one of twenty others.
    Row,
    /// All rows that have its number on an axis.
    Axis(&'static str),
    /// All rows of its configuration: of one weight, of as many heads, of as many ranks.
    Configuration,
}

impl fmt::Display for Hidden {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Hidden::Row => "single rows",
            Hidden::Axis(name) => name,
            Hidden::Configuration => "configuration",
        })
    }
}

impl Trial {
    /// The logarithm of predicted over measured.
    pub fn error(&self) -> f64 {
        (self.predicted_us / self.measured_us).ln()
    }

    /// Whether the interval holds what was measured.
    pub fn is_held(&self) -> bool {
        self.interval_us[0] <= self.measured_us && self.measured_us <= self.interval_us[1]
    }
}

impl Evaluation {
    /// Figures by what was left out: single rows first, then axes, then configurations.
    pub fn scores(&self) -> Vec<Score> {
        score::scores(&self.trials)
    }

    /// Repeats whose durations differ by more than a tenth.
    pub fn contradictions(&self) -> impl Iterator<Item = &Repeats> {
        self.repeats.iter().filter(|repeats| repeats.is_contradiction())
    }

    /// Whether later rows of one place take longer, or shorter, throughout: two versions or machines in one table.
    pub fn drift(&self) -> Option<Drift> {
        Drift::of(&self.repeats)
    }
}

/// Slices of a table with the same axes: each has rows that agree in everything but sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Slices {
    /// What the axes of the places mean.
    pub axes: Vec<&'static str>,
    /// That along which calls grow.
    pub size: usize,
    /// The rows of each: place, line in the file, duration in microseconds.
    pub slices: Vec<Vec<(Point, u32, f64)>>,
}

impl Slices {
    /// The rows of each slice, to learn from; their numbers are lines.
    pub fn rows(&self) -> Vec<Rows> {
        let rows_of = |slice: &Vec<(Point, u32, f64)>| {
            let mut rows = Rows::new(self.axes.len());
            slice.iter().for_each(|(place, line, us)| rows.push(*line, place, *us, None));
            rows
        };
        self.slices.iter().map(rows_of).collect()
    }

    /// The table that is learnt from them.
    pub fn table(&self) -> Table {
        Table::new(self.rows(), Some(self.size))
    }
}

/// What the slices of a kernel type are of.
struct Sliced {
    kernel_type: Arc<str>,
    path: Arc<Path>,
    row_count: usize,
    slices: Vec<Slices>,
}

/// The slices of a kernel type, by their axes; `None` without a table of it.
pub(crate) fn slices(state: &State, kernel_type: &str) -> Result<Option<Vec<Slices>>, LookupError> {
    Ok(sliced(state, kernel_type)?.map(|sliced| sliced.slices))
}

fn sliced(state: &State, kernel_type: &str) -> Result<Option<Sliced>, LookupError> {
    let slot = state.slot(kernel_type);
    if state.registry.is_collective(kernel_type) {
        let Some(table) = state.collective(slot)? else { return Ok(None) };
        let of_tier =
            |tier: &Option<f64>| table.places(*tier).map(|(place, row)| (place, row.line, row.duration_us)).collect();
        let slices = Slices {
            axes: vec!["message_bytes", "num_devices"],
            size: 0,
            slices: table.tiers.iter().map(of_tier).collect(),
        };
        return Ok(Some(Sliced {
            kernel_type: table.kernel_type.clone(),
            path: table.path().clone(),
            row_count: table.row_count(),
            slices: vec![slices],
        }));
    }
    let Some(table) = state.rows(slot)? else { return Ok(None) };
    let slice = |points: Vec<(Point, RowPoint)>| -> Vec<(Point, u32, f64)> {
        let line = |point: &RowPoint| table.row(point.row).reference().line;
        points.into_iter().map(|(place, point)| (place, line(&point), point.duration_us)).collect()
    };
    let slices = |learnt: Learnt| Slices {
        axes: learnt.axes.to_vec(),
        size: learnt.size,
        slices: learnt.slices.into_iter().map(slice).collect(),
    };
    Ok(Some(Sliced {
        kernel_type: table.kernel_type.clone(),
        path: table.path().into(),
        row_count: table.rows().count(),
        slices: learnt(ReaderSemantics::Best.rules(), &state.mapping, table).into_iter().map(slices).collect(),
    }))
}

/// Evaluates the table of a kernel type; `None` if there is none. `done` hears of the share of the rounds that are over.
pub(crate) fn evaluate(
    state: &State,
    kernel_type: &str,
    semantics: ReaderSemantics,
    done: &(dyn Fn(f64) + Sync),
) -> Result<Option<Evaluation>, LookupError> {
    let Some(sliced) = sliced(state, kernel_type)? else { return Ok(None) };
    if semantics != ReaderSemantics::Best {
        return lookups::evaluate(state, &sliced, semantics, done).map(Some);
    }
    Ok(Some(of_predictions(&sliced, done)))
}

/// What a table holds, without trials.
fn described(sliced: &Sliced) -> Evaluation {
    let all = || sliced.slices.iter().flat_map(|slices| &slices.slices).filter(|slice| !slice.is_empty());
    let placed: usize = all().map(Vec::len).sum();
    let is_alone = |slice: &&Vec<(Point, u32, f64)>| repeats::is_one_place(slice);
    Evaluation {
        kernel_type: sliced.kernel_type.clone(),
        path: sliced.path.clone(),
        semantics: ReaderSemantics::Best,
        rows: sliced.row_count,
        passed_over: sliced.row_count.saturating_sub(placed),
        slices: all().count(),
        alone: all().filter(is_alone).map(Vec::len).sum(),
        trials: Vec::new(),
        repeats: repeats::find(all().map(Vec::as_slice)),
        unanswered: Vec::new(),
        not_asked: 0,
    }
}

fn of_predictions(sliced: &Sliced, done: &(dyn Fn(f64) + Sync)) -> Evaluation {
    let tried: Vec<(&Slices, CrossValidation)> =
        sliced.slices.iter().map(|slices| (slices, CrossValidation::of(slices.rows(), Some(slices.size)))).collect();
    let rounds: Vec<(&Slices, &CrossValidation, usize)> = tried
        .iter()
        .flat_map(|(slices, trials)| (0..trials.rounds()).map(move |round| (*slices, trials, round)))
        .collect();
    let share = 1.0 / rounds.len().max(1) as f64;
    let trials: Vec<Vec<Trial>> = on_all_cores(|| {
        let run = |(slices, trials, round): (&Slices, &CrossValidation, usize)| -> Vec<Trial> {
            let found = trials.run(round).into_iter().map(|trial| of_trial(slices, trial)).collect();
            done(share);
            found
        };
        rounds.into_par_iter().map(run).collect()
    });
    Evaluation { trials: trials.into_iter().flatten().collect(), ..described(sliced) }
}

fn hidden_of(slices: &Slices, left_out: LeftOut) -> Hidden {
    match left_out {
        LeftOut::Row => Hidden::Row,
        LeftOut::Value(axis) => slices.axes.get(axis).map_or(Hidden::Row, |name| Hidden::Axis(name)),
        LeftOut::Configuration => Hidden::Configuration,
    }
}

fn of_trial(slices: &Slices, trial: perfdb_model::predict::Trial) -> Trial {
    let Estimate { duration_us, low_us, high_us, class } = trial.estimate;
    Trial {
        line: trial.row,
        hidden: hidden_of(slices, trial.left_out),
        measured_us: trial.measured_us,
        predicted_us: duration_us,
        interval_us: [low_us, high_us],
        class,
    }
}
