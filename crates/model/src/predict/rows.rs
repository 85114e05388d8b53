//! Measured rows of a slice, in an order that does not depend on that of the file.

use crate::predict::point::{Coupling, MOST_AXES, Point, mix};
use crate::roofline::{Terms, Work};

/// The measured rows of one slice: rows that agree in everything that is not an axis.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    axis_count: usize,
    axes: Vec<f64>,
    measured: Vec<Measured>,
    rejected: Vec<u32>,
    /// That of all points ([`Point::coupling`]).
    coupling: &'static [Coupling],
    /// That of all points ([`Point::terms`]).
    terms: Terms,
}

/// All about a row but its axes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) work: Work,
    pub(crate) other_work: Option<Work>,
    pub(crate) configuration: u64,
    pub(crate) time_us: f64,
    /// The standard deviation of its logarithm; NaN where it is not known.
    pub(crate) spread: f32,
    pub(crate) row: u32,
}

impl Rows {
    /// No rows yet, of this many axes.
    ///
    /// # Panics
    /// With more than [`MOST_AXES`] axes.
    pub fn new(axis_count: usize) -> Rows {
        assert!(axis_count <= MOST_AXES, "{axis_count} axes; at most {MOST_AXES} are compared");
        Rows { axis_count, ..Rows::default() }
    }

    /// Adds a row: its number, its point, how long it took, and the standard deviation of that where it is known.
    ///
    /// A row whose time is not positive and finite, or whose point is not finite, is passed over; [`rejected`](Self::rejected) tells.
    pub fn push(&mut self, row: u32, point: &Point, time_us: f64, deviation_us: Option<f64>) {
        let is_usable = time_us > 0.0
            && time_us.is_finite()
            && point.axes.len() == self.axis_count
            && point.axes.iter().all(|value| value.is_finite() && *value >= 0.0)
            && point.work.operations.is_finite()
            && point.work.bytes.is_finite();
        if !is_usable {
            self.rejected.push(row);
            return;
        }
        self.axes.extend(point.axes.iter().map(|value| value + 0.0));
        self.coupling = point.coupling;
        self.terms = point.terms;
        let relative =
            deviation_us.filter(|deviation| *deviation >= 0.0).map(|deviation| log_deviation(deviation / time_us));
        self.measured.push(Measured {
            work: point.work,
            other_work: point.other_work,
            configuration: point.configuration,
            time_us,
            spread: relative.filter(|spread| spread.is_finite()).map_or(f32::NAN, |spread| spread as f32),
            row,
        });
    }

    /// How many rows can be used.
    pub fn len(&self) -> usize {
        self.measured.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.measured.is_empty()
    }

    /// Whether the rows differ on an axis.
    pub fn varies(&self, axis: usize) -> bool {
        let mut values = self.axes.iter().skip(axis).step_by(self.axis_count.max(1));
        let first = values.next();
        values.any(|value| Some(value) != first)
    }

    /// Whether a point has the axes of the rows, and numbers that can be compared.
    pub(crate) fn can_hold(&self, point: &Point) -> bool {
        point.axes.len() == self.axis_count && point.axes.iter().all(|value| value.is_finite() && *value >= 0.0)
    }

    /// The axes of the rows, in the order in which they were added.
    pub(crate) fn axes(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.len()).map(|index| &self.axes[index * self.axis_count..(index + 1) * self.axis_count])
    }

    /// How many points the rows have: repeats are one.
    pub(crate) fn points(&self) -> usize {
        let mut axes: Vec<&[f64]> = self.axes().collect();
        axes.sort_unstable_by(|a, b| {
            a.iter()
                .zip(*b)
                .map(|(a, b)| a.total_cmp(b))
                .find(|order| order.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        axes.dedup();
        axes.len()
    }

    /// The numbers of the rows that were passed over.
    pub fn rejected(&self) -> &[u32] {
        &self.rejected
    }

    /// One entry for each point, ordered by point: repeats are one row with their median.
    pub(crate) fn settle(self) -> Settled {
        let Rows { axis_count, axes, measured, coupling, terms, .. } = self;
        let axes_of = |index: usize| &axes[index * axis_count..(index + 1) * axis_count];
        let by_place = |a: usize, b: usize| {
            let pairs = axes_of(a).iter().zip(axes_of(b));
            let order = pairs.map(|(x, y)| x.total_cmp(y)).find(|order| order.is_ne());
            order.unwrap_or(measured[a].configuration.cmp(&measured[b].configuration))
        };
        let mut order: Vec<usize> = (0..measured.len()).collect();
        order.sort_unstable_by(|a, b| {
            by_place(*a, *b)
                .then(measured[*a].time_us.total_cmp(&measured[*b].time_us))
                .then(measured[*a].row.cmp(&measured[*b].row))
        });
        let mut settled =
            Settled { axis_count, coupling, terms, axes: Vec::with_capacity(axes.len()), measured: Vec::new() };
        for repeats in order.chunk_by(|a, b| by_place(*a, *b).is_eq()) {
            settled.axes.extend_from_slice(axes_of(repeats[0]));
            settled.measured.push(median(repeats, &measured));
        }
        settled
    }
}

/// The standard deviation of the logarithm of a duration, from that of the duration over its mean: that of a log-normal distribution.
pub fn log_deviation(relative: f64) -> f64 {
    (relative * relative).ln_1p().sqrt()
}

/// Repeats of one call, sorted by time, as one.
fn median(repeats: &[usize], measured: &[Measured]) -> Measured {
    let middle = measured[repeats[repeats.len() / 2]];
    if repeats.len() < 2 {
        return middle;
    }
    let below = measured[repeats[(repeats.len() - 1) / 2]];
    let time_us = (middle.time_us + below.time_us) / 2.0;
    let count = repeats.len() as f64;
    let squares = repeats.iter().map(|index| (measured[*index].time_us / time_us).ln().powi(2));
    let spread = (squares.sum::<f64>() / (count - 1.0)).sqrt() as f32;
    let row = repeats.iter().map(|index| measured[*index].row).min().unwrap_or(middle.row);
    Measured { time_us, spread, row, ..middle }
}

/// Rows without repeats, ordered by point.
#[derive(Debug)]
pub(crate) struct Settled {
    axis_count: usize,
    pub(crate) coupling: &'static [Coupling],
    pub(crate) terms: Terms,
    axes: Vec<f64>,
    pub(crate) measured: Vec<Measured>,
}

impl Settled {
    pub(crate) fn axis_count(&self) -> usize {
        self.axis_count
    }

    pub(crate) fn axes(&self, index: usize) -> &[f64] {
        &self.axes[index * self.axis_count..(index + 1) * self.axis_count]
    }

    /// The points but some, which are given in order.
    pub(crate) fn without(&self, hidden: &[usize]) -> Rows {
        let mut rows = Rows { coupling: self.coupling, terms: self.terms, ..Rows::new(self.axis_count) };
        for (index, row) in self.measured.iter().enumerate().filter(|(index, _)| hidden.binary_search(index).is_err()) {
            rows.axes.extend_from_slice(self.axes(index));
            rows.measured.push(*row);
        }
        rows
    }
}

/// Some of `count` things, always the same ones, in order.
pub(crate) fn choose(count: usize, most: usize, seed: u64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    if count > most {
        all.sort_by_cached_key(|index| mix(mix(seed) ^ *index as u64));
        all.truncate(most);
        all.sort_unstable();
    }
    all
}
