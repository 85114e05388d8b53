//! What the predictions of a database are worth: its rows, predicted from each other.

mod outliers;
mod repeats;
mod score;

pub use outliers::{Outlier, outliers};
pub use repeats::{Drift, Repeats};
pub use score::Score;

use crate::answer::Miss;
use crate::between::{Learnt, learnt};
use crate::semantics::ReaderSemantics;
use crate::state::State;
use perfdb_parallel::on_all_cores;
use perfdb_predict::{Class, Estimate, LeftOut, Place, Rows, Trials};
use rayon::prelude::*;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The table of a kernel type, its rows left out and predicted from the others as under [`ReaderSemantics::Best`].
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The kernel type.
    pub kernel_type: Arc<str>,
    /// The file.
    pub path: Arc<Path>,
    /// How many rows have a duration.
    pub rows: usize,
    /// How many of them questions between rows pass over: a cell that is needed is missing or cannot be read.
    pub passed_over: usize,
    /// Sets of rows that agree in everything but sizes: only rows of one set tell something about each other.
    pub slices: usize,
    /// How many rows are the only place of their slice, so that nothing tells what is near them.
    pub alone: usize,
    /// One for each row and what was left out.
    pub trials: Vec<Trial>,
    /// Rows of one place, where there are several, in the order of their first lines.
    pub repeats: Vec<Repeats>,
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

/// Rows of a table that agree in everything but sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// What the axes of the places mean.
    pub axes: Vec<&'static str>,
    /// That along which calls grow.
    pub size: usize,
    /// The rows: place, line in the file, duration in microseconds.
    pub places: Vec<(Place, u32, f64)>,
}

/// What the slices of a kernel type are of.
struct Sliced {
    kernel_type: Arc<str>,
    path: Arc<Path>,
    row_count: usize,
    slices: Vec<Slice>,
}

/// The slices of a kernel type; `None` if there is no table of it.
pub(crate) fn slices(state: &State, kernel_type: &str) -> Result<Option<Vec<Slice>>, Miss> {
    Ok(sliced(state, kernel_type)?.map(|sliced| sliced.slices))
}

fn sliced(state: &State, kernel_type: &str) -> Result<Option<Sliced>, Miss> {
    let slot = state.slot(kernel_type);
    if kernel_type.starts_with("hcom_") {
        let Some(table) = state.collective(slot)? else { return Ok(None) };
        let slice = |tier| Slice {
            axes: vec!["message_bytes", "num_devices"],
            size: 0,
            places: table.places(tier).map(|(place, row)| (place, row.line, row.duration_us)).collect(),
        };
        return Ok(Some(Sliced {
            kernel_type: table.kernel_type.clone(),
            path: table.path().clone(),
            row_count: table.row_count(),
            slices: table.tiers().into_iter().map(slice).collect(),
        }));
    }
    let Some(table) = state.rows(slot)? else { return Ok(None) };
    let slice = |learnt: Learnt| Slice {
        axes: learnt.axes.to_vec(),
        size: learnt.size,
        places: learnt
            .places
            .into_iter()
            .map(|(place, point)| (place, table.row(point.row).reference().line, point.duration_us))
            .collect(),
    };
    Ok(Some(Sliced {
        kernel_type: table.kernel_type.clone(),
        path: table.path().into(),
        row_count: table.rows().count(),
        slices: learnt(ReaderSemantics::Best.rules(), &state.mapping, table).into_iter().map(slice).collect(),
    }))
}

/// Evaluates the table of a kernel type; `None` if there is none.
pub(crate) fn evaluate(state: &State, kernel_type: &str) -> Result<Option<Evaluation>, Miss> {
    Ok(sliced(state, kernel_type)?.map(of_slices))
}

fn of_slices(sliced: Sliced) -> Evaluation {
    let Sliced { kernel_type, path, row_count: rows, slices } = sliced;
    let placed: usize = slices.iter().map(|slice| slice.places.len()).sum();
    let repeats = repeats::find(slices.iter().map(|slice| slice.places.as_slice()));
    let tried: Vec<(&Slice, Trials)> = slices
        .iter()
        .filter(|slice| !slice.places.is_empty())
        .map(|slice| {
            let mut rows = Rows::new(slice.axes.len());
            slice.places.iter().for_each(|(place, line, us)| rows.push(*line, place, *us, None));
            (slice, Trials::of(rows, Some(slice.size)))
        })
        .collect();
    let alone = tried.iter().filter(|(_, trials)| trials.rounds() == 0).map(|(slice, _)| slice.places.len()).sum();
    let rounds: Vec<(&Slice, &Trials, usize)> = tried
        .iter()
        .flat_map(|(slice, trials)| (0..trials.rounds()).map(move |round| (*slice, trials, round)))
        .collect();
    let trials: Vec<Vec<Trial>> = on_all_cores(|| {
        let run = |(slice, trials, round): (&Slice, &Trials, usize)| -> Vec<Trial> {
            trials.run(round).into_iter().map(|trial| of_trial(slice, trial)).collect()
        };
        rounds.into_par_iter().map(run).collect()
    });
    Evaluation {
        kernel_type,
        path,
        rows,
        passed_over: rows.saturating_sub(placed),
        slices: tried.len(),
        alone,
        trials: trials.into_iter().flatten().collect(),
        repeats,
    }
}

fn of_trial(slice: &Slice, trial: perfdb_predict::Trial) -> Trial {
    let Estimate { duration_us, low_us, high_us, class } = trial.estimate;
    let hidden = match trial.left_out {
        LeftOut::Row => Hidden::Row,
        LeftOut::Value(axis) => slice.axes.get(axis).map_or(Hidden::Row, |name| Hidden::Axis(name)),
        LeftOut::Configuration => Hidden::Configuration,
    };
    Trial {
        line: trial.row,
        hidden,
        measured_us: trial.measured_us,
        predicted_us: duration_us,
        interval_us: [low_us, high_us],
        class,
    }
}
