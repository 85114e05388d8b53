//! From two files to an explanation.

use super::call::Book;
use super::interval::{self, Interval};
use super::layers::{Layers, layers};
use super::measured::read_measured;
use super::predicted::read_predicted;
use super::side_by_side::BothSides;
use super::timeline::{Timelines, timeline};
use super::{Attribution, Contexts, Families, Passes, split};
use crate::error::{Error, Outcome, Warning};
use crate::phase::phase;
use crate::scenario::{Scenario, in_order, scenario_span};
use crate::side_by_side;
use bitcode::{Decode, Encode};
use perfdb_query::Reader;
use perfdb_store::op_mapping::OpMapping;
use perfdb_trace::sequence::{Kernel, Sequence, find_passes};
use serde::Serialize;
use std::path::Path;

/// How to explain a prediction.
#[derive(Debug, Clone, Default)]
pub struct Options<'m> {
    /// What operators map to, if that is known.
    pub mapping: Option<&'m OpMapping>,
    /// How many passes the measured side holds.
    pub passes: Passes,
    /// Kernel types whose families the user gives.
    pub families: Families,
    /// A database with intervals for predicted times; the reader with the semantics `best`.
    pub database: Option<&'m Reader>,
}

/// The whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct Explanation {
    /// The difference and its parts.
    #[serde(flatten)]
    pub attribution: Attribution,
    /// The predicted pass as a database predicts it, where there is one that answers some of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// What M6 is: time from measurements over measured time.
    pub m6: f64,
    /// How predicted time and M6 hang together.
    pub reconcile: Reconciliation,
    /// Both sides on the clock.
    pub timeline: Timelines,
    /// Both sides cut into layers.
    pub layers: Option<Layers>,
}

/// `predicted = m6_hit + composite_rounding + not_in_m6`, and what the measured side contributions out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Encode, Decode)]
pub struct Reconciliation {
    /// Time that M6 counts.
    pub m6_hit_ps: i128,
    /// Parts of composite operators less the durations of their events.
    pub composite_rounding_ps: i128,
    /// Predicted time that does not come from measurements.
    pub not_in_m6_ps: i128,
    /// Events that stand for no kernel.
    pub free_events: u64,
    /// Measured rows of collectives that are listed more than once.
    pub doubled_rows: u64,
    /// Measured AICPU rows.
    pub aicpu_rows: u64,
    /// Their time.
    pub aicpu_ps: i128,
}

/// Explains the difference between a simulator's trace and a forward-pass CSV, which are read side by side.
///
/// # Errors
/// When one of the files can't be read or holds what can't be used; the trace's error goes first.
pub fn explain_files(trace: &Path, profile: &Path, options: &Options<'_>) -> Result<Outcome<Explanation>, Error> {
    Ok(explain_files_and_show(trace, profile, options, |_, _| ())?.0)
}

