//! The rows of the comparison per kernel type and shape, from the sums of both sides.

use crate::operators::Number;
use crate::profile::Total;
use indexmap::IndexMap;
use perfdb_pycompat::float::round;
use rustc_hash::FxBuildHasher;

/// The predicted side of one kernel type and shape.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShapeTotal {
    /// Sum of the durations in microseconds.
    pub total_us: f64,
    /// Number of contributions.
    pub count: u64,
    /// Where the last of them came from: `MEASURED`, `INTERPOLATED`, …
    pub source: String,
}

/// Kernel type and shape key.
pub type ShapeRowKey = (Box<str>, Box<str>);

/// One kernel type and shape. Times in microseconds, rounded to two decimals, the integer 0 for a side without the row.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapeRow {
    /// The kernel type.
    pub kernel_type: String,
    /// The shape key, see [`shape_key`](super::shape_key).
    pub shape_key: String,
    /// Predicted time.
    pub tc_dur_us: Number,
    /// Measured time.
    pub prof_dur_us: Number,
    /// (predicted − measured) / measured time in percent; infinite for a row that was never measured.
    pub delta_pct: Number,
    /// Predicted number of kernels.
    pub tc_count: u64,
    /// Measured number of kernels.
    pub prof_count: u64,
    /// Where the prediction came from.
    pub source: String,
}

/// The rows of either side, largest time first, equal ones by kernel type and shape key in code-point order.
///
/// ```
/// use perfdb_compare::{profile::Total, shapes::{ShapeTotal, shape_rows}};
///
/// let key = ("MatMulV2".into(), "16,5120;5120,768".into());
/// let predicted = [(key.clone(), ShapeTotal { total_us: 12.5, count: 1, source: "MEASURED".into() })].into_iter().collect();
/// let measured = [(key, Total { total_us: 10.0, count: 1 })].into_iter().collect();
/// assert_eq!(shape_rows(predicted, measured)[0].delta_pct.value(), 25.0);
/// ```
pub fn shape_rows(
    predicted: IndexMap<ShapeRowKey, ShapeTotal, FxBuildHasher>,
    mut measured: IndexMap<ShapeRowKey, Total, FxBuildHasher>,
) -> Vec<ShapeRow> {
    let mut rows: Vec<ShapeRow> = Vec::with_capacity(predicted.len().max(measured.len()));
    for (key, total) in predicted {
        let prof = measured.swap_remove(&key);
        rows.push(shape_row(key, Some(total), prof));
    }
    rows.extend(measured.into_iter().map(|(key, total)| shape_row(key, None, Some(total))));
    let larger = |row: &ShapeRow| {
        let (predicted, measured) = (row.tc_dur_us.value(), row.prof_dur_us.value());
        // Adding 0.0 makes the two zeros equal under the total order.
        (if measured > predicted { measured } else { predicted }) + 0.0
    };
    rows.sort_by(|a, b| {
        let by_time = larger(b).total_cmp(&larger(a));
        by_time.then_with(|| a.kernel_type.cmp(&b.kernel_type)).then_with(|| a.shape_key.cmp(&b.shape_key))
    });
    rows
}

fn shape_row(
    (kernel_type, shape_key): ShapeRowKey,
    predicted: Option<ShapeTotal>,
    measured: Option<Total>,
) -> ShapeRow {
    let number = |total_us: Option<f64>| total_us.map_or(Number::Zero, |total_us| Number::Double(round(total_us, 2)));
    let (tc_us, prof_us) = (predicted.as_ref().map(|total| total.total_us), measured.map(|total| total.total_us));
    ShapeRow {
        kernel_type: kernel_type.into(),
        shape_key: shape_key.into(),
        tc_dur_us: number(tc_us),
        prof_dur_us: number(prof_us),
        delta_pct: delta_pct(tc_us.unwrap_or(0.0), prof_us.unwrap_or(0.0)),
        tc_count: predicted.as_ref().map_or(0, |total| total.count),
        prof_count: measured.map_or(0, |total| total.count),
        source: predicted.map_or_else(String::new, |total| total.source),
    }
}

fn delta_pct(predicted_us: f64, measured_us: f64) -> Number {
    if measured_us > 0.0 {
        Number::Double(round((predicted_us - measured_us) / measured_us * 100.0, 1))
    } else if predicted_us > 0.0 {
        Number::Double(f64::INFINITY)
    } else {
        Number::Zero
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kernel_type: &str, shape: &str) -> ShapeRowKey {
        (kernel_type.into(), shape.into())
    }

    fn tc(total_us: f64) -> ShapeTotal {
        ShapeTotal { total_us, count: 1, source: "MEASURED".into() }
    }

    #[test]
    fn sides_without_a_row() {
        let rows = shape_rows([(key("A", ""), tc(2.0))].into_iter().collect(), IndexMap::default());
        assert_eq!((rows[0].prof_dur_us, rows[0].delta_pct), (Number::Zero, Number::Double(f64::INFINITY)));
        let rows = shape_rows([(key("A", ""), tc(0.0))].into_iter().collect(), IndexMap::default());
        assert_eq!((rows[0].tc_dur_us, rows[0].delta_pct), (Number::Double(0.0), Number::Zero));
        let rows =
            shape_rows(IndexMap::default(), [(key("A", ""), Total { total_us: 4.0, count: 2 })].into_iter().collect());
        assert_eq!((rows[0].tc_dur_us, rows[0].delta_pct), (Number::Zero, Number::Double(-100.0)));
        assert_eq!((rows[0].source.as_str(), rows[0].prof_count), ("", 2));
    }

    #[test]
    fn order_is_by_rounded_time_then_names() {
        let predicted =
            [(key("B", "1"), tc(1.001)), (key("A", "2"), tc(1.0)), (key("A", "1"), tc(1.004)), (key("C", ""), tc(5.0))];
        let rows = shape_rows(predicted.into_iter().collect(), IndexMap::default());
        let names: Vec<_> = rows.iter().map(|row| (row.kernel_type.as_str(), row.shape_key.as_str())).collect();
        assert_eq!(names, [("C", ""), ("A", "1"), ("A", "2"), ("B", "1")]);
    }

    #[test]
    fn errors_come_from_unrounded_times() {
        let rows = shape_rows(
            [(key("A", ""), tc(0.004))].into_iter().collect(),
            [(key("A", ""), Total { total_us: 0.001, count: 1 })].into_iter().collect(),
        );
        assert_eq!((rows[0].prof_dur_us, rows[0].delta_pct), (Number::Double(0.0), Number::Double(300.0)));
    }
}
