//! What became of each row: the objects of a results file.

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use crate::case::{Case, Check, Name, RecordedOutput};
use crate::executor::{Measured, OutputInfo, Sample};
use crate::operator::SkipReason;
use crate::refusal::{CaseError, ErrorKind};

/// What became of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowResult {
    /// Operator.
    pub op: Name,
    /// Path of the table.
    pub csv: std::sync::Arc<str>,
    /// Number of the record, the header being 1.
    pub row: u64,
    /// What became of it.
    pub outcome: RowOutcome,
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum RowOutcome {
    /// It ran.
    Ok(RowRun),
    /// It cannot become a case; the kind.
    Invalid(&'static str),
    /// It was passed over; the reason.
    Skip(SkipReason),
    /// It was sent and failed.
    Failed(CaseError),
}

/// A row that ran.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct RowRun {
    /// What was really called.
    pub api: Name,
    /// Timed runs.
    pub repeat: u32,
    /// Statistics of the timed runs; absent when times come from a profiler.
    #[serde(skip)]
    pub times: Option<Times>,
    /// Shapes and types of the outputs.
    pub outputs: Vec<OutputInfo>,
    /// Outputs are as recorded.
    #[serde(rename = "match")]
    pub matches: bool,
}

/// Statistics of the timed runs of a row, in µs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Smallest.
    pub min_us: f64,
    /// Middle one, or the mean of the two in the middle.
    pub median_us: f64,
    /// Arithmetic mean.
    pub mean_us: f64,
    /// Population standard deviation.
    pub std_us: f64,
}

impl Times {
    /// Statistics of these durations; `None` without any.
    pub fn of(durations_us: impl IntoIterator<Item = f64>) -> Option<Times> {
        let mut sorted: Vec<f64> = durations_us.into_iter().collect();
        let count = sorted.len();
        let mean_us = sorted.iter().sum::<f64>() / count as f64;
        let variance = sorted.iter().map(|value| (value - mean_us).powi(2)).sum::<f64>() / count as f64;
        sorted.sort_by(f64::total_cmp);
        let median_us = match count {
            0 => return None,
            odd if odd % 2 == 1 => sorted[odd / 2],
            even => (sorted[even / 2 - 1] + sorted[even / 2]) / 2.0,
        };
        Some(Times { min_us: sorted[0], median_us, mean_us, std_us: variance.sqrt() })
    }

    /// Statistics of these samples; `None` without any.
    pub(crate) fn of_samples(samples: &[Sample]) -> Option<Times> {
        Times::of(samples.iter().map(|sample| sample.duration_us))
    }
}

impl RowRun {
    /// The result of a case that gave these measurements.
    pub fn new(case: &Case, measured: &Measured, matches: bool) -> RowRun {
        let without_values = |output: &OutputInfo| OutputInfo { values: None, ..output.clone() };
        RowRun {
            api: measured.api.clone(),
            repeat: case.repeat,
            times: Times::of_samples(&measured.samples),
            outputs: measured.outputs.iter().map(without_values).collect(),
            matches,
        }
    }
}

/// How outputs differ from the recorded ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Outputs of another shape: `output 1 is [2], recorded [2, 1]`.
    pub shapes: Vec<String>,
    /// Outputs of another type only.
    pub dtypes: Vec<String>,
}

impl Differences {
    /// Compares what both sides have.
    pub fn between(outputs: &[OutputInfo], recorded: &[RecordedOutput]) -> Differences {
        let mut differences = Differences::default();
        for (index, (output, recorded)) in outputs.iter().zip(recorded).enumerate() {
            if let Some(shape) = recorded.shape.as_ref().filter(|shape| **shape != output.shape) {
                differences.shapes.push(format!("output {index} is {:?}, recorded {shape:?}", output.shape));
            } else if let Some(dtype) = recorded.dtype.filter(|dtype| dtype.name() != output.dtype) {
                differences.dtypes.push(format!("output {index} is {}, recorded {dtype}", output.dtype));
            }
        }
        differences
    }

    /// True where everything is as recorded.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty() && self.dtypes.is_empty()
    }

    /// The error of a row whose operator insists on the recorded shapes.
    pub fn error(&self, check: Check) -> Option<CaseError> {
        (check == Check::Error && !self.shapes.is_empty())
            .then(|| CaseError::new(ErrorKind::OutputMismatch, self.shapes.join("; ")))
    }

    /// All differences in one text.
    pub fn text(&self) -> String {
        [self.shapes.as_slice(), &self.dtypes].concat().join("; ")
    }
}

impl Serialize for RowResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("op", &self.op)?;
        map.serialize_entry("csv", &self.csv)?;
        map.serialize_entry("row", &self.row)?;
        match &self.outcome {
            RowOutcome::Ok(run) => {
                map.serialize_entry("status", "ok")?;
                map.serialize_entry("api", &run.api)?;
                map.serialize_entry("repeat", &run.repeat)?;
                if let Some(times) = run.times {
                    map.serialize_entry("min_us", &times.min_us)?;
                    map.serialize_entry("median_us", &times.median_us)?;
                    map.serialize_entry("mean_us", &times.mean_us)?;
                }
                map.serialize_entry("outputs", &run.outputs)?;
                map.serialize_entry("match", &run.matches)?;
            }
            RowOutcome::Invalid(kind) => {
                map.serialize_entry("status", "invalid")?;
                map.serialize_entry("error", kind)?;
            }
            RowOutcome::Skip(reason) => {
                map.serialize_entry("status", "skip")?;
                map.serialize_entry("reason", reason.name())?;
            }
            RowOutcome::Failed(error) => {
                map.serialize_entry("status", "failed")?;
                map.serialize_entry("error", error.kind.name())?;
                map.serialize_entry("detail", &error.detail)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics() {
        let times = Times::of([4.0, 1.0, 3.0, 2.0]).expect("four");
        assert_eq!((times.min_us, times.median_us, times.mean_us), (1.0, 2.5, 2.5));
        assert_eq!(times.std_us, 1.25_f64.sqrt());
        assert_eq!(Times::of([3.0, 1.0, 2.0]).expect("three").median_us, 2.0);
        assert_eq!(Times::of([]), None);
    }

    #[test]
    fn shapes_and_types_are_told_apart() {
        let output = |shape: &[usize], dtype: &'static str| OutputInfo {
            shape: shape.into(),
            dtype: dtype.into(),
            values: None,
        };
        let recorded = |shape: &[usize], dtype| RecordedOutput { shape: Some(shape.into()), dtype };
        use perfdb_store::dtype::DType;
        let differences = Differences::between(
            &[output(&[2], "int32"), output(&[2], "float32"), output(&[9], "int8")],
            &[recorded(&[2], Some(DType::Int64)), recorded(&[2, 1], None), RecordedOutput { shape: None, dtype: None }],
        );
        assert_eq!(differences.shapes, ["output 1 is [2], recorded [2, 1]"]);
        assert_eq!(differences.dtypes, ["output 0 is int32, recorded int64"]);
        assert!(differences.error(Check::Warn).is_none() && differences.error(Check::Error).is_some());
    }
}
