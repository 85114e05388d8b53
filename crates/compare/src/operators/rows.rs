//! The rows of the comparison, from the sums of both sides.

use super::totals::Predicted;
use crate::profile::Total;
use bitcode::{Decode, Encode};
use indexmap::IndexMap;
use perfdb_pycompat::float::{round, round_to_integer};
use std::collections::BTreeSet;

/// A number of a row. A side without the kernel type, or a percentage without a base, is the *integer* 0, which is written
/// `0`; a double of the same value is written `0.0`.
#[derive(Debug, Clone, Copy, PartialEq, Encode, Decode)]
pub enum Number {
    /// The integer 0.
    Zero,
    /// A double.
    Double(f64),
}

impl Number {
    /// The value.
    pub fn value(self) -> f64 {
        match self {
            Number::Zero => 0.0,
            Number::Double(value) => value,
        }
    }
}

/// What the predicted side knows of a kernel type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum RowStatus {
    /// All its operators were found in the database.
    Hit,
    /// None was.
    Miss,
    /// Some were.
    Partial,
    /// The simulator has no operator for it.
    Unmodelled,
    /// All its operators were found in the database, and it was never measured.
    PredictedOnly,
}

impl RowStatus {
    /// The text in tables, as the original has it.
    pub fn text(self) -> &'static str {
        match self {
            RowStatus::Hit => "HIT",
            RowStatus::Miss => "MISS",
            RowStatus::Partial => "PARTIAL",
            RowStatus::Unmodelled => "TC未建模",
            RowStatus::PredictedOnly => "PREDICTED_ONLY",
        }
    }

    /// The text in English.
    pub fn english(self) -> &'static str {
        match self {
            RowStatus::Unmodelled => "NOT_MODELLED",
            other => other.text(),
        }
    }
}

/// One kernel type of a scenario. Times are per forward pass, in microseconds, rounded to one decimal like percentages.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct OpRow {
    /// The kernel type.
    pub kernel_type: String,
    /// The first three operators that predict it, joined with `, `.
    pub tc_funcs: String,
    /// Predicted time.
    pub tc_total_us: Number,
    /// Predicted number of kernels.
    pub tc_count: u64,
    /// Measured time.
    pub prof_per_fwd_us: Number,
    /// Measured number of kernels: an integer.
    pub prof_count: f64,
    /// (predicted − measured) / measured time, in percent.
    pub error_pct: Number,
    /// (predicted − measured) / measured count, in percent.
    pub count_error_pct: Number,
    /// What the predicted side knows.
    pub status: RowStatus,
}

impl OpRow {
    /// Whether the kernel type is predicted to take time and has no measured time to compare it with. Its percentages are
    /// the integer 0 then, which says nothing of it.
    pub fn is_predicted_only(&self) -> bool {
        let no_error = self.error_pct == Number::Zero || self.status == RowStatus::PredictedOnly;
        no_error && self.tc_total_us.value() > 0.0
    }

    /// Says of a kernel type that was found and never measured what it is, instead of an error of 0.
    pub(crate) fn mark_predicted_only(&mut self) {
        if self.status == RowStatus::Hit && self.is_predicted_only() {
            self.status = RowStatus::PredictedOnly;
            self.error_pct = Number::Double(f64::INFINITY);
        }
    }

    /// Predicted less measured time in microseconds.
    pub fn delta_us(&self) -> f64 {
        self.tc_total_us.value() - self.prof_per_fwd_us.value()
    }
}

/// A kernel type's count over a tiny number of forward passes is infinite.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the count of {kernel_type} per forward pass is infinite")]
pub struct TooManyKernels {
    /// The kernel type.
    pub kernel_type: String,
}

/// The rows of all kernel types of either side, largest time first, equal ones in code-point order.
///
/// `measured` is divided by `forward_passes`; without any (0, negative, not a number) the measured side is missing.
///
/// ```
/// use perfdb_compare::{operators::{Predicted, op_rows}, profile::Total};
///
/// let predicted = [("MatMulV2".to_owned(), Predicted { total_us: 95.0, count: 2, hits: 2, ..Default::default() })].into();
/// let measured = [("MatMulV2".to_owned(), Total { total_us: 200.0, count: 4 })].into();
/// let rows = op_rows(&predicted, &measured, 2.0).unwrap();
/// assert_eq!(rows[0].error_pct.value(), -5.0);
/// assert_eq!(rows[0].prof_count, 2.0);
/// ```
///
/// # Errors
/// When a count has no integer.
pub fn op_rows(
    predicted: &IndexMap<String, Predicted>,
    measured: &IndexMap<String, Total>,
    forward_passes: f64,
) -> Result<Vec<OpRow>, TooManyKernels> {
    let kernel_types: BTreeSet<&String> = predicted.keys().chain(measured.keys()).collect();
    let mut rows = kernel_types
        .into_iter()
        .map(|name| op_row(name, predicted.get(name), measured.get(name), forward_passes))
        .collect::<Result<Vec<_>, _>>()?;
    let larger = |row: &OpRow| {
        let (predicted, measured) = (row.tc_total_us.value(), row.prof_per_fwd_us.value());
        // Adding 0.0 makes the two zeros equal under the total order.
        (if measured > predicted { measured } else { predicted }) + 0.0
    };
    rows.sort_by(|a, b| larger(b).total_cmp(&larger(a)));
    Ok(rows)
}

