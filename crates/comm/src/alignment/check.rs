//! Compares the tables of a folder with the model.

use super::model::{ModelKind, predict_us};
use super::rows::{self, MeasuredRow};
use crate::collective::Collective;
use crate::error::Error;
use perfdb_files::paths::normalised;
use std::path::Path;

/// What to compare with, and how strictly.
#[derive(Clone, Copy, Debug)]
pub struct AlignmentOptions {
    /// The largest ratio, either way, that passes; above 0.
    pub tolerance: f64,
    pub model: ModelKind,
}

impl Default for AlignmentOptions {
    fn default() -> Self {
        Self { tolerance: 2.0, model: ModelKind::Reference }
    }
}

/// How close a row is to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Within the tolerance.
    Pass,
    /// Within twice the tolerance.
    Warn,
    /// Further off, or not a number.
    Fail,
}

impl Status {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Warn => "WARN",
            Self::Fail => "FAIL",
        }
    }

    fn of(ratio: f64, tolerance: f64) -> Self {
        if 1.0 / tolerance <= ratio && ratio <= tolerance {
            Self::Pass
        } else if 1.0 / (2.0 * tolerance) <= ratio && ratio <= 2.0 * tolerance {
            Self::Warn
        } else {
            Self::Fail
        }
    }
}

/// One row beside its prediction.
#[derive(Clone, Debug)]
pub struct AlignmentPoint {
    /// How close it is.
    pub status: Status,
    /// Size label in bytes.
    pub message_bytes: i64,
    /// Ranks in the group.
    pub num_devices: i64,
    pub topology_tier: i64,
    /// Measured latency in microseconds.
    pub measured_us: f64,
    /// Predicted latency in microseconds.
    pub predicted_us: f64,
    /// Measured over predicted; infinite where the prediction is 0.
    pub ratio: f64,
}

/// The rows of one operator.
#[derive(Clone, Debug)]
pub struct OperatorReport {
    /// Operator.
    pub op: Collective,
    /// Its rows, in file order.
    pub points: Vec<AlignmentPoint>,
}

impl OperatorReport {
    fn count(&self, status: Status) -> usize {
        self.points.iter().filter(|point| point.status == status).count()
    }

    /// Rows within the tolerance.
    pub fn pass(&self) -> usize {
        self.count(Status::Pass)
    }

    /// Rows within twice the tolerance.
    pub fn warn(&self) -> usize {
        self.count(Status::Warn)
    }

    /// Rows further off.
    pub fn fail(&self) -> usize {
        self.count(Status::Fail)
    }

    /// Mean, smallest and largest ratio; `None` without rows. A ratio that is not a number stays the smallest and largest
    /// if it comes first, and never becomes one later.
    pub fn ratios(&self) -> Option<(f64, f64, f64)> {
        let first = self.points.first()?.ratio;
        let mut sum = 0.0;
        let (mut smallest, mut largest) = (first, first);
        for point in &self.points {
            sum += point.ratio;
            if point.ratio < smallest {
                smallest = point.ratio;
            }
            if point.ratio > largest {
                largest = point.ratio;
            }
        }
        Some((sum / self.points.len() as f64, smallest, largest))
    }
}

/// The outcome of a check.
#[derive(Clone, Debug)]
pub struct Alignment {
    /// The folder, without `.` components and surplus slashes.
    pub csv_dir: String,
    pub options: AlignmentOptions,
    /// Files that are not there, in file order.
    pub skipped: Vec<String>,
    /// One report per file that is.
    pub reports: Vec<OperatorReport>,
    /// Things that a reader of the outcome should know.
    pub warnings: Vec<String>,
}

impl Alignment {
    /// Whether no row failed.
    pub fn is_ok(&self) -> bool {
        self.reports.iter().all(|report| report.fail() == 0)
    }
}

/// Compares the communication tables in `directory` with the model. A tolerance that is not above 0 is refused.
pub fn check(directory: &Path, options: &AlignmentOptions) -> Result<Alignment, Error> {
    if options.tolerance.is_nan() || options.tolerance <= 0.0 {
        return Err(Error::usage("tolerance", format!("{}: must be above 0", options.tolerance)));
    }
    if !directory.is_dir() {
        return Err(Error::input(directory, "not a directory"));
    }
    let mut alignment = Alignment {
        csv_dir: normalised(directory).display().to_string(),
        options: *options,
        skipped: Vec::new(),
        reports: Vec::new(),
        warnings: Vec::new(),
    };
    for op in Collective::ALL {
        let path = directory.join(op.table_file());
        if !path.exists() {
            alignment.skipped.push(op.table_file());
            continue;
        }
        let (rows, dropped) = rows::read(&path)?;
        if dropped > 0 {
            alignment.warnings.push(rows::dropped_warning(&path, dropped));
        }
        let points = rows.iter().map(|row| point(&path, op, row, options)).collect::<Result<_, _>>()?;
        alignment.reports.push(OperatorReport { op, points });
    }
    Ok(alignment)
}

fn point(path: &Path, op: Collective, row: &MeasuredRow, options: &AlignmentOptions) -> Result<AlignmentPoint, Error> {
    let Some(predicted_us) = predict_us(options.model, op, row.message_bytes, row.devices, row.tier) else {
        return Err(Error::line(
            path,
            row.line,
            format!("topology_tier {}: the model knows tiers 0, 1 and 2", row.tier),
        ));
    };
    let ratio = if predicted_us == 0.0 { f64::INFINITY } else { row.measured_us / predicted_us };
    Ok(AlignmentPoint {
        status: Status::of(ratio, options.tolerance),
        message_bytes: row.message_bytes,
        num_devices: row.devices,
        topology_tier: row.tier,
        measured_us: row.measured_us,
        predicted_us,
        ratio,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_belong_to_the_better_class() {
        for (ratio, status) in [
            (2.0, Status::Pass),
            (0.5, Status::Pass),
            (4.0, Status::Warn),
            (0.25, Status::Warn),
            (4.1, Status::Fail),
            (f64::NAN, Status::Fail),
            (f64::INFINITY, Status::Fail),
            (-1.0, Status::Fail),
        ] {
            assert_eq!(Status::of(ratio, 2.0), status, "{ratio}");
        }
    }

    #[test]
    fn a_leading_nan_stays_and_a_later_one_never_wins() {
        let point = |ratio| AlignmentPoint {
            status: Status::Pass,
            message_bytes: 1,
            num_devices: 2,
            topology_tier: 1,
            measured_us: ratio,
            predicted_us: 1.0,
            ratio,
        };
        let report = |ratios: &[f64]| OperatorReport {
            op: Collective::AllReduce,
            points: ratios.iter().map(|r| point(*r)).collect(),
        };
        let (mean, smallest, largest) = report(&[f64::NAN, 1.0]).ratios().unwrap();
        assert!(mean.is_nan() && smallest.is_nan() && largest.is_nan());
        let (_, smallest, largest) = report(&[2.0, f64::NAN, 1.0]).ratios().unwrap();
        assert_eq!((smallest, largest), (1.0, 2.0));
        assert_eq!(report(&[]).ratios(), None);
    }
}