/// [`explain_files`], and what `show` makes of the calls of both sides.
///
/// # Errors
/// As [`explain_files`].
pub fn explain_files_and_show<S>(
    trace: &Path,
    profile: &Path,
    options: &Options<'_>,
    show: impl FnOnce(&Explanation, BothSides<'_>) -> S,
) -> Result<(Outcome<Explanation>, S), Error> {
    let none = OpMapping::default();
    let mapping = options.mapping.unwrap_or(&none);
    let (predicted, measured) =
        side_by_side(|threads| read_predicted(trace, mapping, threads), || read_measured(profile, &[]));
    let (mut predicted, mut measured) = (predicted?, measured?);
    let mut warnings = std::mem::take(&mut predicted.warnings);
    warnings.append(&mut measured.warnings);
    let mut families = options.families.clone();
    families.learn(mapping);
    let mut book = Book::new(predicted.calls, measured.calls);
    tracing::info!(
        "{} predicted and {} measured calls of {} kernel types and shapes",
        book.predicted.len(),
        book.measured.len(),
        book.group_count
    );
    if let Some(reader) = options.database {
        book.estimates = phase("asking the database", || interval::estimates(&book, trace, reader))?;
    }
    if options.passes == Passes::default() {
        warnings.extend(several_passes(&book, measured.steps, profile));
    }
    let layers = phase("comparing layers", || layers(&book, options.passes, &families));
    let predicted_layers = layers.as_ref().map(|layers| layers.predicted_layers);
    let attribution = phase("splitting the difference", || {
        let (predicted, measured) = (&book.predicted, &book.measured);
        split(&book, predicted, measured, options.passes, &families, Contexts::Used, predicted_layers)
    });
    let measured_ps: i128 = book.measured.iter().map(|call| i128::from(call.duration_ps)).sum();
    let m6 = match measured_ps {
        0 => 0.0,
        _ => predicted.m6_hit_ps as f64 * options.passes.value() / measured_ps as f64,
    };
    let reconcile = Reconciliation {
        m6_hit_ps: predicted.m6_hit_ps,
        composite_rounding_ps: predicted.composite_rounding_ps,
        not_in_m6_ps: attribution.predicted_ps - predicted.m6_hit_ps - predicted.composite_rounding_ps,
        free_events: predicted.free_events,
        doubled_rows: measured.doubled_rows,
        aicpu_rows: measured.aicpu_rows,
        aicpu_ps: measured.aicpu_ps,
    };
    let timeline = Timelines { predicted: timeline(&book.predicted), measured: timeline(&book.measured) };
    let result = Explanation { attribution, interval: interval::of_pass(&book), m6, reconcile, timeline, layers };
    let shown = show(&result, BothSides { book: &book, passes: options.passes, families: &families });
    Ok((Outcome { result, warnings }, shown))
}

/// A warning when the measured side holds several passes, told apart as [`Cut`](crate::cut::Cut) does.
fn several_passes(book: &Book, steps: usize, profile: &Path) -> Option<Warning> {
    let count = || if steps > 1 { steps } else { 1 + find_passes(&MeasuredSequence(book)).starts.len() };
    let passes = phase("counting passes", count);
    (passes > 1).then(|| Warning::SeveralPasses { path: profile.to_owned(), passes, at_least: false })
}

/// The measured calls as a sequence of kernel types.
pub(super) struct MeasuredSequence<'b>(pub(super) &'b Book);

impl Sequence for MeasuredSequence<'_> {
    fn len(&self) -> usize {
        self.0.measured.len()
    }

    fn kernel(&self, at: usize) -> Kernel {
        let call = &self.0.measured[at];
        let symbol = self.0.keys(call).canonical_type;
        Kernel { symbol, start_ps: call.start_ps, duration_ps: call.duration_ps }
    }
}

/// The attribution of two files without mapping, for one pass.
pub(crate) fn attribution_of_files(trace: &Path, profile: &Path) -> Result<Outcome<Attribution>, Error> {
    let mapping = OpMapping::default();
    let (predicted, measured) =
        side_by_side(|threads| read_predicted(trace, &mapping, threads), || read_measured(profile, &["Input Shapes"]));
    let (mut predicted, mut measured) = (predicted?, measured?);
    let mut warnings = std::mem::take(&mut predicted.warnings);
    warnings.append(&mut measured.warnings);
    let book = Book::new(predicted.calls, measured.calls);
    warnings.extend(several_passes(&book, measured.steps, profile));
    let families = Families::default();
    let attribution = split(&book, &book.predicted, &book.measured, Passes::default(), &families, Contexts::Used, None);
    Ok(Outcome { result: attribution, warnings })
}

/// Explains all scenarios, `jobs` at a time, each with its own number of passes. `each` gets names and results in the order of the
/// scenarios.
pub fn explain_scenarios(
    scenarios: &[Scenario],
    options: &Options<'_>,
    jobs: usize,
    mut each: impl FnMut(&str, Result<Outcome<Explanation>, Error>),
) {
    let explain = |scenario: &Scenario| {
        let _span = scenario_span(&scenario.name);
        let number = scenario.forward_passes.read()?;
        let passes =
            Passes::of_double(number).ok_or_else(|| Error::ForwardPasses { name: scenario.name.clone(), number })?;
        let options = Options { passes, ..options.clone() };
        explain_files(&scenario.tc_trace, &scenario.trace_csv, &options)
    };
    let mut names = scenarios.iter().map(|scenario| scenario.name.as_str());
    in_order(scenarios, jobs, explain, |result| each(names.next().unwrap_or_default(), result));
}