fn op_row(
    kernel_type: &str,
    predicted: Option<&Predicted>,
    measured: Option<&Total>,
    forward_passes: f64,
) -> Result<OpRow, TooManyKernels> {
    let tc_us = predicted.map_or(0.0, |predicted| predicted.total_us);
    let tc_count = predicted.map_or(0, |predicted| predicted.count);
    let measured = measured.copied().unwrap_or_default();
    let per_pass = |total: f64| (forward_passes > 0.0).then(|| total / forward_passes);
    let (prof_us, prof_count) = (per_pass(measured.total_us), per_pass(measured.count as f64).unwrap_or(0.0));
    if prof_count.is_infinite() {
        return Err(TooManyKernels { kernel_type: kernel_type.to_owned() });
    }
    Ok(OpRow {
        kernel_type: kernel_type.to_owned(),
        tc_funcs: predicted.map_or_else(String::new, |predicted| predicted.functions.join(", ")),
        tc_total_us: predicted.map_or(Number::Zero, |_| Number::Double(round(tc_us, 1))),
        tc_count,
        prof_per_fwd_us: prof_us.map_or(Number::Zero, |prof_us| Number::Double(round(prof_us, 1))),
        prof_count: round_to_integer(prof_count),
        error_pct: error_pct(tc_us, prof_us.unwrap_or(0.0)),
        count_error_pct: error_pct(tc_count as f64, prof_count),
        status: match predicted {
            None => RowStatus::Unmodelled,
            Some(predicted) if predicted.hits == 0 => RowStatus::Miss,
            Some(predicted) if predicted.misses == 0 => RowStatus::Hit,
            Some(_) => RowStatus::Partial,
        },
    })
}

fn error_pct(predicted: f64, measured: f64) -> Number {
    if measured > 0.0 { Number::Double(round((predicted - measured) / measured * 100.0, 1)) } else { Number::Zero }
}

/// Sum of the measured times of all rows, as rounded, in their order, in microseconds.
pub fn measured_total_us(rows: &[OpRow]) -> f64 {
    rows.iter().fold(0.0, |sum, row| sum + row.prof_per_fwd_us.value())
}

/// A row's part of the measured time in percent; 0 where there is none.
pub fn share_pct(row: &OpRow, measured_total_us: f64) -> f64 {
    if measured_total_us > 0.0 { row.prof_per_fwd_us.value() / measured_total_us * 100.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predicted(total_us: f64, hits: u64, misses: u64) -> Predicted {
        Predicted { total_us, count: hits + misses, hits, misses, functions: vec!["f".into(), "g".into()] }
    }

    fn one(predicted: Option<Predicted>, measured: Option<(f64, u64)>, passes: f64) -> OpRow {
        let tc = predicted.map(|predicted| ("K".to_owned(), predicted)).into_iter().collect();
        let prof = measured.map(|(total_us, count)| ("K".to_owned(), Total { total_us, count })).into_iter().collect();
        op_rows(&tc, &prof, passes).unwrap().remove(0)
    }

    #[test]
    fn an_absent_side_is_the_integer_zero() {
        let row = one(None, Some((10.0, 2)), 1.0);
        assert_eq!((row.tc_total_us, row.tc_count, row.status), (Number::Zero, 0, RowStatus::Unmodelled));
        assert_eq!((row.error_pct, row.count_error_pct), (Number::Double(-100.0), Number::Double(-100.0)));
        let row = one(Some(predicted(5.0, 1, 0)), None, 1.0);
        assert_eq!((row.prof_per_fwd_us, row.prof_count), (Number::Double(0.0), 0.0));
        assert_eq!((row.error_pct, row.count_error_pct), (Number::Zero, Number::Zero));
    }

    #[test]
    fn forward_passes_divide_and_may_be_none() {
        let row = one(Some(predicted(5.0, 1, 0)), Some((10.0, 5)), 2.0);
        assert_eq!((row.prof_per_fwd_us, row.prof_count), (Number::Double(5.0), 2.0));
        assert_eq!(row.count_error_pct, Number::Double(-60.0));
        for passes in [0.0, -3.0, f64::NAN] {
            let row = one(Some(predicted(5.0, 1, 0)), Some((10.0, 5)), passes);
            assert_eq!((row.prof_per_fwd_us, row.prof_count, row.error_pct), (Number::Zero, 0.0, Number::Zero));
        }
    }

    #[test]
    fn counts_round_halves_to_even() {
        for (count, rounded) in [(5, 2.0), (7, 4.0), (9, 4.0)] {
            assert_eq!(one(None, Some((1.0, count)), 2.0).prof_count, rounded);
        }
    }

    #[test]
    fn a_count_without_a_whole_number_is_refused() {
        let measured = [("K".to_owned(), Total { total_us: 1.0, count: 3 })].into();
        assert!(op_rows(&IndexMap::new(), &measured, 5e-324).is_err());
    }

    #[test]
    fn small_negative_errors_are_negative_zero() {
        let row = one(Some(predicted(99.96, 1, 0)), Some((100.0, 1)), 1.0);
        assert!(matches!(row.error_pct, Number::Double(error) if error == 0.0 && error.is_sign_negative()));
    }

    #[test]
    fn status_counts_hits_and_misses() {
        assert_eq!(one(Some(predicted(1.0, 1, 1)), None, 1.0).status, RowStatus::Partial);
        assert_eq!(one(Some(predicted(1.0, 0, 1)), None, 1.0).status, RowStatus::Miss);
        assert_eq!(one(Some(predicted(1.0, 1, 0)), None, 1.0).status, RowStatus::Hit);
    }

    #[test]
    fn ties_of_the_rounded_times_are_in_code_point_order() {
        let tc = [("b", 1.04), ("a", 1.0), ("é", 1.01), ("Z", 1.02), ("c", 9.0)]
            .map(|(name, total_us)| (name.to_owned(), predicted(total_us, 1, 0)))
            .into();
        let rows = op_rows(&tc, &IndexMap::new(), 1.0).unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row.kernel_type.as_str()).collect();
        assert_eq!(names, ["c", "Z", "a", "b", "é"]);
    }
}
