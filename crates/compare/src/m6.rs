//! M6, the empirical end-to-end prediction ratio: time the simulator took from measurements over measured time, as `compute_m6.py` of
//! msmodeling defines it.

use crate::error::{Error, Outcome, Warning};
use crate::event::{EventFault, check_args, duration_us};
use crate::fold::fold_trace;
use crate::profile::{GroupingPolicy, Kernel, KernelTotals, NoGroup, read_profile};
use crate::{Semantics, side_by_side};
use perfdb_trace::chrome::Event;
use perfdb_trace::scan::Value;
use std::path::Path;

/// Which events count: those whose `source` is one of these names, which are kept in code-point order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFilter(Vec<String>);

impl Default for SourceFilter {
    /// `INTERPOLATED` and `MEASURED`.
    fn default() -> Self {
        SourceFilter::of(["INTERPOLATED", "MEASURED"])
    }
}

impl SourceFilter {
    /// Names separated by commas; an empty text is the default. An empty name matches events without a source.
    pub fn parse(names: &str) -> SourceFilter {
        if names.is_empty() {
            return SourceFilter::default();
        }
        SourceFilter::of(names.split(',').map(perfdb_pycompat::text::trim))
    }

    fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> SourceFilter {
        let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        names.sort();
        names.dedup();
        SourceFilter(names)
    }

    /// The names in code-point order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    fn matches(&self, source: Option<Value<'_>>) -> Result<bool, EventFault> {
        match source {
            None => Ok(self.0.iter().any(String::is_empty)),
            Some(Value::Text(text)) => Ok(self.0.iter().any(|name| text.is(name))),
            Some(Value::List(_) | Value::Object(_)) => Err(EventFault::Structured("source")),
            Some(_) => Ok(false),
        }
    }
}

/// The ratio and what it is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct M6 {
    /// `empirical_us / real_us`, 0 unless there is real time.
    pub ratio: f64,
    /// Time of the simulated operators that the filter lets pass, in microseconds.
    pub empirical_us: f64,
    /// Time of the measured forward pass, in microseconds.
    pub real_us: f64,
    /// The part of it that is no collective.
    pub compute_us: f64,
    /// The part of it that is collectives.
    pub collective_us: f64,
}

impl M6 {
    /// From sums in microseconds.
    pub fn from_sums(empirical_us: f64, compute_us: f64, collective_us: f64) -> M6 {
        let real_us = compute_us + collective_us;
        let ratio = if real_us > 0.0 { empirical_us / real_us } else { 0.0 };
        M6 { ratio, empirical_us, real_us, compute_us, collective_us }
    }

    /// Whether the (unrounded) ratio is at least `low` and at most `high`.
    pub fn is_within(&self, low: f64, high: f64) -> bool {
        low <= self.ratio && self.ratio <= high
    }
}

/// M6 of durations that the simulator took from measurements, and of measured kernels, both in file order.
///
/// ```
/// use perfdb_compare::{Semantics, m6::m6, profile::Kernel};
///
/// let kernel = |kernel_type, start_us, duration_us| Kernel { kernel_type, shape_key: "", start_us, duration_us };
/// let measured = [kernel("MatMulV2", 0.0, 60.0), kernel("hcom_allReduce_", 60.2, 40.0), kernel("hcom_allReduce_", 60.9, 39.0)];
/// assert_eq!(m6([60.0, 35.0], measured, Semantics::Upstream).unwrap().ratio, 0.95);
/// ```
///
/// # Errors
/// When a collective has no finite start.
pub fn m6<'k>(
    empirical_us: impl IntoIterator<Item = f64>,
    kernels: impl IntoIterator<Item = Kernel<'k>>,
    semantics: Semantics,
) -> Result<M6, NoGroup> {
    let mut totals = KernelTotals::new(GroupingPolicy::m6(semantics));
    for kernel in kernels {
        totals.add(kernel)?;
    }
    let empirical_us = empirical_us.into_iter().fold(0.0, |sum, duration_us| sum + duration_us);
    Ok(M6::from_sums(empirical_us, totals.compute_us(), totals.collective_us()))
}

/// How to compute M6.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Which simulated operators count.
    pub source_filter: SourceFilter,
    /// Which faults of the original are kept.
    pub semantics: Semantics,
}

