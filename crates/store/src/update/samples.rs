//! The samples of each case in a profile.

use crate::columns::{BASE, EP_SIZE, MEASURED_DURATION, METRICS, base, measured_metric};
use crate::signature::{Cells, Signature};
use indexmap::IndexMap;
use perfdb_pycompat::format::push_fixed;
use perfdb_pycompat::text::trim;
use rustc_hash::FxBuildHasher;

/// The measurements of one case.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The base cells of the first measurement, trimmed; the core is its task type.
    pub(super) base: BaseCells,
    pub(super) minimum_us: f64,
    pub(super) metric_sums: [f64; METRICS.len()],
    pub(super) count: u64,
    pub(super) durations_us: Vec<f64>,
    pub(super) ep_size: Option<i64>,
    /// The measurements by their exact cells, where the signature takes different ones for one case.
    pub(super) variants: OperatorSamples,
}

impl Sample {
    /// Where it was measured: the `Task Type` of the first measurement.
    pub fn task_type(&self) -> &str {
        self.base.get(base::CORE)
    }

    /// Number of measurements.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All durations in order, if they were [kept](super::AggregateOptions::keep_durations).
    pub fn durations_us(&self) -> &[f64] {
        &self.durations_us
    }

    /// Takes further measurements of the case in.
    pub(super) fn add(&mut self, other: &Sample) {
        self.count += other.count;
        self.minimum_us = self.minimum_us.min(other.minimum_us);
        for (sum, value) in self.metric_sums.iter_mut().zip(other.metric_sums) {
            *sum += value;
        }
        self.durations_us.extend(&other.durations_us);
    }

    /// The case for people.
    pub fn text_form(&self) -> String {
        self.cells("").text_form()
    }

    pub(super) fn cells<'a>(&'a self, ep_size: &'a str) -> Cells<'a> {
        Cells {
            input_shapes: self.base.get(base::INPUT_SHAPES),
            input_types: self.base.get(base::INPUT_TYPES),
            input_formats: self.base.get(base::INPUT_FORMATS),
            output_shapes: self.base.get(base::OUTPUT_SHAPES),
            output_types: self.base.get(base::OUTPUT_TYPES),
            ep_size,
        }
    }

    pub(super) fn ep_size_text(&self) -> String {
        self.ep_size.map(|size| size.to_string()).unwrap_or_default()
    }

    /// Appends the duration as a cell.
    pub(super) fn push_duration(&self, out: &mut String) {
        push_fixed(out, self.minimum_us, 6);
    }

    /// Appends the mean of a metric as a cell.
    pub(super) fn push_metric(&self, metric: usize, out: &mut String) {
        let mean = self.metric_sums.get(metric).map_or(0.0, |sum| sum / self.count as f64);
        push_fixed(out, if mean.is_finite() { mean } else { 0.0 }, 6);
    }

    /// The text of a column of a new row, appended; nothing for a column that a sample has not.
    pub(super) fn push_column(&self, column: SampleColumn, out: &mut String) {
        match column {
            SampleColumn::Base(at) => out.push_str(self.base.get(at)),
            SampleColumn::Duration => self.push_duration(out),
            SampleColumn::EpSize => out.push_str(&self.ep_size_text()),
            SampleColumn::Metric(metric) => self.push_metric(metric, out),
            SampleColumn::Absent => {}
        }
    }
}

/// What a sample has for a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SampleColumn {
    Base(usize),
    Duration,
    EpSize,
    Metric(usize),
    Absent,
}

impl SampleColumn {
    pub(super) fn of(name: &str) -> SampleColumn {
        if let Some(at) = BASE.iter().position(|base| *base == name) {
            return SampleColumn::Base(at);
        }
        match name {
            MEASURED_DURATION => SampleColumn::Duration,
            EP_SIZE => SampleColumn::EpSize,
            _ => METRICS
                .iter()
                .position(|metric| measured_metric(metric) == name)
                .map_or(SampleColumn::Absent, SampleColumn::Metric),
        }
    }
}

/// Eight texts in one piece of memory.
#[derive(Debug, Clone, Default)]
pub(super) struct BaseCells {
    text: Box<str>,
    ends: [u32; BASE.len()],
}

impl BaseCells {
    pub(super) fn new<'a>(cells: [std::borrow::Cow<'a, str>; BASE.len()]) -> Self {
        let cells = cells.each_ref().map(|cell| trim(cell));
        let mut text = String::with_capacity(cells.iter().map(|cell| cell.len()).sum());
        let mut ends = [0; BASE.len()];
        for (end, cell) in ends.iter_mut().zip(cells) {
            text.push_str(cell);
            *end = u32::try_from(text.len()).unwrap_or(u32::MAX);
        }
        BaseCells { text: text.into_boxed_str(), ends }
    }

    pub(super) fn get(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        self.text.get(start as usize..self.ends[at] as usize).unwrap_or_default()
    }
}

pub(super) type OperatorSamples = IndexMap<Signature, Sample, FxBuildHasher>;

/// The samples of a profile, by operator and case, in order of first appearance.
#[derive(Debug, Default)]
pub struct Samples {
    pub(super) by_operator: IndexMap<String, OperatorSamples>,
    /// Rows of the summaries that are not a measurement.
    pub ignored_rows: u64,
    /// Files that break off inside a quoted cell, taken as they stand: where the quote opens.
    pub open_quotes: Vec<(std::path::PathBuf, u64)>,
}

impl Samples {
    /// Keeps the operators that are selected, and those whose measurements fit selected ones.
    pub fn retain_operators(&mut self, selected: &[String]) {
        let wanted = |operator: &str| {
            let operator = crate::kernel::operator_name(operator);
            selected
                .iter()
                .any(|name| name == operator || crate::registry::siblings(name).any(|sibling| sibling == operator))
        };
        self.by_operator.retain(|operator, _| wanted(operator));
    }

    /// Names of the operators, in order.
    pub fn operators(&self) -> impl Iterator<Item = &str> {
        self.by_operator.keys().map(String::as_str)
    }

    /// Every sample with its operator and signature, in order of first appearance within its operator.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Signature, &Sample)> {
        self.by_operator.iter().flat_map(|(operator, samples)| {
            samples.iter().map(move |(signature, sample)| (operator.as_str(), signature, sample))
        })
    }

    pub(super) fn of(&self, operator: &str) -> impl Iterator<Item = (&Signature, &Sample)> {
        self.by_operator.get(operator).into_iter().flatten()
    }
}