/// M6 of a simulator's trace and a forward-pass CSV, read side by side.
///
/// # Errors
/// When one of the files is missing (the trace is looked for first), can't be read, or holds what can't be used.
pub fn compare_files(trace: &Path, profile: &Path, options: &Options) -> Result<Outcome<M6>, Error> {
    for path in [trace, profile] {
        let missing = |source| perfdb_trace::Error::Io { path: path.to_owned(), source };
        std::fs::metadata(path).map_err(missing)?;
    }
    let policy = GroupingPolicy::m6(options.semantics);
    let measured = profile;
    let (empirical, profile) =
        side_by_side(|threads| empirical(trace, &options.source_filter, threads), || read_profile(measured, policy));
    let (empirical, profile) = (empirical?, profile?);
    let mut warnings = Vec::new();
    if empirical.events == 0 {
        let sources = options.source_filter.names().map(str::to_owned).collect();
        warnings.push(Warning::NoEmpiricalEvent { path: trace.to_owned(), sources });
    }
    let totals = profile.result;
    let result = M6::from_sums(empirical.total_us, totals.compute_us(), totals.collective_us());
    // Missing columns are the reason where there is a warning of them already.
    let is_explained = profile.warnings.iter().any(|warning| !matches!(warning, Warning::SeveralPasses { .. }));
    if result.real_us == 0.0 && !is_explained {
        warnings.push(Warning::NoMeasuredTime { path: measured.to_owned() });
    }
    warnings.extend(profile.warnings);
    Ok(Outcome { result, warnings })
}

const SOURCE: usize = 0;
const KERNEL_TYPE: usize = 1;

/// The simulated side.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Empirical {
    /// Sum of the durations in microseconds.
    pub total_us: f64,
    /// Number of events in it.
    pub events: u64,
}

/// Sums all X events that the filter lets pass, that have a kernel type and a positive duration.
///
/// # Errors
/// When the trace can't be read or an event has fields of unusable types.
pub fn empirical(trace: &Path, filter: &SourceFilter, threads: usize) -> Result<Empirical, Error> {
    let collect = |durations_us: &mut Vec<f64>, event: &Event<'_>| {
        durations_us.extend(empirical_duration_us(event, filter)?);
        Ok(())
    };
    let add = |sum: &mut Empirical, durations_us: Vec<f64>| {
        sum.events += durations_us.len() as u64;
        sum.total_us = durations_us.iter().fold(sum.total_us, |sum, duration_us| sum + duration_us);
    };
    Ok(fold_trace(trace, &["source", "kernel_type"], threads, Empirical::default, collect, add)?.value)
}

#[inline]
fn empirical_duration_us(event: &Event<'_>, filter: &SourceFilter) -> Result<Option<f64>, EventFault> {
    if !event.has_phase("X") {
        return Ok(None);
    }
    check_args(event)?;
    if !filter.matches(event.arg(SOURCE))? {
        return Ok(None);
    }
    let duration = duration_us(event);
    // An integer too large for a sum may still be negative, or belong to an operator without a kernel.
    if let Some(number) = event.duration()
        && matches!(duration, Err(EventFault::TooLarge(_)))
        && number.text().starts_with('-')
    {
        return Ok(None);
    }
    let counts = event.arg(KERNEL_TYPE).is_some_and(|kernel_type| kernel_type.is_truthy());
    match duration {
        Err(EventFault::TooLarge(_)) if !counts => Ok(None),
        // Not `> 0`: what is not a number counts.
        Ok(duration_us) if duration_us <= 0.0 || !counts => Ok(None),
        other => other.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters() {
        let names = |text: &str| SourceFilter::parse(text).names().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(names(""), ["INTERPOLATED", "MEASURED"]);
        assert_eq!(names("MEASURED,"), ["", "MEASURED"]);
        assert_eq!(names(" MEASURED , NOPE ,INTERPOLATED,MEASURED"), ["INTERPOLATED", "MEASURED", "NOPE"]);
        assert_eq!(names(" "), [""]);
    }

    #[test]
    fn no_real_time_is_ratio_zero() {
        assert_eq!(M6::from_sums(5.0, 0.0, 0.0).ratio, 0.0);
        assert_eq!(M6::from_sums(5.0, -1.0, 0.5).ratio, 0.0);
        assert_eq!(M6::from_sums(5.0, f64::NAN, 0.5).ratio, 0.0);
    }

    #[test]
    fn limits_are_inclusive_and_not_a_number_is_outside() {
        let m6 = M6::from_sums(9.0, 10.0, 0.0);
        assert!(m6.is_within(0.9, 1.1) && m6.is_within(0.5, 0.9) && !m6.is_within(0.91, 1.1));
        let odd = M6 { ratio: f64::NAN, ..m6 };
        assert!(!odd.is_within(f64::MIN, f64::MAX));
    }
}
